/** The operation that lists an agent's leads by state and time. */
import { type LeadState, stateAt } from './lead.decider.ts';
import type { Clock } from '#src/ports/system.ts';
import type { ListQuery, ReadModels } from '#src/ports/read-model.ts';
import {
  LATE_LEADS,
  LEAD_SKEW_MS,
  LEADS_BY_CHANGE,
  LEADS_BY_CLAIM_END,
  LEADS_BY_CREATION,
  listBy,
} from '#src/ports/rows.ts';
import {
  bindingOf,
  readCursor,
  writeCursor,
  type ListRange,
  scanLists,
  type ScannedRows,
} from '#src/reading/lists.ts';
import { done, type Refusal } from '#src/shared/outcome.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { withRfqs } from './observe-rfq.ts';
import { showLeads } from './render-lead.ts';
import type { OpeningVault } from '#src/sealing/sealed-texts.ts';
import { suppressionInRows, type SuppressionReader } from '#src/sealing/suppression.ts';
import { leadIdOf } from '#src/writing/streams.ts';
import { epoch, renderAsOf } from '#src/shared/time.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { present } from '#src/shared/json.ts';

type LeadFilter = { ownerId: string; at: number; input: InputOf<'listLeads'> };
/** The leads whose time in a list is between these, in epoch milliseconds, both inclusive. */
type Period = { list: string; from?: number; to?: number };

/**
 * Returns the parts of lists that together contain every lead that the filters match. Reads at most one row for each
 * end of a period, to find its place.
 */
const rangesOf = async (
  readModels: Pick<ReadModels, 'list'>,
  { ownerId, at, input }: LeadFilter,
): Promise<ListRange[]> => {
  const lists = listsOf(input);
  const periods = periodsOf(input, at);
  if (periods.length === 0) return lists;
  const places = await Promise.all(periods.map((period) => placesOf(readModels, ownerId, period)));
  const before = Math.min(...places.map((place) => place.before));
  const downTo = Math.max(...places.map((place) => place.downTo));
  return [...lists.map((list) => ({ ...list, before, downTo })), { list: LATE_LEADS }];
};

/** The shortest lists that contain all matches, as far as the filters tell. */
const listsOf = ({ state, link_id: link, handoff_id: handoff, source }: LeadFilter['input']) => {
  if (handoff !== undefined) return [{ list: listBy({ handoff }) }];
  const values = link === undefined ? present({ source }) : { link };
  if (state === undefined)
    return Object.keys(values).length > 0 ? [{ list: listBy(values) }] : [{}];
  // No event makes a lead lapse: it keeps the state that it had before any contact.
  const states = state === 'lapsed' ? ['submitted', 'accepted'] : [state];
  return states.map((each) => ({ list: listBy({ state: each, ...values }) }));
};

const periodsOf = (
  { state, created_from, created_to }: LeadFilter['input'],
  at: number,
): Period[] => {
  const periods: Period[] = [];
  if (created_from !== undefined || created_to !== undefined)
    periods.push({
      list: LEADS_BY_CREATION,
      ...(created_from !== undefined && { from: epoch(created_from) }),
      ...(created_to !== undefined && { to: epoch(created_to) }),
    });
  if (state === 'lapsed') periods.push({ list: LEADS_BY_CLAIM_END, to: at });
  if (state === 'submitted' || state === 'accepted')
    periods.push({ list: LEADS_BY_CLAIM_END, from: at + 1 });
  return periods;
};

/**
 * Returns the places in log order that cover the whole period. A lead whose time is more than LEAD_SKEW_MS before the
 * period is before all leads of the period in the log, unless it is late.
 */
const placesOf = async (
  readModels: Pick<ReadModels, 'list'>,
  scope: string,
  { list, from, to }: Period,
): Promise<{ before: number; downTo: number }> => {
  const placeOf = async (range: Partial<ListQuery>): Promise<number | undefined> => {
    const query = { scope, list, limit: 1, ...range };
    const [listed] = await readModels.list<LeadState & { sort: number }>('leads', query);
    return listed?.row.sort;
  };
  const [last, next] = await Promise.all([
    from === undefined ? undefined : placeOf({ before: from - LEAD_SKEW_MS }),
    to === undefined ? undefined : placeOf({ downTo: to + LEAD_SKEW_MS + 1, isAscending: true }),
  ]);
  return { before: next ?? Number.MAX_SAFE_INTEGER, downTo: last === undefined ? 0 : last + 1 };
};

/** Rows that are read for one page: bounds the cost of several filters that few leads match. */
const ROWS_READ_MAX = 10_000;
/** Leads of each list that are sorted by creation for one page; of more, some are probably among the newest leads. */
const CHANGED_MAX = 1_000;
/** Pages of the newest leads that are read before those that changed. */
const PAGES_BEFORE_CHANGED = 2;

