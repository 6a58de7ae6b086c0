import type { LeadState } from '#src/domain/lead-state.ts';
import { stateAt } from '#src/domain/lead.ts';
import { bindingOf, readCursor, writeCursor } from '../read-models/cursor.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { done, type Refusal } from '../pipeline/outcome.ts';
import { showLeads } from './render-lead.ts';
import { leadIdOf } from '../records/streams.ts';
import { epoch, renderAsOf } from '../shared/time.ts';

/** Rows looked at for one page: a filter that matches little costs bounded work, and says so. */
const ROWS_SCANNED_MAX = 10_000;
/** A page without a filter asks the store once; where one matches little, each question is larger. */
const STEP_FACTOR = 4;
const STEP_ROWS_MAX = 1_000;

type Found = { leads: LeadState[] /** Where the next page begins. */; next: number | null };

type Search = {
  ownerId: string;
  wanted(lead: LeadState): boolean;
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
  const search = { ownerId, wanted: matcher(input, at), limit, before };
  const { leads, next } =
    external_id === undefined ? await scan(deps, search) : await pick(deps, search, external_id);
  return done({
    data: await showLeads(deps, ownerId, leads, at),
    page: {
      next_cursor: next === null ? null : writeCursor(deps, binding, next),
      has_more: next !== null,
    },
    as_of: renderAsOf(asOf),
  });
};

/** An external_id names one lead, however many there are. */
const pick = async (
  { readModels }: Deps,
  { ownerId, wanted }: Search,
  externalId: string,
): Promise<Found> => {
  const lead = await readModels.get<LeadState>('leads', ownerId, leadIdOf(ownerId, externalId));
  return { leads: lead && wanted(lead) ? [lead] : [], next: null };
};

const scan = async (
  { readModels }: Deps,
  { ownerId, wanted, limit: leadsMax, before: from }: Search,
): Promise<Found> => {
  const leads: LeadState[] = [];
  let before = from;
  let scanned = 0;
  let more = true;
  let limit = leadsMax;
  while (more && leads.length < leadsMax && scanned < ROWS_SCANNED_MAX) {
    const rows = await readModels.list<LeadState>('leads', {
      scope: ownerId,
      limit: limit + 1,
      ...(before !== undefined && { before }),
    });
    more = rows.length > limit;
    for (const { row, sort } of rows.slice(0, limit)) {
      before = sort;
      scanned += 1;
      if (wanted(row)) leads.push(row);
      if (leads.length === leadsMax) {
        more = more || row !== rows.at(-1)?.row;
        break;
      }
    }
    limit = Math.max(limit, Math.min(limit * STEP_FACTOR, STEP_ROWS_MAX));
  }
  return { leads, next: more ? (before ?? null) : null };
};

const matcher = (input: InputOf<'listLeads'>, at: number): ((lead: LeadState) => boolean) => {
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
