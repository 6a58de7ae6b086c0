/** The weight of the demo's pages, for everybody who opens one: what a browser loads at the first visit. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#src/config.ts';
import { ROOT, demoClock } from '#src/demo/cast.ts';
import { Player } from '#src/demo/player.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { systemClock } from '#src/system/ids.ts';
import { directories } from '../support/processes/directories.ts';
import { openService } from '../support/world/open-service.ts';

const BYTES_MAX = 60_000;
const HOST = 'localhost';
/** Pages that one person is followed to. */
const PAGES_MAX = 150;

const directory = directories('tributary-pages-');
type Service = Awaited<ReturnType<typeof openService>>;
let service: Service;
let review: string | undefined;

beforeAll(async () => {
  const data = directory.fresh();
  const env = { LOG_LEVEL: 'error', ADMISSION_WAIT_MS: '30000', PUBLIC_URL: `http://${HOST}` };
  const config = { ...readConfig(env), dataDirectory: data };
  const clock = demoClock(systemClock());
  service = await openService(config, { clock, onLog: clock.begin });
  review = (await ensureDemo(service, clock))?.review_path;
});
afterAll(async () => {
  await service?.close();
  directory.removeAll();
});

let addresses = 0;
/** Loads an address as a browser does, each time from another network, which has no limit yet. */
const load = async (url: string, cookie: string | undefined, method: 'GET' | 'POST' = 'GET') => {
  addresses += 1;
  const response = await service.server.inject({
    method,
    url,
    remoteAddress: `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`,
    headers: {
      host: HOST,
      accept: 'text/html',
      'accept-encoding': 'br, gzip',
      ...(cookie && { cookie }),
      ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
  });
  return response;
};
const sizes = new Map<string, number>();
const sizeOf = async (asset: string): Promise<number> => {
  const known = sizes.get(asset) ?? (await load(asset, undefined)).rawPayload.length;
  sizes.set(asset, known);
  return known;
};

/** The text of a page, whatever its encoding on the wire was. */
const textOf = async (url: string, cookie: string | undefined): Promise<string> =>
  (
    await service.server.inject({
      url,
      remoteAddress: `10.200.${addresses >> 8}.${addresses & 255}`,
      headers: { host: HOST, accept: 'text/html', ...(cookie && { cookie }) },
    })
  ).body;

const unescaped = (text: string): string => text.replaceAll('&amp;', '&');
const LEADS = /href="(\/[^"#]*)/g;
const ASSETS = /(?:src|href)="(\/assets\/[^"]+)"/g;
/** Pages that differ in ids and texts of the query only are one. */
const shapeOf = (url: string): string =>
  url.replaceAll(/_[0-9a-z]{20,}/g, '_').replaceAll(/=[^&]*/g, '=');

/** The heaviest pages that lead from one to the other, with their bytes. */
const weigh = async (start: string, cookie?: string): Promise<Map<string, number>> => {
  const weights = new Map<string, number>();
  const seen = new Set<string>();
  const next = [start];
  for (const url of next) {
    if (weights.size >= PAGES_MAX || seen.has(shapeOf(url))) continue;
    seen.add(shapeOf(url));
    const response = await load(url, cookie);
    const to = response.headers.location;
    if (to !== undefined) next.push(to.replace(`http://${HOST}`, ''));
    if (!String(response.headers['content-type']).startsWith('text/html')) continue;
    const text = await textOf(url, cookie);
    const assets = new Set([...text.matchAll(ASSETS)].map(([, asset = '']) => unescaped(asset)));
    let bytes = response.rawPayload.length;
    for (const asset of assets) bytes += await sizeOf(asset);
    weights.set(url, bytes);
    for (const [, href = ''] of text.matchAll(LEADS))
      if (!href.startsWith('/assets/')) next.push(unescaped(href));
  }
  return weights;
};

const tooHeavy = (weights: Map<string, number>): string[] =>
  [...weights].flatMap(([url, bytes]) => (bytes > BYTES_MAX ? [`${url}: ${bytes}`] : []));

/** The cookie of somebody whom the machine invites. */
const signIn = async (roles: string[], owners: string[]): Promise<string> => {
  const name = `Some ${roles.join(' ')}`.replaceAll(/[^A-Za-z ]/g, '');
  const mailbox = `${roles.join('.')}@first.example`;
  const invited = await new Player(service).perform(ROOT, 'invitePerson', {
    name,
    mailbox,
    roles: roles as never,
    owners,
  });
  const { pathname } = new URL(invited.invitation_url);
  const entered = await load(pathname, undefined, 'POST');
  return entered.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
};

describe('The first page that somebody opens', () => {
  it('The first page that a visitor or a buyer opens has at most 60 kB', async () => {
    for (const start of ['/', '/s', '/signin', '/apply', review ?? '']) {
      const weights = await weigh(start);
      expect(weights.size, start).toBeGreaterThan(0);
      expect(tooHeavy(weights)).toEqual([]);
    }
  }, 120_000);

  it.each([
    ['a promoter', ['owner'], ['northwind', 'harbour'], '/o/northwind'],
    ['staff', ['staff', 'privacy', 'operator', 'auditor'], [], '/desk'],
  ] as const)(
    'The first page that %s opens has at most 60 kB',
    async (_who, roles, owners, start) => {
      const weights = await weigh(start, await signIn([...roles], [...owners]));
      expect(weights.size).toBeGreaterThan(10);
      expect(tooHeavy(weights)).toEqual([]);
    },
    120_000,
  );
});
