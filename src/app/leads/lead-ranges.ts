import type { LeadState } from '#src/domain/lead-state.ts';
import type { ListQuery, ReadModels } from '#src/ports/read-model.ts';
import {
  LATE_LEADS,
  LEAD_SKEW_MS,
  LEADS_BY_CLAIM_END,
  LEADS_BY_CREATION,
  listBy,
} from '#src/ports/rows.ts';
import type { InputOf } from '../pipeline/agent-handler.ts';
import type { ListRange } from '../read-models/scan-lists.ts';
import { present } from '../shared/present.ts';
import { epoch } from '../shared/time.ts';

type LeadFilter = { ownerId: string; at: number; input: InputOf<'listLeads'> };
/** The leads whose time in a list is between these, in epoch milliseconds, both inclusive. */
type Period = { list: string; from?: number; to?: number };

/**
 * Returns the parts of lists that together have every lead that the filters match. Reads at most one row for each
 * end of a period, to find its place.
 */
export const rangesOf = async (
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

/** The shortest lists that have all matches, as far as the filters tell. */
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
 * Returns the places in log order that have the whole period. A lead whose time is more than LEAD_SKEW_MS before the
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
