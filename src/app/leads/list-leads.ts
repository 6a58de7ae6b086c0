import type { LeadState } from '#src/domain/lead-state.ts';
import { stateAt } from '#src/domain/lead.ts';
import { bindingOf, readCursor, writeCursor } from '../read-models/cursor.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { done, type Refusal } from '../pipeline/outcome.ts';
import { showLeads } from './render-lead.ts';
import { leadIdOf } from '../records/streams.ts';
import { eventLoopTurns } from '../shared/turns.ts';
import { epoch, renderAsOf } from '../shared/time.ts';

/** Rows that are read for one page: bounds the cost of a filter that matches few leads. */
const ROWS_SCANNED_MAX = 10_000;
/** Growth of the reads of one page: the first read has the size of the page, which suffices without a filter. */
const STEP_FACTOR = 4;
const STEP_ROWS_MAX = 1_000;

/** A page of leads; `next` is the `before` of the next page. */
type Page = { leads: LeadState[]; next: number | null };

type LeadSearch = {
  ownerId: string;
  isMatch(lead: LeadState): boolean;
  limit: number;
  before: number | undefined;
};

export const listLeads: Handler<'listLeads'> = async (deps, input, { caller, at }) => {
  const { ownerId } = caller;
  const binding = bindingOf(ownerId, 'listLeads', input);
  let before: number | undefined;
  if (input.cursor !== undefined) {
    const read: { ok: true; place: number } | Refusal = readCursor(deps, binding, input.cursor);
    if (!read.ok) return read;
    before = read.place;
  }
  const asOf = deps.following.asOf();
  const { external_id, limit } = input;
  const search = { ownerId, isMatch: makeFilter(input, at), limit, before };
  const { leads, next } =
    external_id === undefined
      ? await scan(deps, search)
      : await findByExternalId(deps, search, external_id);
  return done({
    data: await showLeads(deps, leads, { ownerId, at }),
    page: {
      next_cursor: next === null ? null : writeCursor(deps, binding, next),
      has_more: next !== null,
    },
    as_of: renderAsOf(asOf),
  });
};

/** Reads the one lead with this external_id. */
const findByExternalId = async (
  { readModels }: Deps,
  { ownerId, isMatch }: LeadSearch,
  externalId: string,
): Promise<Page> => {
  const lead = await readModels.get<LeadState>('leads', ownerId, leadIdOf(ownerId, externalId));
  return { leads: lead && isMatch(lead) ? [lead] : [], next: null };
};

/** Reads leads, newest first, until the page is full or too many rows were read. */
const scan = async (
  { readModels }: Deps,
  { ownerId, isMatch, limit: leadsMax, before: from }: LeadSearch,
): Promise<Page> => {
  const leads: LeadState[] = [];
  let before = from;
  let scanned = 0;
  let more = true;
  let limit = leadsMax;
  while (more && leads.length < leadsMax && scanned < ROWS_SCANNED_MAX) {
    await eventLoopTurns.pause();
    const rows = await readModels.list<LeadState>('leads', {
      scope: ownerId,
      limit: limit + 1,
      ...(before !== undefined && { before }),
    });
    more = rows.length > limit;
    for (const { row, sort } of rows.slice(0, limit)) {
      before = sort;
      scanned += 1;
      if (isMatch(row)) leads.push(row);
      if (leads.length === leadsMax) {
        more = more || row !== rows.at(-1)?.row;
        break;
      }
    }
    limit = Math.max(limit, Math.min(limit * STEP_FACTOR, STEP_ROWS_MAX));
  }
  return { leads, next: more ? (before ?? null) : null };
};

const makeFilter = (input: InputOf<'listLeads'>, at: number): ((lead: LeadState) => boolean) => {
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
