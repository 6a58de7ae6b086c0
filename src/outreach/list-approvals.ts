import type { Deps } from '#src/calls/call.ts';
import {
  isSettled,
  type OutboundState,
  type OutboundStatus,
  statusAt,
} from './outbound-state.decider.ts';
import { listBy, OPEN_RECORDS, type OpenRow, OUTBOUND_BY_EXPIRY } from '#src/ports/rows.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { pageOfScan, scanLists } from '#src/reading/scan-lists.ts';
import { present } from '#src/shared/present.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { NO_REQUEST, renderOutbound } from './requests.ts';

type OpenRequest = OpenRow<OutboundState>;
type ListedRequest = { owner: string; state: OutboundState; sort: number };
type RequestSearch = { before: number | undefined; limit: number; at: number };
type RequestPage = { rows: ListedRequest[]; next: number | null };

/** Rows read for one page; the next page continues after them. */
const ROWS_READ_MAX = 1_000;

/** The list over all owners holds open requests only. */
const OWNER_MISSING = refuse('parameter_invalid', 'Requests at their end are listed by owner.', {
  errors: [{ pointer: '/owner_id', code: 'required', detail: 'is required with this status' }],
});

const findOfOwner = async (
  { readModels }: Deps,
  { owner, status }: { owner: string; status: OutboundStatus },
  { before = Infinity, limit, at }: RequestSearch,
): Promise<RequestPage> => {
  type Stored = OutboundState & { sort: number };
  const isMatch = (row: Stored): boolean => statusAt(row, at) === status;
  const inState = await scanLists<Stored>(readModels, {
    name: 'outbound',
    scope: owner,
    ranges: [{ list: listBy({ status }) }],
    after: before,
    isMatch,
    limit,
    rowsMax: ROWS_READ_MAX,
  });
  // A request expires by the clock, a moment before the dispatcher stores it.
  const byExpiry = { scope: owner, list: OUTBOUND_BY_EXPIRY, before: at + 1, limit: ROWS_READ_MAX };
  const overdue = status === 'expired' ? await readModels.list<Stored>('outbound', byExpiry) : [];
  const from = inState.next ?? 0;
  const rows = overdue
    .flatMap(({ row }) => (row.sort >= from && row.sort < before ? [row] : []))
    .concat(inState.rows)
    .sort((a, b) => b.sort - a.sort);
  return { rows: rows.map((row) => ({ owner, state: row, sort: row.sort })), next: inState.next };
};

/** Finds open requests, of all owners if `owner` is undefined. */
const findOpen = (
  { readModels }: Deps,
  call: DeskCall,
  {
    owner,
    status,
    before,
    limit,
    at,
  }: RequestSearch & { owner: string | undefined; status: OutboundStatus | undefined },
): Promise<RequestPage> => {
  const values = present({ owner, status });
  return scanLists<OpenRequest>(readModels, {
    name: 'open-outbound',
    scope: OPEN_RECORDS,
    ranges: [Object.keys(values).length > 0 ? { list: listBy(values) } : {}],
    after: before,
    limit,
    isMatch: (row) => mayActFor(call, row.owner) && (!status || statusAt(row.state, at) === status),
    rowsMax: ROWS_READ_MAX,
  });
};

export const listApprovals: DeskHandler<'listApprovals'> = async (deps, input, call) => {
  const { status, before, limit } = input;
  const owner = input.owner_id ?? call.caller.ownerId;
  if (owner === undefined && status !== undefined && isSettled({ status })) return OWNER_MISSING;
  if (owner !== undefined && !mayActFor(call, owner)) return NO_REQUEST;
  // One more than the page, so that its cursor is null if no other request matches.
  const search = { before, limit: limit + 1, at: call.at };
  const scanned =
    owner !== undefined && status !== undefined
      ? await findOfOwner(deps, { owner, status }, search)
      : await findOpen(deps, call, { owner, status, ...search });
  const { rows, next } = pageOfScan(scanned, limit);
  return done({
    data: rows.map(({ owner: ownerId, state }) => renderOutbound(ownerId, state, call.at)),
    next_before: next,
    as_of: renderAsOf(deps.following.asOf()),
  });
};
