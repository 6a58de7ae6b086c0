/** How many rows of the store a page of a filtered list reads, regardless of how many records the owner has. */
import { beforeAll, describe, expect, it } from 'vitest';
import { listRecords } from '#src/records/list-records.ts';
import { readChanges } from '#src/records/changes.ts';
import { memoryStore } from '../support/memory-read-model.ts';
import type { LocalStore, ReadModels } from '#src/ports/read-model.ts';
import { happened, type Given, inLog, MIDNIGHT } from '../support/world/fold.ts';
import { foldInto, HOUR_MS, LISTED, readLeads } from '../support/oracle/listed-leads.ts';
import { readRequests } from '../support/oracle/listed-requests.ts';
import { PROPOSAL } from '../support/world/outbound-states.ts';
import { readersOf } from '../support/world/readers.ts';
import { leadNamed, leadSubmitted, linkCreated, linkDisabled } from '../support/world/stories.ts';

const LIMIT = 25;
/** Each page reads one row more than it has; a period reads one row for each end. */
const TWO_PAGES = 2 * (LIMIT + 1) + 2;
const TERM_MS = 2 * HOUR_MS;

/** Leads, 20 an hour; every 50th, but at least three, has what a filter looks for, and all of these are old. */
const historyOf = (count: number): { given: Given[]; at: number } => {
  const at = MIDNIGHT + count * (HOUR_MS / 20);
  const each = Math.max(2, Math.floor(count / 50));
  const leads = Array.from({ length: count }, (_, n): Given => {
    const rare = n % each === 1 && n < count / 2;
    const time = MIDNIGHT + n * (HOUR_MS / 20);
    const source = rare
      ? { source: { kind: 'handoff' as const }, handoff_id: 'hnd_1', link_id: 'lnk_rare' }
      : { source: { kind: 'link' as const }, link_id: n % each === 0 ? 'lnk_few' : 'lnk_often' };
    return leadSubmitted(`${n}`, { ...source, claim_expires_at: time + TERM_MS }, time);
  });
  const changed = Array.from({ length: count / 2 }, (_, n) => n).filter((n) => n % each === 1);
  const moves = changed.flatMap((n) => [
    happened('LeadAccepted', `lead_${n}`, leadNamed(`${n}`), at),
    happened('LeadContacted', `lead_${n}`, leadNamed(`${n}`), at),
  ]);
  return { given: [...leads, ...moves], at };
};

const iso = (at: number): string => new Date(at).toISOString();

/** Counts the rows that the readers get from the store. */
const counting = (store: LocalStore): { readModels: ReadModels; rows(): number } => {
  let rows = 0;
  const list: LocalStore['list'] = (space, query) => {
    const page = store.list(space, query);
    rows += page.length;
    return page;
  };
  return { readModels: readersOf({ ...store, list }, LISTED), rows: () => rows };
};

describe.each([100, 100_000])(
  'Of %d leads, a first page reads at most two pages of rows',
  (count) => {
    const { given, at } = historyOf(count);
    const store = memoryStore();
    beforeAll(() => foldInto(store, given, { atOnce: 1_000 }));
    const old = iso(MIDNIGHT + 2 * HOUR_MS);
    const filters = {
      state: { state: 'contacted' },
      'state submitted': { state: 'submitted' },
      'state lapsed': { state: 'lapsed' },
      'a state that no lead has': { state: 'won' },
      source: { source: 'handoff' },
      link: { link_id: 'lnk_rare' },
      handoff: { handoff_id: 'hnd_1' },
      'an end of creation long ago': { created_to: old },
      'a period of creation': { created_from: iso(MIDNIGHT + HOUR_MS), created_to: old },
      'creation in the last hour': { created_from: iso(at - HOUR_MS) },
      'state and link': { state: 'contacted', link_id: 'lnk_rare' },
      'state lapsed and a link of many leads': { state: 'lapsed', link_id: 'lnk_often' },
      'state lapsed and a link of few leads': { state: 'lapsed', link_id: 'lnk_few' },
      'state and source': { state: 'contacted', source: 'handoff' },
      'state and a period': { state: 'contacted', created_to: iso(at - count * 60_000) },
    };

    it.each(Object.entries(filters))(
      'A first page of leads reads at most two pages of rows for %s',
      async (_what, filter) => {
        const { readModels, rows } = counting(store);
        const ids = await readLeads(readModels, { ...filter, limit: LIMIT }, { at, pages: 1 });
        expect(rows()).toBeLessThanOrEqual(TWO_PAGES);
        if (!('state' in filter) || filter.state !== 'won') expect(ids.length).toBeGreaterThan(0);
      },
    );

    it('A first page of leads reads at most two pages of rows for updated_since, besides the leads that changed', async () => {
      const { readModels, rows } = counting(store);
      const query = { updated_since: iso(at), limit: LIMIT };
      const ids = await readLeads(readModels, query, { at, pages: 1 });
      expect(ids.length).toBe(LIMIT);
      expect(rows()).toBeLessThanOrEqual(TWO_PAGES + LIMIT);
    });
  },
);

