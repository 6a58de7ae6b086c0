/** Addresses as people, mail programs and clients spell them: with something behind them, or with a slash. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routesOf, type ServedRoute } from '../support/source/routes.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink, splitLanding } from '../support/world/links.ts';

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS';

let app: TestApp;
let key: string;
let routes: ServedRoute[];

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { category: 'Home > Mugs (large)' }),
    feedProduct('MUG-2', { category: 'Home > Été' }),
  ]);
  routes = await routesOf(app.service.server);
});
afterAll(() => app.close());

const get = (url: string, method: 'GET' | 'HEAD' = 'GET') =>
  app.send({ method, url, headers: { 'user-agent': BROWSER, accept: 'text/html' } });

/** What chats, mail programs and people put behind an address, as a browser escapes it. */
const TAILS = [
  ['.', ',', ';', ':', '!', ')', ']', '}', '>', '<', '"', "'", '*', '_', '|', '~', '-', '&gt;'],
  ['…', '’', '”', '»', '。', '、', '）', 'をご覧ください'],
  [' ', '\u00A0', '\u00AD', '\u200B', '\u200D', '\u2060', '\uFEFF', '\n', '\r\n'],
  ['/', '//', '/.', '.)', ').', '>,', ' ) ', '"/', '\\'],
]
  .flat()
  .flatMap((tail) => [tail, encodeURIComponent(tail)]);
const ESCAPED = TAILS.map((tail) => tail.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent));

describe('The address of a page', () => {
  const isPage = ({ path, methods }: ServedRoute): boolean =>
    methods.includes('GET') && !/^\/(?:$|\*|api\/|\.well-known\/|c(?:\/|$)|proof\/)/.test(path);

  it("A page's address with something behind it redirects to the address alone, with its query", async () => {
    const pages = routes.filter(isPage).map(({ path }) => path);
    expect(pages.length).toBeGreaterThan(40);
    for (const path of pages)
      for (const tail of new Set([...ESCAPED, '%', '%A0', '%E2%80']))
        for (const query of ['', '?via=qr']) {
          const { status, headers } = await get(path + tail + query);
          expect([status, headers['location']], path + tail).toEqual([301, path + query]);
        }
  }, 120_000);

  it("A page's address is not changed where nothing is behind it", async () => {
    for (const { path } of routes.filter(isPage))
      expect((await get(path)).headers['location'] ?? '', path).not.toBe(path);
  });

  it.each(['//evil.example/', '///evil.example)', '/\\evil.example/', '//evil.example'])(
    "A page's address never leads to another host: %s",
    async (path) => {
      const { headers } = await get(path);
      expect(headers['location'] ?? '/').toMatch(/^\/(?![/\\])/);
    },
  );

  it.each([
    ['/c/Home%20%3E%20Mugs%20(large).', '/c/Home%20%3E%20Mugs%20(large)'],
    ['/c/Home%20%3E%20%C3%89t%C3%A9%E2%80%8B)', '/c/Home%20%3E%20%C3%89t%C3%A9'],
    ['/c/Home%20%3E%20%C3%89t%C3%A9/?page=2', '/c/Home%20%3E%20%C3%89t%C3%A9?page=2'],
  ])(
    'The address of a category redirects to the longest name that exists: %s',
    async (path, target) => {
      const { status, headers } = await get(path);
      expect([status, decodeURI(headers['location'] ?? '')]).toEqual([301, decodeURI(target)]);
      expect((await get(target)).status).toBe(200);
    },
  );

  it('The address of a category keeps the signs of its own name', async () => {
    expect((await get('/c/Home%20%3E%20Mugs%20(large)')).status).toBe(200);
    expect((await get('/c/Home%20%3E%20None.')).status).toBe(404);
  });
});

