import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { verifies } from '../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 Chrome/140 Safari/537.36';
let app: TestApp;
let key: string;
const codes: string[] = [];

const post = (path: string, payload: object) =>
  app.send({
    method: 'POST',
    url: V1 + path,
    key,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const visit = (code: string, remoteAddress: string, agent = BROWSER, more = {}) =>
  app.send({
    method: 'GET',
    url: `/l/${code}`,
    remoteAddress,
    ...more,
    headers: { 'user-agent': agent, ...(more as { headers?: object }).headers },
  });

type Answer = {
  data: {
    bucket_start: string;
    dimensions: Record<string, string>;
    metrics: Record<string, number>;
    comparison?: Record<string, number>;
  }[];
  totals: Record<string, number>;
  as_of: { position: number };
  period: object;
  page: { next_cursor: string | null };
};
const ask = async (query: string): Promise<Answer> =>
  (await app.send({ method: 'GET', url: `${V1}/performance?${query}`, key })).body;

beforeAll(async () => {
  app = await testApp({}, { start: '2026-10-31T22:30:00Z' });
  key = (await app.agent('acme')).key;
  await app.publish([feedProduct('MUG-1')]);
  for (const campaign of ['=HYPERLINK("x")', 'plain']) {
    const link = await post('/links', {
      target: { kind: 'product', ref: 'MUG-1' },
      campaign,
      channel: 'email',
    });
    codes.push((link.body as { code: string }).code);
  }
  const [first = '', second = ''] = codes;
  await visit(first, '10.0.0.1');
  await visit(first, '10.0.0.1');
  await visit(first, '10.0.0.2');
  await visit(first, '10.0.0.3', 'Slackbot-LinkExpanding 1.0');
  await visit(first, '10.0.0.4', '');
  await visit(first, '10.0.0.5', BROWSER, { method: 'HEAD' });
  await visit(first, '10.0.0.6', BROWSER, { headers: { 'sec-purpose': 'prefetch' } });
  app.clock.set(Date.parse('2026-11-01T00:10:00Z'));
  await visit(second, '10.0.0.1');
});
afterAll(() => app.close());

describe('getPerformance', () => {
  it('`getPerformance` counts raw, valid and unique clicks separately', async () => {
    verifies('resources.performance');
    const { totals } = await ask('from=2026-10-31&to=2026-11-01');
    expect(totals).toMatchObject({
      clicks_raw: 8,
      clicks_valid: 4,
      clicks_unique: 3,
    });
  });

  it("`getPerformance` divides days by the query's time zone", async () => {
    const utc = await ask('from=2026-10-31&to=2026-11-01');
    expect(
      utc.data.map(({ bucket_start, metrics }) => [bucket_start, metrics['clicks_raw']]),
    ).toEqual([
      ['2026-10-31', 7],
      ['2026-11-01', 1],
    ]);
    const kolkata = await ask('from=2026-10-31&to=2026-11-01&time_zone=Asia/Kolkata');
    expect(kolkata.data.map(({ metrics }) => metrics['clicks_raw'])).toEqual([0, 8]);
    const newYork = await ask('from=2026-10-31&to=2026-11-01&time_zone=America/New_York');
    expect(newYork.data.map(({ metrics }) => metrics['clicks_raw'])).toEqual([8, 0]);
  });

  it('`getPerformance` groups by weeks from Monday, by months and in total', async () => {
    const weeks = await ask('from=2026-10-26&to=2026-11-08&granularity=week');
    expect(weeks.data.map(({ bucket_start }) => bucket_start)).toEqual([
      '2026-10-26',
      '2026-11-02',
    ]);
    const months = await ask('from=2026-10-01&to=2026-11-30&granularity=month');
    expect(
      months.data.map(({ bucket_start, metrics }) => [bucket_start, metrics['clicks_raw']]),
    ).toEqual([
      ['2026-10-01', 7],
      ['2026-11-01', 1],
    ]);
    const total = await ask('from=2026-10-01&to=2026-11-30&granularity=total');
    expect(total.data).toHaveLength(1);
  });

  it('`getPerformance` groups by two dimensions and filters', async () => {
    const { data } = await ask(
      'from=2026-10-31&to=2026-11-01&granularity=total&group_by=campaign,channel',
    );
    expect(
      data.map(({ dimensions, metrics }) => [dimensions['campaign'], metrics['clicks_raw']]),
    ).toEqual([
      ['=HYPERLINK("x")', 7],
      ['plain', 1],
    ]);
    const { totals } = await ask('from=2026-10-31&to=2026-11-01&campaign=plain');
    expect(totals['clicks_raw']).toBe(1);
  });

  it('`getPerformance` compares each bucket with the previous period', async () => {
    const { data } = await ask('from=2026-11-01&to=2026-11-01&compare_to=previous_period');
    expect(data[0]).toMatchObject({ metrics: { clicks_raw: 1 }, comparison: { clicks_raw: 7 } });
  });

  it('`getPerformance` has a row for a group that only the previous period has', async () => {
    const request = 'from=2026-11-01&to=2026-11-01&compare_to=previous_period&group_by=campaign';
    const { data } = await ask(request);
    expect(
      data.map(({ dimensions, metrics, comparison }) => [
        dimensions['campaign'],
        metrics['clicks_raw'],
        comparison?.['clicks_raw'],
      ]),
    ).toEqual([
      ['=HYPERLINK("x")', 0, 7],
      ['plain', 1, 0],
    ]);
  });

  it('`getPerformance` answers as of a position of the log', async () => {
    const before = await ask('from=2026-10-31&to=2026-11-01');
    const [first = ''] = codes;
    await visit(first, '10.0.0.9');
    const now = await ask('from=2026-10-31&to=2026-11-01');
    expect(now.totals['clicks_raw']).toBe(9);
    const then = await ask(`from=2026-10-31&to=2026-11-01&as_of=${before.as_of.position}`);
    expect(then.totals).toEqual(before.totals);
    const later = await app.send({ method: 'GET', url: `${V1}/performance?as_of=99999999`, key });
    expect(later).toMatchObject({ status: 400, body: { errors: [{ pointer: '/as_of' }] } });
  });

  it('`getPerformance` writes NDJSON, and CSV without cells that a spreadsheet would execute', async () => {
    const url = `${V1}/performance?from=2026-10-31&to=2026-11-01&granularity=total&group_by=campaign`;
    const csv = await app.send({ method: 'GET', url, key, headers: { accept: 'text/csv' } });
    expect(csv.headers['content-type']).toContain('text/csv');
    const [header = '', row = ''] = csv.text.split('\r\n');
    expect(header).toMatch(/^bucket_start,campaign,clicks_raw,/);
    expect(row).toContain(`"'=HYPERLINK(""x"")"`);
    const ndjson = await app.send({
      method: 'GET',
      url,
      key,
      headers: { accept: 'application/x-ndjson' },
    });
    expect(
      ndjson.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toHaveLength(2);
    const odd = await app.send({ method: 'GET', url, key, headers: { accept: 'image/png' } });
    expect(odd).toMatchObject({ status: 406, body: { code: 'not_acceptable' } });
  });

  it('`getPerformance` writes the same file header when there are no rows', async () => {
    const csv = async (query: string) => {
      const url = `${V1}/performance?granularity=total&group_by=campaign,country&${query}`;
      return (await app.send({ method: 'GET', url, key, headers: { accept: 'text/csv' } })).text;
    };
    const never = 'from=2001-01-01&to=2001-01-02&compare_to=previous_period';
    const header = await csv(never);
    expect(header).toMatch(
      /^bucket_start,campaign,country,clicks_raw,.*,comparison_won_value\r\n$/,
    );
    const then = 'from=2026-10-01&to=2026-11-30&compare_to=previous_period';
    expect((await csv(then)).split('\r\n')[0]).toBe(header.trimEnd());
  });

  it('`getPerformance` repeats no row when another row is added between two pages', async () => {
    const request = 'from=2026-10-31&to=2026-11-02&granularity=total&group_by=campaign&limit=1';
    const first = await ask(request);
    const { body } = await post('/links', {
      target: { kind: 'product', ref: 'MUG-1' },
      campaign: '!new',
    });
    await visit((body as { code: string }).code, '10.0.0.1');
    const second = await ask(`${request}&cursor=${first.page.next_cursor}`);
    const campaigns = [first, second].map(({ data }) => data[0]?.dimensions['campaign']);
    expect(campaigns).toEqual(['=HYPERLINK("x")', 'plain']);
    expect((await ask(request)).data[0]?.dimensions['campaign']).toBe('!new');
    expect(second.page.next_cursor).toBeNull();
  });

  it('`getPerformance` keeps the days of the first page on later pages, even after midnight', async () => {
    app.clock.set(Date.parse('2026-11-01T23:59:00Z'));
    const first = await ask('limit=20');
    app.clock.set(Date.parse('2026-11-02T00:01:00Z'));
    const second = await ask(`limit=5&cursor=${first.page.next_cursor}`);
    const third = await ask(`limit=20&cursor=${second.page.next_cursor}`);
    for (const { period } of [second, third]) expect(period).toEqual(first.period);
    const days = [first, second, third].flatMap(({ data }) => data.map((row) => row.bucket_start));
    expect(days).toHaveLength(30);
    expect([days[0], new Set(days).size, days.at(-1)]).toEqual(['2026-10-03', 30, '2026-11-01']);
  });

  it('`getPerformance` pages through rows and refuses parameters that are not valid', async () => {
    const first = await ask('from=2026-10-01&to=2026-10-31&limit=20');
    expect(first.data).toHaveLength(20);
    const second = await ask(
      `from=2026-10-01&to=2026-10-31&limit=20&cursor=${first.page.next_cursor}`,
    );
    expect(second.data).toHaveLength(11);
    for (const query of [
      'time_zone=Mars/Base',
      'from=2026-11-02&to=2026-11-01',
      'from=2020-01-01',
      'group_by=a,b',
    ])
      expect(
        (await app.send({ method: 'GET', url: `${V1}/performance?${query}`, key })).status,
      ).toBe(400);
  });
});

describe('A visit', () => {
  it('A visit stores neither addresses nor user agents', async () => {
    const { text } = await app.desk('GET', '/events?owner_id=acme&limit=1000');
    expect(text).toContain('VisitRecorded');
    expect(text).not.toContain('10.0.0.');
    expect(text).not.toContain('Mozilla');
  });
});
