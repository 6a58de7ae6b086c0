import type { LeadState } from '#src/domain/lead.ts';
import { stateAt } from '#src/domain/lead.ts';
import { bindingOf, readCursor, writeCursor } from '../cursor.ts';
import type { Handler, InputOf } from '../handler.ts';
import type { Refusal } from '../outcome.ts';
import { done } from '../outcome.ts';
import { showLeads } from '../personal.ts';
import { epoch, renderAsOf } from '../time.ts';

/** Rows looked at for one page: a filter that matches little costs bounded work, and says so. */
const ROWS_SCANNED_MAX = 10_000;
/** A page without a filter asks the store once; where one matches little, each question is larger. */
const STEP_FACTOR = 4;
const STEP_ROWS_MAX = 1_000;

export const listLeads: Handler<'listLeads'> = async (deps, input, { caller, at }) => {
  const binding = bindingOf(caller.ownerId, 'listLeads', input);
  let before: number | undefined;
  if (input.cursor !== undefined) {
    const read: { ok: true; place: number } | Refusal = readCursor(deps, binding, input.cursor);
    if (!read.ok) return read;
    before = read.place;
  }
  const asOf = deps.following.asOf();
  const wanted = matcher(input, at);
  const found: LeadState[] = [];
  let scanned = 0;
  let more = true;
  let limit = input.limit;
  while (more && found.length < input.limit && scanned < ROWS_SCANNED_MAX) {
    const rows = await deps.readModels.list<LeadState>('leads', {
      scope: caller.ownerId,
      limit: limit + 1,
      ...(before !== undefined && { before }),
    });
    more = rows.length > limit;
    for (const { row, sort } of rows.slice(0, limit)) {
      before = sort;
      scanned += 1;
      if (wanted(row)) found.push(row);
      if (found.length === input.limit) {
        more = more || row !== rows.at(-1)?.row;
        break;
      }
    }
    limit = Math.max(limit, Math.min(limit * STEP_FACTOR, STEP_ROWS_MAX));
  }
  return done({
    data: await showLeads(deps, caller.ownerId, found, at),
    page: {
      next_cursor: more && before !== undefined ? writeCursor(deps, binding, before) : null,
      has_more: more,
    },
    as_of: renderAsOf(asOf),
  });
};

const matcher = (input: InputOf<'listLeads'>, at: number): ((lead: LeadState) => boolean) => {
  const { state, source, link_id, handoff_id, external_id } = input;
  const from = input.created_from === undefined ? -Infinity : epoch(input.created_from);
  const to = input.created_to === undefined ? Infinity : epoch(input.created_to);
  const since = input.updated_since === undefined ? -Infinity : epoch(input.updated_since);
  return (lead) =>
    (state === undefined || stateAt(lead, at) === state) &&
    (source === undefined || lead.source.kind === source) &&
    (link_id === undefined || lead.link_id === link_id) &&
    (handoff_id === undefined || lead.handoff_id === handoff_id) &&
    (external_id === undefined || lead.external_id === external_id) &&
    lead.created_at >= from &&
    lead.created_at <= to &&
    lead.updated_at >= since;
};