describe('A short link with something behind it', () => {
  const visits = async () =>
    (await app.service.deps.log.readAll({ after: 0, limit: 10_000 })).filter(
      ({ type }) => type === 'VisitRecorded',
    );

  it.each(['GET', 'HEAD'] as const)(
    'A short link with something behind it records one visit by %s',
    async (method) => {
      const { code, destination_url } = await createShortLink(app, key, {});
      const before = (await visits()).length;
      const cut = await get(`/l/${code}%E2%80%8B).?via=qr`, method);
      expect(await visits()).toHaveLength(before);
      expect(cut.headers).toMatchObject({
        'cache-control': 'no-store',
        location: `/l/${code}?via=qr`,
      });
      const landed = await get(cut.headers['location'] ?? '', method);
      expect(splitLanding(landed).page.split('?')[0]).toBe(destination_url);
      expect(await visits()).toHaveLength(before + 1);
    },
  );

  it('A landing page credits its promoter where its token has something behind it', async () => {
    const { code } = await createShortLink(app, key, {});
    const landing = (await get(`/l/${code}`)).headers['location'] ?? '';
    const { pathname, search } = new URL(landing);
    const { text: plain } = await get(pathname + search);
    expect(plain).toContain('Test agent');
    for (const tail of ['.', ')', '%20', '%E2%80%8B', '%3E', '/'])
      expect((await get(pathname + search + tail)).text, tail).toContain('Test agent');
    for (const tail of ['.', '),', '%C2%A0'])
      expect((await get(`${pathname}?via=${code}${tail}`)).text, tail).toContain('Test agent');
  });

  it("A list's address with something behind it keeps the list", async () => {
    const { text } = await get('/s');
    const id = /\/p\/prd_([0-9a-z]{24})/.exec(text)?.[1] ?? '';
    for (const tail of ['', '.', ')', '%20', '%E2%80%8B'])
      expect((await get(`/list?list=${id}~5${tail}`)).text, tail).toContain(`/p/prd_${id}`);
  });
});

describe('A slash behind the address of an interface', () => {
  it('A slash behind the address of an interface changes no answer, for every route and method', async () => {
    const answer = async (method: Method, url: string, authorized: boolean) => {
      const { status, body } = await app.send({
        method,
        url,
        ...(authorized && { key: url.startsWith('/api/desk/') ? app.deskToken : key }),
        ...(method === 'POST' && { payload: {} }),
      });
      const { code } = body as { code?: string };
      return [status, code];
    };
    const programs = routes.filter(({ path }) => /^\/(?:api|\.well-known)\//.test(path));
    expect(programs.length).toBeGreaterThan(80);
    for (const { path, methods } of programs)
      for (const method of [...methods, 'PUT', 'DELETE'] as Method[])
        for (const authorized of [false, true]) {
          const plain = await answer(method, path, authorized);
          expect(plain[1], path).not.toBe('route_not_found');
          expect(await answer(method, `${path}/`, authorized), `${method} ${path}`).toEqual(plain);
        }
  }, 60_000);

  it('A slash behind the address of an interface is accepted by MCP and by A2A, also before a query', async () => {
    const rpc = { jsonrpc: '2.0', id: 1 };
    for (const tail of ['/', '/?a=b']) {
      const mcp = await app.send({
        method: 'POST',
        url: `/api/affiliate/mcp${tail}`,
        key,
        payload: { ...rpc, method: 'tools/list' },
      });
      expect(mcp.body).toMatchObject({ result: { tools: expect.any(Array) } });
      const a2a = await app.send({
        method: 'POST',
        url: `/api/affiliate/a2a${tail}`,
        key,
        headers: { 'a2a-version': '1.0' },
        payload: { ...rpc, method: 'ListTasks', params: {} },
      });
      expect(a2a.body).toMatchObject({ result: { tasks: [] } });
    }
  });

  it('An address with a slash behind it names its methods when the method is wrong', async () => {
    const { status, headers } = await app.send({ method: 'PUT', url: '/api/affiliate/mcp/' });
    expect([status, headers['allow']]).toEqual([405, 'POST']);
  });
});