describe.each([100, 100_000])(
  'Of %d outreach requests, a page reads at most two pages of rows',
  (count) => {
    const store = memoryStore();
    beforeAll(async () => {
      const proposals = Array.from({ length: count }, (_, n) => {
        const schedule = { not_after: MIDNIGHT + (n < 5 ? 1 : HOUR_MS) };
        const owner = n % 2 === 0 ? 'anna' : 'boris';
        const data = { ...PROPOSAL, outbound_id: `out_${n}`, schedule };
        return happened('OutboundProposed', `${owner}-outbound_${n}`, data);
      });
      const canceled = [10, 11].map((n) => {
        const data = { outbound_id: `out_${n}`, agent_id: 'agt_1', by: 'desk:1' };
        return happened(
          'OutboundCanceled',
          `${n % 2 === 0 ? 'anna' : 'boris'}-outbound_${n}`,
          data,
        );
      });
      const { owner, ...rare } = { owner: 'carla', ...PROPOSAL, outbound_id: 'out_carla' };
      const first = happened('OutboundProposed', `${owner}-outbound_x`, rare);
      await foldInto(store, [first, ...proposals, ...canceled], { atOnce: 1_000 });
    });

    it.each([
      ['of an owner', { owner_id: 'carla' }],
      ['in a state', { status: 'pending_approval' }],
      ['in a state that none has', { status: 'approved' }],
      ['of an owner in a final state', { owner_id: 'anna', status: 'canceled' }],
      ['of an owner that expired by the clock', { owner_id: 'anna', status: 'expired' }],
    ] as const)(
      'A page of outreach requests reads at most two pages of rows for those %s',
      async (_what, filter) => {
        const { readModels, rows } = counting(store);
        await readRequests(readModels, { ...filter, limit: LIMIT }, { at: MIDNIGHT + 2, pages: 1 });
        expect(rows()).toBeLessThanOrEqual(TWO_PAGES);
      },
    );
  },
);

describe.each([100, 20_000])('Of %d links, a page reads at most two pages of rows', (count) => {
  const store = memoryStore();
  const given = Array.from({ length: count }, (_, n) =>
    linkCreated(`${n}`, {
      external_id: `own-${n}`,
      dims: { campaign: n % 20 === 3 ? 'rare' : 'often' },
    }),
  ).concat(linkDisabled('7'), linkDisabled('9'));
  beforeAll(() => foldInto(store, given, { atOnce: 1_000 }));

  it.each([
    ['of the owner', {}, LIMIT],
    ['of a campaign', { campaign: 'rare' }, 5],
    ['with an external_id', { external_id: 'own-7' }, 1],
    ['with a word', { text: 'rare' }, 5],
    ['that are disabled', { state: 'disabled' }, 2],
    ['that changed', { updated_since: iso(MIDNIGHT) }, LIMIT],
  ] as const)(
    'A page of list_records reads at most two pages of rows for links %s',
    async (_what, filter, least) => {
      const { readModels, rows } = counting(store);
      const deps = {
        readModels,
        following: { asOf: () => ({ position: 1, at: MIDNIGHT }) },
        catalog: { byId: () => new Map() },
        secrets: { mac: () => 'mac' },
        clock: { now: () => MIDNIGHT },
      };
      const call = {
        caller: { agentId: 'agt_1', scopes: new Set(['links:write']) },
        ownerId: 'anna',
        at: MIDNIGHT,
      };
      const input = { kind: 'link' as const, limit: LIMIT, ...filter };
      const outcome = await listRecords(deps as never, input, call as never);
      if (!outcome.ok) throw new Error(outcome.detail);
      expect(outcome.value.data.length).toBeGreaterThanOrEqual(least);
      expect(rows()).toBeLessThanOrEqual(TWO_PAGES);
    },
  );

  it.each([0, 0.5, 0.9])(
    'A page of changes reads one row more than it has, and their streams, after %d of them',
    async (share) => {
      const { readModels, rows } = counting(store);
      const streams: string[] = [];
      const log = {
        async readStream(stream: string) {
          streams.push(stream);
          const position = Number(stream.slice('anna-link_'.length)) + 1;
          const [event] = inLog(given.slice(position - 1, position), position);
          return [{ ...event, meta: { at: MIDNIGHT } }];
        },
      };
      const deps = { readModels, log, following: { asOf: () => ({ position: 1, at: MIDNIGHT }) } };
      const viewer = { isLinkShown: true } as never;
      const page = { after: Math.floor(share * count), limit: 5 };
      const { data } = await readChanges(deps as never, { ownerId: 'anna', viewer }, page);
      expect(data).toHaveLength(5);
      expect(rows()).toBeLessThanOrEqual(100);
      expect(streams.length).toBeLessThanOrEqual(100);
    },
  );
});