type LeadInput = InputOf<'listLeads'>;
type Page = ScannedRows<LeadState>;
type LeadSearch = {
  ownerId: string;
  at: number;
  input: LeadInput;
  isMatch(lead: LeadState): boolean;
  before: number | undefined;
};

/** What lists of leads are read from. */
type ListingDeps = Pick<Deps, 'readModels' | 'following' | 'secrets'> & {
  log: Pick<Deps['log'], 'readStream'>;
  clock: Pick<Clock, 'now'>;
  vault: OpeningVault;
  /** Whose contacts are masked. */
  suppression: SuppressionReader;
};

export const listLeads: Handler<'listLeads'> = (deps, input, { caller: { ownerId }, at }) =>
  answerLeads({ ...deps, suppression: suppressionInRows(deps) }, input, { ownerId, at });

/** Lists the leads of an owner, with what each shows at a time. */
export const answerLeads = async (
  deps: ListingDeps,
  input: LeadInput,
  { ownerId, at }: { ownerId: string; at: number },
): ReturnType<Handler<'listLeads'>> => {
  const binding = bindingOf(ownerId, 'listLeads', input);
  let before: number | undefined;
  if (input.cursor !== undefined) {
    const read: { ok: true; place: number } | Refusal = readCursor(deps, binding, input.cursor);
    if (!read.ok) return read;
    before = read.place;
  }
  const asOf = deps.following.asOf();
  const search = { ownerId, at, input, isMatch: makeFilter(input, at), before };
  const { rows, next } =
    input.external_id === undefined
      ? await findLeads(deps, search)
      : await findByExternalId(deps, search, input.external_id);
  const view = { ownerId, at };
  const leads = await showLeads(deps, rows, view);
  const read = (id: string) => deps.readModels.get<HandoffState>('handoffs', ownerId, id);
  return done({
    data: await withRfqs(deps, { ...view, read }, { states: rows, leads }),
    page: {
      next_cursor: next === null ? null : writeCursor(deps, binding, next),
      has_more: next !== null,
    },
    as_of: renderAsOf(asOf),
  });
};

const findByExternalId = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, isMatch }: LeadSearch,
  externalId: string,
): Promise<Page> => {
  const lead = await readModels.get<LeadState>('leads', ownerId, leadIdOf(ownerId, externalId));
  return { rows: lead && isMatch(lead) ? [lead] : [], next: null };
};

/** Reads the lists that the filters select best. Leads are listed by creation, so those that changed are sorted. */
const findLeads = async (
  { readModels }: Pick<Deps, 'readModels'>,
  search: LeadSearch,
): Promise<Page> => {
  const { ownerId: scope, input, isMatch, before } = search;
  const { limit, updated_since } = input;
  const ranges = await rangesOf(readModels, search);
  const scan = (rowsMax: number): Promise<Page> =>
    scanLists(readModels, { name: 'leads', scope, ranges, after: before, isMatch, limit, rowsMax });
  if (updated_since === undefined) return scan(ROWS_READ_MAX);
  const newest = await scan(PAGES_BEFORE_CHANGED * limit);
  if (newest.rows.length === limit || newest.next === null) return newest;
  return (await findChanged(readModels, search, epoch(updated_since))) ?? scan(ROWS_READ_MAX);
};

/** Reads the leads that were created or changed since then; undefined if they are too many. */
const findChanged = async (
  readModels: ReadModels,
  { ownerId: scope, input: { limit }, isMatch, before = Infinity }: LeadSearch,
  since: number,
): Promise<Page | undefined> => {
  const query = { scope, downTo: since, limit: CHANGED_MAX + 1 };
  const lists = await Promise.all(
    [LEADS_BY_CHANGE, LEADS_BY_CREATION].map((list) =>
      readModels.list<LeadState & { sort: number }>('leads', { ...query, list }),
    ),
  );
  if (lists.some(({ length }) => length > CHANGED_MAX)) return undefined;
  const changed = new Map(lists.flat().map(({ row }) => [row.sort, row]));
  const matches = [...changed.values()]
    .filter((row) => row.sort < before && isMatch(row))
    .sort((a, b) => b.sort - a.sort);
  const rows = matches.slice(0, limit);
  return { rows, next: matches.length > limit ? (rows.at(-1)?.sort ?? null) : null };
};

const makeFilter = (input: LeadInput, at: number): ((lead: LeadState) => boolean) => {
  const { state, source, link_id, handoff_id } = input;
  const from = input.created_from === undefined ? -Infinity : epoch(input.created_from);
  const to = input.created_to === undefined ? Infinity : epoch(input.created_to);
  const since = input.updated_since === undefined ? -Infinity : epoch(input.updated_since);
  return (lead) =>
    (state === undefined || stateAt(lead, at) === state) &&
    (source === undefined || lead.source.kind === source) &&
    (link_id === undefined || lead.link_id === link_id) &&
    (handoff_id === undefined || lead.handoff_id === handoff_id) &&
    lead.created_at >= from &&
    lead.created_at <= to &&
    lead.updated_at >= since;
};
