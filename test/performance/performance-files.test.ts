/** Performance as a file: complete, or a page that names the next one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { getPerformance as contract } from '#contracts/performance/operations.ts';
import { type Metric, METRICS } from '#contracts/performance/records.ts';
import { getPerformance, type PerformanceDeps } from '#src/performance/get-performance.ts';
import { fileOf } from '#src/interfaces/rest/routes.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { factsOf } from '../support/oracle/facts.ts';

const V1 = '/api/affiliate/v1';
const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 Chrome/140 Safari/537.36';
const DAY_MS = 86_400_000;
const LINKS = 21;
const DAYS = 20;
const ASKED = `${V1}/performance?from=2026-11-01&to=2026-11-20&group_by=link_id`;
const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

let app: TestApp;
let key: string;
let agentId: string;

beforeAll(async () => {
  app = await testApp({}, { start: '2026-11-01T10:00:00Z' });
  ({ key, agentId } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1')]);
  const codes: string[] = [];
  for (let i = 0; i < LINKS; i += 1) {
    const link = await app.send({
      method: 'POST',
      url: `${V1}/links`,
      key,
      payload: { target: { kind: 'product', ref: 'MUG-1' } },
      headers: { 'idempotency-key': freshKey() },
    });
    codes.push((link.body as { code: string }).code);
  }
  for (let day = 0; day < DAYS; day += 1) {
    for (const code of codes)
      await app.send({ method: 'GET', url: `/l/${code}`, headers: { 'user-agent': BROWSER } });
    app.clock.advance(DAY_MS);
  }
});
afterAll(() => app.close());

const ask = (url: string, accept: string) =>
  app.send({ method: 'GET', url, key, headers: { accept } });

/** The rows of a CSV file, as objects by column name. */
const rowsIn = (text: string): Record<string, string>[] => {
  const [head = '', ...lines] = text.trimEnd().split('\r\n');
  const names = head.split(',');
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((value, i) => [names[i] ?? '', value])),
  );
};
const clicksIn = (rows: Record<string, string>[]): number =>
  rows.reduce((sum, row) => sum + Number(row['clicks_raw']), 0);

describe('A CSV file for Excel', () => {
  const MARK = '\ufeff';

  it.each([
    ['by the query', `${ASKED}&excel=1`, CSV],
    ['by its media type', ASKED, `${CSV}; excel=1`],
    ['by its media type among others', ASKED, `${NDJSON};q=0.1, ${CSV};q=0.9;excel=1`],
  ])(
    'A CSV file for Excel begins with a byte-order mark when it is asked for %s',
    async (_how, url, accept) => {
      const plain = await ask(ASKED, CSV);
      expect(plain.text.startsWith(MARK)).toBe(false);
      const marked = await ask(url, accept);
      expect(marked.headers['content-type']).toBe('text/csv; charset=utf-8');
      expect(marked.text).toBe(MARK + plain.text);
    },
  );

  it('A CSV file for Excel is the only answer with a byte-order mark, and its next page also has one', async () => {
    for (const accept of ['application/json', NDJSON])
      expect((await ask(`${ASKED}&excel=1`, accept)).text.startsWith(MARK)).toBe(false);
    expect((await ask(`${ASKED}&excel=0`, CSV)).text.startsWith(MARK)).toBe(false);
    const page = await ask(`${ASKED}&excel=1&limit=2`, CSV);
    const next = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1] ?? '';
    expect((await ask(next, CSV)).text.startsWith(MARK)).toBe(true);
  });
});

describe('A performance file without limit and cursor', () => {
  it('A performance file without limit and cursor contains every row, so that the rows add up to the totals of the JSON answer', async () => {
    const { body } = await ask(ASKED, 'application/json');
    const { totals, data } = body as { totals: Record<string, number>; data: object[] };
    expect(data).toHaveLength(LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT);
    expect(totals['clicks_raw']).toBe(LINKS * DAYS);
    const csv = await ask(ASKED, CSV);
    expect(csv.headers['link']).toBeUndefined();
    const rows = rowsIn(csv.text);
    expect(rows).toHaveLength(LINKS * DAYS);
    for (const name of METRICS)
      expect(
        rows.reduce((sum, row) => sum + Number(row[name]), 0),
        name,
      ).toBe(totals[name]);
    const ndjson = await ask(ASKED, NDJSON);
    const lines = ndjson.text.trimEnd().split('\n');
    expect(lines).toHaveLength(LINKS * DAYS);
    expect(lines.slice(0, data.length).map((line) => JSON.parse(line) as object)).toEqual(data);
  });

  it('A performance file without limit and cursor is one call for the audit record and the rate limit', async () => {
    await app.service.deps.audit.flush();
    const entries = async () => {
      const { body } = await app.desk('GET', '/events?owner_id=acme&limit=1000');
      const { data } = body as {
        data: { type: string; data: { agent_id: string; entries: { count: number }[] } }[];
      };
      return data
        .filter(
          ({ type, data: { agent_id } }) => type === 'ActivityRecorded' && agent_id === agentId,
        )
        .flatMap((event) => event.data.entries)
        .reduce((sum, { count }) => sum + count, 0);
    };
    const before = await entries();
    const left = async () =>
      Number(/r=(\d+)/.exec((await ask(ASKED, CSV)).headers['ratelimit'] ?? '')?.[1]);
    const first = await left();
    expect(await left()).toBeGreaterThanOrEqual(first - 1);
    await app.service.deps.audit.flush();
    expect(await entries()).toBe(before + 2);
  });
});

