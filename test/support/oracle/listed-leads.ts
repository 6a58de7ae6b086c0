/** Random histories of leads, folded into a store, and their lists as a scan without lists gives them. */
import fc from 'fast-check';
import type { EventType } from '#contracts/registries/events.ts';
import { LEAD_STATES } from '#contracts/moves.ts';
import { foldBatch } from '#projections/engine/fold.ts';
import { openTarget } from '#projections/engine/target.ts';
import { handoffs } from '#projections/handoffs.ts';
import { changes } from '#projections/records.ts';
import { leads } from '#projections/leads.ts';
import { links } from '#projections/links.ts';
import { openOutbound, outboundRequests } from '#projections/outreach.ts';
import { type Projection, spaceOfBuild } from '#projections/projection.ts';
import { listLeads } from '#src/leads/list-leads.ts';
import { type LeadState, stateAt } from '#src/leads/lead.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ProjectionStore, ReadModels } from '#src/ports/read-model.ts';
import { type Given, happened, inLog, MIDNIGHT, rowsAfter } from '../world/fold.ts';
import { DIMS, erased, leadNamed, leadSubmitted } from '../world/stories.ts';

export const LISTED: readonly Projection[] = [
  leads,
  handoffs,
  links,
  outboundRequests,
  openOutbound,
  changes,
];
export const HOUR_MS = 3_600_000;

/** Folds the events, some at a time, and makes the rows live. */
export const foldInto = async (
  store: ProjectionStore,
  given: readonly Given[],
  { from = 1, atOnce = 7 } = {},
): Promise<void> => {
  const events: FoldEvent[] = inLog(given, from);
  for (const projection of LISTED) {
    const space = spaceOfBuild(projection, 1);
    const target = await openTarget(store, { projection, space });
    const handled = events.filter(({ type }) => projection.handles.includes(type as EventType));
    for (let first = 0; first < handled.length; first += atOnce) {
      const some = handled.slice(first, first + atOnce);
      for (let rest = { events: some, upTo: some.at(-1)?.position ?? 0 }; ; ) {
        const folded = await foldBatch(target, rest);
        if (!folded || target.parked.size > 0)
          throw new Error(JSON.stringify([...target.parked.values()]));
        await store.commit(space, folded.batches);
        for (const { partition, to } of folded.batches) target.checkpoints[partition] = to;
        if (!folded.rest) break;
        rest = { events: [...folded.rest.events], upTo: folded.rest.upTo };
      }
    }
    await store.goLive(space);
  }
};

const MOVES = [
  'LeadAccepted',
  'LeadContacted',
  'LeadQualified',
  'LeadRfqObserved',
  'LeadWithdrawn',
] as const;
const SOURCES = [
  { source: { kind: 'agent' as const } },
  { source: { kind: 'manual' as const } },
  { source: { kind: 'link' as const, ref: 'lnk_1' }, link_id: 'lnk_1' },
  { source: { kind: 'link' as const, ref: 'lnk_2' }, link_id: 'lnk_2' },
  { source: { kind: 'handoff' as const, ref: 'hnd_1' }, handoff_id: 'hnd_1', link_id: 'lnk_1' },
];

/** One step of a history: its time is `gap` later than the one before, except for `skew`. */
const step = fc.record({
  kind: fc.constantFrom('submit', 'submit', 'move', 'move', 'amend', 'erase'),
  lead: fc.nat(),
  gap: fc.constantFrom(0, 1, 30_000, 30_000, HOUR_MS),
  skew: fc.constantFrom(0, 0, 0, 0, 0, 30_000, 59_999, 60_001, 50 * HOUR_MS, -100 * HOUR_MS),
  term: fc.constantFrom(2 * HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS, HOUR_MS, 90 * HOUR_MS),
  source: fc.constantFrom(...SOURCES),
  move: fc.constantFrom(...MOVES),
});
export const leadHistory = fc
  .array(step, { minLength: 1, maxLength: 80, size: 'max' })
  .map((steps): Given[] => {
    let now = MIDNIGHT;
    let count = 0;
    return steps.map(({ kind, lead, gap, skew, term, source, move }) => {
      now += gap;
      const at = now - skew;
      if (kind === 'submit' || count === 0) {
        count += 1;
        return leadSubmitted(`${count}`, { ...source, claim_expires_at: at + term }, at);
      }
      const name = `${1 + (lead % count)}`;
      if (kind === 'erase') return { ...erased(`lead_${name}`), at };
      const more =
        kind === 'amend' ? { ...source, dims: DIMS, company: { name: 'B', country: 'GB' } } : {};
      const type = kind === 'amend' ? 'LeadAmended' : move;
      return happened(type, `lead_${name}`, { ...leadNamed(name), ...more }, at);
    });
  });

