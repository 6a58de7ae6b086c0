/** What waits for staff, of every kind and of all owners, in the order in which it began. */
import { COUNTED_UP_TO, type INBOX_KINDS, type WAITS_FOR } from '#contracts/records/operations.ts';
import type { AgentState } from '#src/access/access.decider.ts';
import type { PeopleDeps } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler, DeskInput } from '#src/calls/desk-handler.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { contactOf } from '#src/handoffs/render-handoff.ts';
import { type RfqProgress, rfqStateAt } from '#src/handoffs/rfq.decider.ts';
import { type LeadState, stateAt } from '#src/leads/lead.decider.ts';
import { deciderFor, type OutboundState, statusAt } from '#src/outreach/outbound.decider.ts';
import { renderSummary } from '#src/plans/plans.ts';
import {
  ALL_ACCESS_REQUESTS,
  ALL_RFQS,
  HAS_QUESTION,
  listBy,
  NEEDS_APPROVAL,
  OPEN_LEADS,
  OPEN_RECORDS,
  type OpenRow,
  type RfqRow,
} from '#src/ports/rows.ts';
import { type InboxRow, readInbox } from '#src/reading/inbox.ts';
import { suppressionInRows } from '#src/sealing/suppression.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';

type Kind = (typeof INBOX_KINDS)[number];
type WaitsFor = (typeof WAITS_FOR)[number];
type Item = Awaited<ReturnType<typeof renderItem>>;

/** A record that waits: its row, and what is shown of it without another read. */
type Waiting = {
  kind: Kind;
  row: InboxRow;
  record_id: string;
  agent_id: string;
  since: number;
  state: string;
  waits_for: WaitsFor;
  /** Undefined if another row has it. */
  title?: string;
  company?: string;
  totals?: RfqRow['totals'];
};

/** What does not wait for the desk. */
const OF_OTHERS: ReadonlySet<WaitsFor> = new Set(['confirmation', 'buyer', 'delivery']);

const RFQ_WAITS: Readonly<Record<string, WaitsFor>> = {
  unconfirmed: 'confirmation',
  confirmed: 'take_up',
  in_progress: 'quotation',
  quoted: 'buyer',
  agreed: 'outcome',
  declined: 'quotation',
  expired: 'quotation',
};
const GOODS_WAITS: Readonly<Record<string, WaitsFor>> = {
  unallocated: 'allocation',
  allocated: 'shipment',
  shipped: 'delivery',
};

type RfqInboxRow = RfqRow<RfqProgress>;

/** What an RFQ waits for, or its goods; undefined at its end. */
const rfqWaits = ({ rfq, goods, won_by }: RfqInboxRow, at: number): WaitsFor | undefined => {
  if (rfq.proposed) return 'second_person';
  if (rfq.open_questions) return 'answer';
  const state = won_by ? 'won' : rfqStateAt(rfq, at);
  return state === 'won' ? GOODS_WAITS[goods ?? ''] : RFQ_WAITS[state];
};

/** A kind of records: where its rows are, and what each waits for. */
type Source<R extends InboxRow> = {
  name: string;
  scope: string;
  lists: readonly string[];
  /** More lists, of what waits for others. */
  others: readonly string[];
  describe(row: R, at: number): Waiting | undefined;
};

const stateLists = (...states: string[]): string[] => states.map((state) => listBy({ state }));

const RFQS: Source<RfqInboxRow> = {
  name: 'rfqs',
  scope: ALL_RFQS,
  // No event makes a quotation expire.
  lists: [
    NEEDS_APPROVAL,
    HAS_QUESTION,
    ...stateLists('confirmed', 'in_progress', 'agreed', 'declined', 'quoted'),
  ],
  others: stateLists('unconfirmed'),
  describe(row, at) {
    const waits_for = rfqWaits(row, at);
    const { handoff_id, agent_id, submitted_at: since, totals, rfq, won_by } = row;
    const state = won_by ? 'won' : rfqStateAt(rfq, at);
    const isGoods = state === 'won' && !rfq.proposed && !rfq.open_questions;
    return waits_for === undefined || isGoods
      ? undefined
      : { kind: 'rfq', row, record_id: handoff_id, agent_id, since, state, waits_for, totals };
  },
};

