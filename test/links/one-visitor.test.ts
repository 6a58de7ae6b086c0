/** Who is one visitor of a link: an address and a user agent, and one for clicks of one address that are close together. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentOperations } from '#contracts/registries/agents.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink } from '../support/world/links.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

type Click = { address?: string; agent?: string; afterS?: number; method?: 'GET' | 'HEAD' };

/** Clicks on a new link, one after another; resolves to the names of the visitors. */
const clicksOn = async (code: string, clicks: readonly Click[]): Promise<string[]> => {
  for (const { address = '192.0.2.1', agent = BROWSER, afterS = 0, method = 'GET' } of clicks) {
    app.clock.advance(afterS * SECOND_MS);
    const headers = { 'user-agent': agent };
    const { status } = await app.send({
      method,
      url: `/l/${code}`,
      headers,
      remoteAddress: address,
    });
    expect(status).toBe(302);
  }
  const { log } = app.service.deps;
  const events = await log.readAll({ after: 0, limit: 100_000, types: ['VisitRecorded'] });
  return events.slice(-clicks.length).map(({ data }) => (data as { visitor: string }).visitor);
};
const visitorsOf = async (clicks: readonly Click[]): Promise<number> => {
  const { code } = await createShortLink(app, key, { target: { kind: 'search', ref: 'mug' } });
  return new Set(await clicksOn(code, clicks)).size;
};
const other = (n: number): string => `${BROWSER} Edition/${n}`;
const agents = (count: number, click: (n: number) => Click = () => ({})): Click[] =>
  Array.from({ length: count }, (_, n) => ({ agent: other(n % 40), ...click(n) }));

it.each<[string, number, Click[]]>([
  ['100 clicks with 40 user agents', 1, agents(100)],
  ['100 clicks with 40 user agents, one in ten seconds', 1, agents(100, () => ({ afterS: 10 }))],
  ['clicks of one IPv6 network', 1, agents(9, (n) => ({ address: `2001:db8::${n + 1}` }))],
  ['a request of a program before the click', 1, [{ method: 'HEAD' }, { agent: other(1) }]],
  ['the same browser after hours', 1, [{}, { afterS: 7_200 }]],
  ['another browser after a minute', 2, [{}, { agent: other(1), afterS: 60 }]],
  ['clicks of 9 addresses', 9, agents(9, (n) => ({ address: `192.0.2.${n + 1}` }))],
])("A short link's visitors: %s are counted as %i", async (_name, count, clicks) => {
  expect(await visitorsOf(clicks)).toBe(count);
});

it('Clicks that are close together have one name on one link and one day only', async () => {
  const links = [];
  for (const ref of ['mug', 'pen'])
    links.push(await createShortLink(app, key, { target: { kind: 'search', ref } }));
  const [mug = { code: '' }, pen = { code: '' }] = links;
  app.clock.set(Date.parse('2026-12-01T23:59:50Z'));
  const [first] = await clicksOn(mug.code, [{}]);
  const [elsewhere] = await clicksOn(pen.code, [{ agent: other(1) }]);
  const [tomorrow] = await clicksOn(mug.code, [{ agent: other(2), afterS: 15 }]);
  expect(new Set([first, elsewhere, tomorrow]).size).toBe(3);
});

it('getPerformance counts them once, and says with its version since when', async () => {
  const { code, id } = await createShortLink(app, key, { target: { kind: 'search', ref: 'cup' } });
  app.clock.advance(HOUR_MS);
  await clicksOn(code, agents(100));
  const { following, log } = app.service.deps;
  await following.passed((await log.head()).position, HOUR_MS);
  const day = new Date(app.clock.now()).toISOString().slice(0, 10);
  const { body } = await app.send({
    method: 'GET',
    url: `/api/affiliate/v1/performance?link_id=${id}&from=${day}&to=${day}`,
    key,
  });
  expect(body).toMatchObject({
    totals: { clicks_raw: 100, clicks_valid: 100, clicks_unique: 1 },
    classifier_version: 2,
  });
  const { classifier_version: version } = agentOperations.getPerformance.output.shape;
  expect(version.meta()?.description).toMatch(/\b2 since 2026-11-28/);
});