const time = fc
  .tuple(fc.integer({ min: -1, max: 16 }), fc.integer({ min: -3, max: 3 }))
  .map(([hours, halves]) => new Date(MIDNIGHT + hours * HOUR_MS + halves * 30_000).toISOString());
const FILTERS = {
  state: fc.constantFrom('submitted', 'accepted', 'lapsed', ...LEAD_STATES),
  source: fc.constantFrom('link', 'handoff', 'manual', 'agent'),
  link_id: fc.constantFrom('lnk_1', 'lnk_2', 'lnk_3'),
  handoff_id: fc.constantFrom('hnd_1', 'hnd_2'),
  created_from: time,
  created_to: time,
  updated_since: time,
};
type LeadQuery = { [Filter in keyof typeof FILTERS]?: string } & { limit: number };
/** Queries with up to three filters. */
export const leadQuery = fc
  .subarray(Object.keys(FILTERS) as (keyof typeof FILTERS)[], { maxLength: 3 })
  .chain((filters) =>
    fc.record({
      ...Object.fromEntries(filters.map((name) => [name, FILTERS[name]])),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  ) as fc.Arbitrary<LeadQuery>;

/** Reads the pages; returns the ids. */
export const readLeads = async (
  readModels: ReadModels,
  query: LeadQuery,
  { at, pages = Infinity }: { at: number; pages?: number },
) => {
  const deps = {
    readModels,
    following: { asOf: () => ({ position: 1, at }) },
    vault: { unseal: async (texts: string[]) => texts.map(() => null) },
    secrets: { mac: (_use: string, text: string) => text.padEnd(32, '0') },
    clock: { now: () => at },
  };
  const ids: string[] = [];
  for (let [cursor, left] = [undefined as string | undefined, pages]; ; left -= 1) {
    const input = { ...query, ...(cursor !== undefined && { cursor }) };
    const outcome = await listLeads(
      deps as never,
      input as never,
      { caller: { ownerId: 'anna' }, at } as never,
    );
    if (!outcome.ok) throw new Error(outcome.detail);
    const { data, page } = outcome.value;
    if (data.length > query.limit) throw new Error('a page has too many rows');
    ids.push(...data.map(({ id }) => id));
    if (page.next_cursor === null || left === 1) return ids;
    cursor = page.next_cursor;
  }
};

export const scannedLeads = (given: readonly Given[], query: LeadQuery, at: number): string[] => {
  const since = (text: string | undefined) => (text === undefined ? -Infinity : Date.parse(text));
  const to = query.created_to === undefined ? Infinity : Date.parse(query.created_to);
  return Object.values(rowsAfter(leads, given))
    .filter(({ sort }) => sort !== null)
    .toSorted((a, b) => (b.sort ?? 0) - (a.sort ?? 0))
    .map(({ row }) => row as LeadState)
    .filter(
      (lead) =>
        (query.state === undefined || stateAt(lead, at) === query.state) &&
        (query.source === undefined || lead.source.kind === query.source) &&
        (query.link_id === undefined || lead.link_id === query.link_id) &&
        (query.handoff_id === undefined || lead.handoff_id === query.handoff_id) &&
        lead.created_at >= since(query.created_from) &&
        lead.created_at <= to &&
        lead.updated_at >= since(query.updated_since),
    )
    .map(({ lead_id }) => lead_id);
};