describe('A performance file with limit or cursor', () => {
  it('A performance file with limit or cursor is one page whose Link header names the next one', async () => {
    let clicks = 0;
    const sizes: number[] = [];
    for (let next: string | undefined = `${ASKED}&limit=150`; next !== undefined; ) {
      const page = await ask(next, CSV);
      expect(page.status).toBe(200);
      const rows = rowsIn(page.text);
      sizes.push(rows.length);
      clicks += clicksIn(rows);
      next = /^<([^>]+)>; rel="next"$/.exec(page.headers['link'] ?? '')?.[1];
    }
    expect(sizes).toEqual([150, 150, 120]);
    expect(clicks).toBe(LINKS * DAYS);
    const { body } = await ask(`${ASKED}&limit=10`, 'application/json');
    const { next_cursor } = (body as { page: { next_cursor: string } }).page;
    const rest = await ask(`${ASKED}&cursor=${next_cursor}`, CSV);
    expect(rowsIn(rest.text)).toHaveLength(LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT);
    expect(rest.headers['link']).toContain('rel="next"');
  });
});

describe('A cell of a CSV file', () => {
  const cellOf = async (campaign: string): Promise<string> => {
    const metrics = {
      ...(Object.fromEntries(METRICS.map((name) => [name, 0])) as Record<Metric, number>),
      rfq_value: [],
      won_value: [],
    };
    const rows = [{ bucket_start: '2026-11-01', dimensions: { campaign }, metrics }];
    const text = await fileOf(CSV, { value: {}, rows }, { group_by: ['campaign'] });
    return text.split('\r\n')[1]?.split(',')[1] ?? '';
  };

  it.each([
    '=1+1',
    '+1',
    '-1',
    '@A1',
    '\t=1',
    ' =1',
    '\u00a0=1',
    '\u3000＝1',
    '＝1',
    '＋1',
    '－1',
    '＠A1',
  ])('A CSV cell gets an apostrophe when a spreadsheet could run its text: %j', async (text) => {
    expect(await cellOf(text)).toBe(`'${text}`);
  });

  it.each(['a=1', ' spring', '1-2', '１＋１', ''])(
    'A CSV cell is written as it is otherwise: %j',
    async (text) => {
      expect(await cellOf(text)).toBe(text);
    },
  );
});

describe('A performance file of very many rows', () => {
  const fileWith = async (count: number, parameters: object = {}) => {
    const records = Array.from({ length: count }, (_, i) => ({
      day: 20_000,
      dims: { link_id: `lnk_${i}` },
      cells: { '48|GB': [1] },
    }));
    const deps = {
      following: { asOf: () => ({ position: 1, at: 0 }) },
      facts: { read: async () => factsOf(records) },
      secrets: { mac: () => 'm'.repeat(32) },
      clock: { now: () => 0 },
      classifierVersion: 1,
    };
    const days = { from: '2024-10-04', to: '2024-10-04' };
    const input = contract.input.parse({ ...days, group_by: ['link_id'], ...parameters });
    const call = { caller: { ownerId: 'acme' }, at: 0, file: true };
    return getPerformance(deps as unknown as PerformanceDeps, input, call as never);
  };

  it('A performance file of very many rows is refused above the maximum of rows with advice on what to narrow', async () => {
    const most = LIMITS.PERFORMANCE_FILE_ROWS_MAX;
    const refused = await fileWith(most + 1);
    expect(refused).toMatchObject({ ok: false, code: 'answer_too_large' });
    expect(contract.problems).toContain('answer_too_large');
    const { detail } = refused as { detail: string };
    for (const name of [most + 1, most, 'from', 'granularity', 'group_by', 'limit', 'cursor'])
      expect(detail).toContain(String(name));
    expect(await fileWith(most + 1, { limit: 1_000 })).toMatchObject({ ok: true });
    expect(await fileWith(most)).toMatchObject({ ok: true });
  });

  it('A performance file of very many rows yields while it is written, so that other requests are answered meanwhile', async () => {
    const outcome = await fileWith(20_000);
    if (!outcome.ok) throw new Error(outcome.detail);
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    const text = await fileOf(NDJSON, outcome, {});
    over = true;
    expect(text.split('\n')).toHaveLength(20_001);
    expect(turns).toBeGreaterThan(5);
  });
});
