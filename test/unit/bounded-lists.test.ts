/** How often a list reads its store, regardless of the length of the history. */
import { describe, expect, it } from 'vitest';
import { nameOf } from '#src/app/events/hash.ts';
import { issueKey } from '#src/app/access/keys.ts';
import { listHistory } from '#src/app/events/list-history.ts';
import { listLeads } from '#src/app/leads/list-leads.ts';
import { everyPage } from '#src/app/read-models/listing.ts';
import type { ListQuery } from '#src/ports/read-model.ts';
import { historyBlockOf } from '#src/ports/rows.ts';

const EVENTS = 20_000;

/** The history of an owner with each n-th event of a log whose events are `size` positions long. */
const historyOf = (size: number, nth = 1) => {
  const blocks = new Map<number, (number | string)[]>();
  for (let i = 1; i <= EVENTS; i++) {
    const position = i * size * nth;
    const entries = blocks.get(historyBlockOf(position)) ?? [];
    blocks.set(historyBlockOf(position), entries);
    entries.push(position, i, 'VisitRecorded', 1, 'acme-visits_1');
  }
  const rows = [...blocks]
    .map(([block, entries]) => ({ sort: block, key: String(block), row: { block, entries } }))
    .toReversed();
  let reads = 0;
  const list = async (_name: string, { before = Infinity, limit }: ListQuery) => {
    reads += 1;
    return rows.filter(({ sort }) => sort < before).slice(0, limit);
  };
  const deps = { following: { asOf: () => ({ position: 1, at: 1 }) }, readModels: { list } };
  const page = async (at: { before?: number; as_of?: number }) => {
    reads = 0;
    const call = { caller: { roles: new Set(['staff']) } };
    const input = { owner_id: 'acme', limit: 100, ...at };
    const outcome = await listHistory(deps as never, input, call as never);
    if (!outcome.ok) throw new Error(outcome.detail);
    const { data, next_before } = outcome.value;
    return { revisions: data.map(({ revision }) => revision), next_before, asked: reads };
  };
  return { page, last: EVENTS * size * nth };
};

describe('A page of the history', () => {
  it.each([
    ['numbers', 1, 1],
    ['numbers, among many owners', 1, 1_000],
    ['bytes', 900, 1],
  ])(
    'starts at the requested place and reads at most three times when positions are %s',
    async (_what, size, nth) => {
      const { page, last } = historyOf(size, nth);
      const downFrom = (revision: number) => Array.from({ length: 100 }, (_, i) => revision - i);
      const each = last / EVENTS;
      for (const from of [EVENTS, 10_000, 101]) {
        const revisions = downFrom(from);
        const next_before = (from - 99) * each;
        for (const at of [{ before: (from + 1) * each }, { as_of: from * each }])
          expect(await page(at)).toMatchObject({ revisions, next_before });
        expect((await page({ before: (from + 1) * each })).asked).toBeLessThanOrEqual(3);
      }
      expect((await page({})).revisions).toEqual(downFrom(EVENTS));
      expect(await page({ before: 2 * each })).toMatchObject({ revisions: [1], next_before: null });
      expect(await page({ before: 1 })).toMatchObject({ revisions: [], next_before: null });
    },
  );
});

describe('The keys of an agent', () => {
  it('are counted regardless of how many other keys the owner has', async () => {
    const keys = (count: number, status: string) =>
      Array.from({ length: count }, () => ({ agent_id: 'agt_1', environment: 'live', status }));
    const rows = [...keys(12_000, 'revoked'), ...keys(2, 'active')].map((key, i) => ({
      sort: 20_000 - i,
      key: `${i}`,
      row: { ...key, key_id: `${i}`, last4: 'wxyz', expires_at: 10 },
    }));
    const list = async (_name: string, { before = Infinity, limit }: ListQuery) =>
      rows.filter(({ sort }) => sort < before).slice(0, limit);
    const agent = { agent_id: 'agt_1', owner: 'acme', status: 'approved' };
    const deps = { credentials: { agent: () => agent }, readModels: { list } };
    const input = { agent_id: 'agt_1', environment: 'live', expires_in_days: 1 };
    const call = { caller: { roles: new Set(['owner']) }, at: 0 };
    expect(await issueKey(deps as never, input as never, call as never)).toMatchObject({
      code: 'state_conflict',
      detail: expect.stringContaining('12000 (…wxyz, active) and 12001 (…wxyz, active)'),
    });
  });
});

describe('All pages of a list of the desk', () => {
  it('are read from the first to the last', async () => {
    const requests: unknown[] = [];
    const all = await everyPage(async (before = 6) => {
      requests.push(before);
      const data = [before - 1, before - 2];
      return { data, next_before: before > 2 ? before - 2 : null, as_of: before };
    });
    expect(all).toEqual({ data: [5, 4, 3, 2, 1, 0], next_before: null, as_of: 2 });
    expect(requests).toEqual([6, 4, 2]);
  });
});

describe('A list of leads by external_id', () => {
  it('reads one row, because the external_id determines the id of the lead', async () => {
    const key = `led_${nameOf('lead', 'acme', 'FIRST')}`;
    const gets: unknown[] = [];
    const deps = {
      following: { asOf: () => ({ position: 1, at: 1 }) },
      readModels: { get: async (...args: unknown[]) => void gets.push(args) },
    };
    const caller = { ownerId: 'acme' };
    const input = { external_id: 'FIRST', limit: 20 };
    const outcome = await listLeads(deps as never, input, { caller, at: 0 } as never);
    expect(outcome).toMatchObject({
      value: { data: [], page: { has_more: false, next_cursor: null } },
    });
    expect(gets).toEqual([['leads', 'acme', key]]);
  });
});
