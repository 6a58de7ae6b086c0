/** The operation that lists an owner's links, handoffs and outreach for its agents. */
import { LISTED_STATES, type ListedKind, type ListedRecord } from '#contracts/records/records.ts';
import { allows } from '#contracts/scopes.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { type HandoffState, shownStatus } from '#src/handoffs/handoff.decider.ts';
import { type LinkState, linkStatusAt } from '#src/links/link.decider.ts';
import { shownNameOfLink } from '#src/links/links.ts';
import { nameOfOutbound, type OutboundState, statusAt } from '#src/outreach/outbound.decider.ts';
import { SCOPE_OF } from '#src/outreach/requests.ts';
import {
  BY_CHANGE,
  listBy,
  listOfCampaign,
  listOfExternalId,
  listOfWord,
  MADE_BY_AGENTS,
  foldedWords,
  haveBeginnings,
} from '#src/ports/rows.ts';
import {
  bindingOf,
  readCursor,
  ROWS_READ_MAX,
  scanLists,
  writeCursor,
} from '#src/reading/lists.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { done, type Refusal, refuseParameter, scopeMissing } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { epoch, iso, renderAsOf } from '#src/shared/time.ts';
import { RECORD_SCOPES } from './read-record.ts';

/** Calls can be written in another order than they were accepted in, by processes with clocks of their own. */
const CHANGE_SKEW_MS = 300_000;

type Input = InputOf<'listRecords'>;

type Listed = { sort: number; changed: number; updated_at: number };

/** How one kind is stored and shown. */
type Kind<State extends object> = {
  readModel: string;
  /** The list of all records that agents see. */
  all: { list?: string };
  statusAt(state: State, at: number): ListedRecord['status'];
  campaigns(state: State): readonly (string | undefined)[];
  name(deps: Deps, state: State): string | undefined;
  /** Further texts whose words find the record. */
  texts(state: State): readonly (string | undefined)[];
  isVisible(state: State, call: AgentCall): boolean;
  render(state: State): Pick<ListedRecord, 'id'> & Partial<ListedRecord>;
};

const link: Kind<LinkState> = {
  readModel: 'links',
  all: {},
  statusAt: linkStatusAt,
  campaigns: ({ dims }) => [dims.campaign],
  name: shownNameOfLink,
  texts: ({ slug }) => [slug],
  isVisible: () => true,
  render: ({ link_id, short_url, expires_at }) => ({
    id: link_id,
    short_url,
    ...present({ expires_at: expires_at === undefined ? undefined : iso(expires_at) }),
  }),
};

const handoff: Kind<HandoffState> = {
  readModel: 'handoffs',
  all: { list: MADE_BY_AGENTS },
  statusAt: shownStatus,
  campaigns: ({ dims }) => [dims.campaign],
  name: (_deps, { title }) => title,
  texts: () => [],
  isVisible: ({ made_by_buyer }) => !made_by_buyer,
  render: ({ handoff_id, link_id, expires_at }) => ({
    id: handoff_id,
    ...present({ link_id }),
    expires_at: iso(expires_at),
  }),
};

const outreach: Kind<OutboundState> = {
  readModel: 'outbound',
  all: {},
  statusAt,
  campaigns: ({ campaigns = [] }) => campaigns,
  name: (_deps, state) => nameOfOutbound(state),
  texts: () => [],
  isVisible: ({ kind }, { caller }) => caller.scopes.has(SCOPE_OF[kind]),
  render: ({ outbound_id }) => ({ id: outbound_id }),
};

type AnyState = {
  agent_id: string;
  external_id?: string | undefined;
} & Listed;

/** Each kind is used with the rows of its own read model only. */
const KINDS = { link, handoff, outreach } as unknown as Readonly<
  Record<ListedKind, Kind<AnyState>>
>;

/** The shortest list that contains all matches, as far as the filters tell. */
const listOf = ({ all }: Kind<AnyState>, input: Input): { list?: string } => {
  const { state, campaign, external_id, text, updated_since } = input;
  if (external_id !== undefined) return { list: listOfExternalId(external_id) };
  if (updated_since !== undefined) return { list: BY_CHANGE };
  const [longest = ''] = foldedWords(text ?? '').sort((a, b) => b.length - a.length);
  const words = listOfWord(longest);
  if (words !== undefined) return { list: words };
  if (campaign !== undefined) return { list: listOfCampaign(campaign) };
  // A record expires without an event, so it is in the list of the state that it had.
  const isStored = state !== undefined && !ENDS_BY_TIME.includes(state);
  return isStored ? { list: listBy({ status: state }) } : all;
};

const ENDS_BY_TIME: readonly string[] = ['expired'];

const matcher = (deps: Deps, call: AgentCall, kind: Kind<AnyState>, input: Input) => {
  const { state, campaign, external_id } = input;
  const since = input.updated_since === undefined ? -Infinity : epoch(input.updated_since);
  const wanted = foldedWords(input.text ?? '');
  const textsOf = (row: AnyState) => [
    kind.name(deps, row),
    row.external_id,
    ...kind.campaigns(row),
    ...kind.texts(row),
  ];
  return (row: AnyState): boolean =>
    kind.isVisible(row, call) &&
    row.updated_at >= since &&
    (state === undefined || kind.statusAt(row, call.at) === state) &&
    (campaign === undefined || kind.campaigns(row).includes(campaign)) &&
    (external_id === undefined || row.external_id === external_id) &&
    haveBeginnings(textsOf(row), wanted);
};

/** Refuses a state that records of the kind cannot have: an empty page would read as "there are none". */
const refuseState = ({ kind, state }: Input): Refusal | undefined => {
  const states: readonly string[] = LISTED_STATES[kind];
  return state === undefined || states.includes(state)
    ? undefined
    : refuseParameter('/state', 'unknown', `a ${kind} is one of ${states.join(', ')}`);
};

export const listRecords: Handler<'listRecords'> = async (deps, input, call) => {
  const { caller, ownerId, at } = call;
  const scope = RECORD_SCOPES[input.kind];
  if (!allows(scope, caller.scopes)) return scopeMissing(`Listing ${input.kind}s`, scope, caller);
  const unknown = refuseState(input);
  if (unknown) return unknown;
  const binding = [caller.agentId, ...bindingOf(ownerId, 'listRecords', input)];
  const cursor = input.cursor === undefined ? undefined : readCursor(deps, binding, input.cursor);
  if (cursor?.ok === false) return cursor;
  const kind = KINDS[input.kind];
  const asOf = deps.following.asOf();
  const range = listOf(kind, input);
  const earliest =
    range.list === BY_CHANGE ? epoch(input.updated_since ?? '') - CHANGE_SKEW_MS : -Infinity;
  const { rows, next } = await scanLists<AnyState>(deps.readModels, {
    name: kind.readModel,
    scope: ownerId,
    ranges: [range],
    after: cursor?.place,
    isMatch: matcher(deps, call, kind, input),
    isEnd: ({ updated_at }) => updated_at < earliest,
    limit: input.limit,
    rowsMax: ROWS_READ_MAX,
  });
  const data = rows.map((row): ListedRecord => {
    const [campaign] = kind.campaigns(row);
    return {
      ...kind.render(row),
      ...present({ name: kind.name(deps, row), campaign, external_id: row.external_id }),
      status: kind.statusAt(row, at),
      agent_id: row.agent_id,
      updated_at: iso(row.updated_at),
    };
  });
  return done({
    data,
    page: {
      next_cursor: next === null ? null : writeCursor(deps, binding, next),
      has_more: next !== null,
    },
    as_of: renderAsOf(asOf),
  });
};
