/** Random histories of outreach requests, and their lists as a scan without lists gives them. */
import fc from 'fast-check';
import { openOutbound, outboundRequests } from '#projections/outreach.ts';
import { listApprovals } from '#src/outreach/approvals.ts';
import { type OutboundState, statusAt } from '#src/outreach/outbound.decider.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { type Given, happened, MIDNIGHT, rowsAfter } from '../world/fold.ts';
import { HOUR_MS } from './listed-leads.ts';
import { DANA, PROPOSAL } from '../world/outbound-states.ts';

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const OWNERS = ['anna', 'boris'];
const STATUSES = [
  'pending_approval',
  'changes_requested',
  'approved',
  'expired',
  'canceled',
  'outcome_unknown',
] as const;
const EVENT_OF = {
  changes_requested: 'OutboundChangesRequested',
  approved: 'OutboundApproved',
  expired: 'OutboundExpired',
  canceled: 'OutboundCanceled',
  outcome_unknown: 'OutboundOutcomeUnknown',
} as const;
/** One request: its events bring it to one status after the other; nothing follows a final one. */
const request = fc.record({
  owner: fc.constantFrom(...OWNERS),
  hours: fc.integer({ min: 1, max: 9 }),
  through: fc.uniqueArray(fc.constantFrom('changes_requested', 'approved'), { maxLength: 2 }),
  end: maybe(fc.constantFrom('expired', 'canceled', 'outcome_unknown')),
});
export const requestHistory = fc
  .array(request, { minLength: 1, maxLength: 30 })
  .chain((requests) => {
    const events = requests.flatMap(({ owner, hours, through, end }, n) => {
      const named = { outbound_id: `out_${n}`, agent_id: 'agt_1', task_id: `tsk_${n}` };
      const schedule = { not_after: MIDNIGHT + hours * HOUR_MS };
      const stream = `${owner}-outbound_${n}`;
      const states = end === undefined ? through : [...through, end];
      const content = { revision: 1, content_sha256: 'a', reason: 'because' };
      return [
        happened('OutboundProposed', stream, { ...PROPOSAL, ...named, schedule }),
        ...states.map((state) =>
          happened(EVENT_OF[state], stream, { ...named, ...DANA, ...content }),
        ),
      ].map((event, i) => ({ event, round: i }));
    });
    return fc
      .shuffledSubarray(events, { minLength: events.length, maxLength: events.length })
      .map((shuffled) => shuffled.toSorted((a, b) => a.round - b.round).map(({ event }) => event));
  });

export const requestQuery = fc.record({
  owner_id: maybe(fc.constantFrom(...OWNERS)),
  status: maybe(fc.constantFrom(...STATUSES)),
  limit: fc.integer({ min: 1, max: 4 }),
});
type RequestQuery = {
  owner_id?: string | undefined;
  status?: (typeof STATUSES)[number] | undefined;
  limit: number;
};

/** Whether the desk refuses the query: finished requests are listed by owner. */
export const isRefused = ({ owner_id, status }: RequestQuery): boolean =>
  owner_id === undefined && (status === 'expired' || status === 'canceled');

/** Reads the pages; returns the ids. */
export const readRequests = async (
  readModels: ReadModels,
  query: RequestQuery,
  { at, pages = Infinity }: { at: number; pages?: number },
) => {
  const deps = { readModels, following: { asOf: () => ({ position: 1, at }) } };
  const ids: string[] = [];
  for (let [before, left] = [undefined as number | undefined, pages]; ; left -= 1) {
    const input = { ...query, ...(before !== undefined && { before }) };
    const call = { caller: { roles: new Set(['staff']) }, at };
    const outcome = await listApprovals(deps as never, input, call as never);
    if (!outcome.ok) throw new Error(outcome.detail);
    const { data, next_before } = outcome.value;
    ids.push(...data.map(({ id }) => id));
    if (next_before === null || left === 1) return ids;
    if (data.length !== query.limit) throw new Error('a page that is not the last has a gap');
    before = next_before;
  }
};

export const scannedRequests = (given: readonly Given[], query: RequestQuery, at: number) => {
  const open = rowsAfter(openOutbound, given) as object;
  return Object.entries(rowsAfter(outboundRequests, given))
    .toSorted(([, a], [, b]) => (b.sort ?? 0) - (a.sort ?? 0))
    .filter(([name, { row }]) => {
      const [owner, id = ''] = name.split('/');
      return (
        (query.owner_id === undefined || query.owner_id === owner) &&
        (query.status === undefined ? `open/${id}` in open : statusAt(row, at) === query.status)
      );
    })
    .map(([, { row }]) => (row as OutboundState).outbound_id);
};