const GOODS: Source<RfqInboxRow> = {
  name: 'rfqs',
  scope: ALL_RFQS,
  lists: [listBy({ goods: 'unallocated' }), listBy({ goods: 'allocated' })],
  others: [listBy({ goods: 'shipped' })],
  describe(row, at) {
    const { handoff_id, agent_id, submitted_at: since, goods = '', rfq, won_by, totals } = row;
    const waits_for = GOODS_WAITS[goods];
    const isRfq = rfq.proposed !== undefined || rfq.open_questions !== undefined;
    if (waits_for === undefined || isRfq || (!won_by && rfqStateAt(rfq, at) !== 'won'))
      return undefined;
    const values = won_by?.values ?? rfq.values ?? totals;
    const named = { record_id: handoff_id, agent_id, since, state: goods, waits_for };
    return { kind: 'goods', row, ...named, totals: values };
  },
};

const LEADS: Source<OpenRow<LeadState>> = {
  name: 'open-leads',
  scope: OPEN_RECORDS,
  lists: [NEEDS_APPROVAL, OPEN_LEADS],
  others: [],
  describe(row, at) {
    const { lead_id, agent_id, created_at: since, company, proposed } = row.state;
    const state = stateAt(row.state, at);
    const isSettled = state === 'lapsed' || state === 'rfq_submitted';
    if (isSettled && !proposed) return undefined;
    const waits_for = proposed ? 'second_person' : state === 'submitted' ? 'decision' : 'next_move';
    const shown = { title: company.name, company: company.name };
    return { kind: 'lead', row, record_id: lead_id, agent_id, since, state, waits_for, ...shown };
  },
};

const ACCESS: Source<OpenRow<AgentState>> = {
  name: 'access-requests',
  scope: ALL_ACCESS_REQUESTS,
  lists: stateLists('pending'),
  others: [],
  describe(row) {
    const { agent_id, name, pending, last_request } = row.state;
    if (last_request.outcome !== 'pending') return undefined;
    const { requested_at: since, outcome: state } = last_request;
    const named = { record_id: agent_id, agent_id, since, state, title: pending?.name ?? name };
    return { kind: 'access', row, ...named, waits_for: 'decision' };
  },
};

const PENDING = 'pending_approval';

const OUTREACH: Source<OpenRow<OutboundState>> = {
  name: 'open-outbound',
  scope: OPEN_RECORDS,
  lists: [listBy({ status: PENDING })],
  others: [],
  describe(row, at) {
    const { outbound_id, agent_id, created_at: since, kind, approval } = row.state;
    const state = statusAt(row.state, at);
    // The owner decides on the rest.
    const isStaffs = deciderFor(approval.mode) === 'staff' || kind === 'handoff_delivery';
    if (state !== PENDING || !isStaffs) return undefined;
    const title = kind.replaceAll('_', ' ');
    const named = { record_id: outbound_id, agent_id, since, state, title };
    return { kind: 'outreach', row, ...named, waits_for: 'decision' };
  },
};

const SOURCES: Readonly<Record<Kind, Source<never>>> = {
  rfq: RFQS,
  goods: GOODS,
  lead: LEADS,
  access: ACCESS,
  outreach: OUTREACH,
};

type Input = DeskInput<'listInbox'>;

/** Reads a page of one kind. */
const readSource = async (
  { readModels }: Pick<Deps, 'readModels'>,
  call: DeskCall,
  { name, scope, lists, others, describe }: Source<never>,
  input: Input,
) => {
  const waiting = (row: InboxRow) => describe(row as never, call.at);
  const { rows, ...next } = await readInbox<InboxRow>(readModels, call, {
    name,
    scope,
    input,
    ranges: [...lists, ...(input.with_others ? others : [])].map((list) => ({ list })),
    agentOf: (row) => waiting(row)?.agent_id ?? '',
    beganAt: (row) => waiting(row)?.since ?? NaN,
    isMatch(row) {
      const { waits_for } = waiting(row) ?? {};
      return (
        waits_for !== undefined &&
        (input.waits_for === undefined
          ? input.with_others || !OF_OTHERS.has(waits_for)
          : input.waits_for === waits_for)
      );
    },
  });
  return { found: rows.flatMap((row) => waiting(row) ?? []), ...next };
};

