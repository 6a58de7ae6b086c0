/** How often a list reads its store, regardless of the length of the history. */
import { describe, expect, it } from 'vitest';
import { nameOf } from '#src/writing/streams.ts';
import { issueKey } from '#src/access/keys.ts';
import { listHistory } from '#src/audits/read-events.ts';
import { listLeads } from '#src/leads/list-leads.ts';
import { everyPage } from '#src/reading/lists.ts';
import type { ListQuery } from '#src/ports/read-model.ts';
import { EVENTS_PER_HISTORY_ROW, type HistoryRow, NEWEST_HISTORY } from '#src/ports/rows.ts';

/** Not a multiple of the events in a row. */
const EVENTS = 20_005;

/** The history of an owner whose events are `size` positions apart. */
const historyOf = (size: number) => {
  const events = Array.from({ length: EVENTS }, (_, i) => {
    return [(i + 1) * size, i + 1, 'VisitRecorded', 1, 'acme-visits_1'];
  });
  const rowFrom = (at: number): HistoryRow => ({
    entries: events.slice(at, at + EVENTS_PER_HISTORY_ROW).flat(),
  });
  const whole = Math.floor(EVENTS / EVENTS_PER_HISTORY_ROW);
  const rows = Array.from({ length: whole }, (_, i) => {
    const row = rowFrom(i * EVENTS_PER_HISTORY_ROW);
    return { sort: Number(row.entries[0]), key: `${i}`, row };
  }).toReversed();
  const newest = rowFrom(whole * EVENTS_PER_HISTORY_ROW);
  let rowsRead = 0;
  const list = async (_name: string, { before = Infinity, limit }: ListQuery) => {
    const found = rows.filter(({ sort }) => sort < before).slice(0, limit);
    rowsRead += found.length;
    return found;
  };
  const get = async (_name: string, _scope: string, key: string) =>
    key === NEWEST_HISTORY ? newest : undefined;
  const deps = { following: { asOf: () => ({ position: 1, at: 1 }) }, readModels: { get, list } };
  const page = async (at: { before?: number; as_of?: number }) => {
    rowsRead = 0;
    const call = { caller: { roles: new Set(['staff']) } };
    const input = { owner_id: 'acme', limit: 100, ...at };
    const outcome = await listHistory(deps as never, input, call as never);
    if (!outcome.ok) throw new Error(outcome.detail);
    const { data, next_before } = outcome.value;
    return { revisions: data.map(({ revision }) => revision), next_before, rowsRead };
  };
  return { page };
};

describe('A page of the history', () => {
  it.each([
    ['one', 1],
    ['a thousand', 1_000],
  ])(
    'A page of the history starts at the requested place and reads 8 rows when events are %s positions apart',
    async (_what, size) => {
      const { page } = historyOf(size);
      const downFrom = (revision: number) => Array.from({ length: 100 }, (_, i) => revision - i);
      for (const from of [EVENTS, 10_000, 101]) {
        const revisions = downFrom(from);
        const next_before = (from - 99) * size;
        for (const at of [{ before: (from + 1) * size }, { as_of: from * size }])
          expect(await page(at)).toMatchObject({ revisions, next_before });
        expect((await page({ before: (from + 1) * size })).rowsRead).toBeLessThanOrEqual(8);
      }
      expect((await page({})).revisions).toEqual(downFrom(EVENTS));
      expect(await page({ before: 2 * size })).toMatchObject({ revisions: [1], next_before: null });
      expect(await page({ before: 1 })).toMatchObject({ revisions: [], next_before: null });
    },
  );
});

describe('The keys of an agent', () => {
  it("An agent's keys are counted regardless of how many other keys the owner has", async () => {
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
  it('All pages of a list of the desk are read from the first to the last', async () => {
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
  it('A list of leads by external_id reads one row, because the external_id determines the id of the lead', async () => {
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