/** Reads one page over the kinds, each of which is read in the order of the log. */
const readKinds = async (deps: Pick<Deps, 'readModels'>, call: DeskCall, input: Input) => {
  const kinds = input.kind === undefined ? Object.values(SOURCES) : [SOURCES[input.kind]];
  // What waits for others is in lists of its own.
  const asked = { ...input, with_others: input.with_others || isOfOthers(input) };
  const pages = await Promise.all(kinds.map((kind) => readSource(deps, call, kind, asked)));
  const sign = input.after === undefined ? -1 : 1;
  const ends = pages.flatMap(({ next_before, next_after }) => next_before ?? next_after ?? []);
  const end = sign * Math.min(...ends.map((place) => sign * place));
  const found = pages
    .flatMap((page) => page.found)
    .filter(({ row }) => ends.length === 0 || sign * row.sort <= sign * end)
    .toSorted((one, other) => sign * (one.row.sort - other.row.sort));
  const page = found.slice(0, input.limit);
  const next = found.length > page.length ? (page.at(-1)?.row.sort ?? null) : (end ?? null);
  return { page, next: ends.length === 0 && found.length === page.length ? null : next };
};

const isOfOthers = ({ waits_for }: Input): boolean =>
  waits_for !== undefined && OF_OTHERS.has(waits_for);

/** What the handoff of an RFQ adds: its title, and the company that its agent or its buyer named. */
const describeHandoff = async (deps: PeopleDeps, { row, kind, record_id }: Waiting) => {
  if (kind !== 'rfq' && kind !== 'goods') return {};
  const state = await deps.readModels.get<HandoffState>('handoffs', row.owner, record_id);
  if (!state) return {};
  const { title, buyer, rfq } = state;
  if (buyer.company !== undefined) return { title, company: buyer.company };
  const contact = await contactOf(deps, rfq);
  if (typeof contact !== 'object') return { title };
  const since = await suppressionInRows(deps)(row.owner, contact.email);
  return { title, ...present({ company: since === undefined ? contact.company : undefined }) };
};

const renderItem = async (deps: PeopleDeps, call: DeskCall, waiting: Waiting) => {
  const { kind, row, record_id, agent_id, since, state, waits_for } = waiting;
  const {
    title = record_id,
    company,
    totals = [],
  } = { ...waiting, ...(await describeHandoff(deps, waiting)) };
  const plan = renderSummary(call, row.plan);
  const assigned = plan.assigned_to;
  return {
    kind,
    record_id,
    owner_id: row.owner,
    agent_id,
    title,
    totals,
    since: iso(since),
    state,
    waits_for,
    ...present({
      reference: /^(hnd|led)_/.test(record_id) ? referenceOf(record_id) : undefined,
      agent_name: deps.credentials.agent(agent_id)?.name,
      company,
      assigned_name: assigned === undefined ? undefined : await deps.personName(`desk:${assigned}`),
    }),
    ...plan,
  };
};

export const listInbox: DeskHandler<'listInbox', PeopleDeps> = async (deps, input, call) => {
  const { page, next } = await readKinds(deps, call, input);
  const data: Item[] = await Promise.all(page.map((one) => renderItem(deps, call, one)));
  const isAscending = input.after !== undefined;
  return done({
    data,
    next_before: isAscending ? null : next,
    next_after: isAscending ? next : null,
    as_of: renderAsOf(deps.following.asOf()),
  });
};

/** Counts what waits: one page of each kind. */
export const countInbox: DeskHandler<'countInbox'> = async (deps, _input, call) => {
  const input: Input = { limit: COUNTED_UP_TO + 1, after: 0, with_others: false };
  const counts = await Promise.all(
    Object.entries(SOURCES).map(async ([kind, source]) => {
      const { found } = await readSource(deps, call, source, input);
      return [kind, found.length] as const;
    }),
  );
  const of = Object.fromEntries(counts) as Record<Kind, number>;
  return done({ counts: of, as_of: renderAsOf(deps.following.asOf()) });
};
