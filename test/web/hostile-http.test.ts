/** Malformed and hostile bytes over real sockets. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { operations } from '#contracts/registries/agents.ts';
import { LIMITS } from '#contracts/limits.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { expectProblem } from '../support/world/problems.ts';
import { exchange, type Exchange } from '../support/clients/raw-http.ts';
import { verifies } from '../support/source/verifies.ts';

/** Refusals are audited; nothing else of them is stored. */
const AUDIT_RECORDS = new Set(['ActivityRecorded', 'CallsAudited']);
const V1 = '/api/affiliate/v1';
const LINK = '{"target":{"kind":"search","ref":"mugs"}}';

let app: TestApp;
let url: string;
let key: string;
let slow: { headers: Promise<Exchange>; body: Promise<Exchange> };

/** Returns the types of the events since the tests began, without audit records. */
let written: () => Promise<string[]>;
const watchEvents = async () => {
  const { log, audit } = app.service.deps;
  const { position: after } = await log.head();
  return async () => {
    await audit.flush();
    const events = await log.readAll({ after, limit: 1_000 });
    return events.map(({ type }) => type).filter((type) => !AUDIT_RECORDS.has(type));
  };
};

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  url = await app.service.listen();
  written = await watchEvents();
  // Uses the real limits of the server; the other tests run while these two requests wait.
  slow = {
    headers: exchange(url, 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ', {
      dripEveryMs: 400,
    }),
    body: exchange(url, post({ 'Content-Length': '5000' }, '{"target":'), {
      dripEveryMs: 400,
    }),
  };
});
afterAll(() => app.close());

const post = (headers: Record<string, string>, body = LINK, path = `${V1}/links`): string => {
  const all = {
    Host: 'x',
    Authorization: `Bearer ${key}`,
    'Idempotency-Key': 'hostile',
    'Content-Type': 'application/json',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};
const get = (path: string, headers = 'Host: x\r\n') => `GET ${path} HTTP/1.1\r\n${headers}\r\n`;

type Case = { bytes: () => string | Buffer; code: string };
const bad = (bytes: () => string | Buffer, code = 'malformed_request'): Case => ({ bytes, code });
const framed = (headers: Record<string, string>, body = LINK, code?: string): Case =>
  bad(() => post(headers, body), code);

const CASES: Record<string, Case> = {
  'two Host headers': bad(() => get('/livez', 'Host: x\r\nHost: y\r\n')),
  'two equal Host headers': bad(() => get('/livez', 'Host: x\r\nHost: x\r\n')),
  'no Host': bad(() => get('/livez', '')),
  'an empty Host': bad(() => get('/livez', 'Host:\r\n')),
  'an empty Host in HTTP/1.0': bad(() => 'GET /livez HTTP/1.0\r\nHost:\r\n\r\n'),
  'a Host with a space': bad(() => get('/livez', 'Host: a b\r\n')),
  'a Host with a user': bad(() => get('/livez', 'Host: user@x\r\n')),
  'a Host with a path': bad(() => get('/livez', 'Host: x/y\r\n')),
  'two credentials': bad(() =>
    get(
      `${V1}/connection`,
      `Host: x\r\nAuthorization: Bearer ${key}\r\nauthorization: Basic eA\r\n`,
    ),
  ),
  'two media types': bad(() =>
    post({ 'Content-Length': '41' }).replace('\r\n\r\n', '\r\nContent-Type: text/xml\r\n\r\n'),
  ),
  'half an escape in a query': bad(() => get(`${V1}/leads?state=%zz`)),
  'a query that is not UTF-8': bad(() => get(`${V1}/products?q=mug%ff`)),
  'a query that is not UTF-8, at the desk': bad(() => get('/api/desk/v1/agents?x=%e9t%e9')),
  'HTTP/0.9': bad(() => 'GET /livez\r\n\r\n'),
  'the preface of HTTP/2': bad(() => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0'),
  'an unknown version of HTTP': bad(() => 'GET /livez HTTP/3.7\r\nHost: x\r\n\r\n'),
  'the method TRACE': bad(() => 'TRACE /livez HTTP/1.1\r\nHost: x\r\n\r\n', 'method_unknown'),
  'the method CONNECT': bad(
    () => 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'method_unknown',
  ),
  'an unknown method of other letters': bad(
    () => 'M-SEARCH2 /livez HTTP/1.1\r\nHost: x\r\n\r\n',
    'method_unknown',
  ),
  'an unknown method': bad(() => 'BREW /livez HTTP/1.1\r\nHost: x\r\n\r\n', 'method_unknown'),
  'the method PROPFIND': bad(() => 'PROPFIND /livez HTTP/1.1\r\nHost: x\r\n\r\n', 'method_unknown'),
  'a lower-case method': bad(() => 'get /livez HTTP/1.1\r\nHost: x\r\n\r\n', 'method_unknown'),
  'Content-Length beside Transfer-Encoding': framed(
    { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' },
    `0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n`,
  ),
  'two Content-Lengths': bad(() =>
    post({ 'Content-Length': '41' }).replace('\r\n\r\n', '\r\nContent-Length: 3\r\n\r\n'),
  ),
  'a list of Content-Lengths': framed({ 'Content-Length': '41, 41' }),
  'a negative Content-Length': framed({ 'Content-Length': '-1' }),
  'a Content-Length with a plus': framed({ 'Content-Length': '+41' }),
  'a Content-Length in hex': framed({ 'Content-Length': '0x29' }),
  'a Content-Length beyond 64 bits': framed({ 'Content-Length': '99999999999999999999999' }),
  'a Transfer-Encoding in which chunked is not last': framed({
    'Transfer-Encoding': 'chunked, identity',
  }),
  'an unknown Transfer-Encoding': framed({ 'Transfer-Encoding': 'xchunked' }),
  'a chunk without a size': framed({ 'Transfer-Encoding': 'chunked' }, 'zz\r\nab\r\n0\r\n\r\n'),
  'a chunk that is longer than its size': framed(
    { 'Transfer-Encoding': 'chunked' },
    '3\r\n{"target"\r\n0\r\n\r\n',
  ),
  'a chunk extension of 20 KB': framed(
    { 'Transfer-Encoding': 'chunked' },
    `2;x=${'y'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    'payload_too_large',
  ),
  'bare line feeds': bad(() => 'GET /livez HTTP/1.1\nHost: x\n\n'),
  'a space before the colon': bad(() => get('/livez', 'Host : x\r\n')),
  'a folded header': bad(() => get('/livez', 'Host: x\r\nX-Fold: a\r\n b\r\n')),
  'a header without a name': bad(() => get('/livez', 'Host: x\r\n: y\r\n')),
  'NUL in a header': bad(() => get('/livez', 'Host: x\r\nX-Nul: a\0b\r\n')),
  'NUL in the URL': bad(() => get('/livez\0')),
  'a space in the URL': bad(() => get('/li vez')),
  'a bare CR in a header': bad(() => get('/livez', 'Host: x\r\nX-Cr: a\rb\r\n')),
  'a bad percent-escape': bad(() => get(`${V1}/%zz`)),
  'half a percent-escape': bad(() => get(`${V1}/links/%`)),
  'an escape that is not UTF-8': bad(() => get('/c/%ff%fe')),
  'a header of 9 KB': bad(
    () => get('/livez', `Host: x\r\nX-Long: ${'a'.repeat(9_216)}\r\n`),
    'headers_too_large',
  ),
  'a thousand headers': bad(
    () => get('/livez', `Host: x\r\n${'X-A: b\r\n'.repeat(1_500)}`),
    'headers_too_large',
  ),
  'a URL of 5 KB': bad(() => get(`${V1}/products?q=${'a'.repeat(5_120)}`), 'uri_too_long'),
  'a path segment of 600 characters': bad(() => get(`/l/${'a'.repeat(600)}`), 'uri_too_long'),
  'an unknown expectation': framed({ 'Content-Length': '41', Expect: 'a-teapot' }),
  'bytes of TLS': bad(() => Buffer.from('16030100dc010000d80303a1b2c3d4e5f60718', 'hex')),
  'random bytes': bad(() =>
    Buffer.from('\u00fe\u0001\u0002\r\n\r\nno HTTP at all\r\n\r\n', 'latin1'),
  ),
  'a key in the URL': bad(() => get(`${V1}/products?api_key=${key}`), 'credential_in_url'),
  'an escaped key in the URL, beside a bad escape': bad(
    () => get(`${V1}/products?x=%zz&k=${key.replace('_', '%5F')}`),
    'credential_in_url',
  ),
  'another media type': framed(
    { 'Content-Type': 'text/plain', 'Content-Length': '41' },
    LINK,
    'unsupported_media_type',
  ),
  'a form as its body': framed(
    { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': '3' },
    'a=b',
    'unsupported_media_type',
  ),
  'another charset': framed(
    { 'Content-Type': 'application/json; charset=utf-16', 'Content-Length': '41' },
    LINK,
    'unsupported_media_type',
  ),
  'a Content-Encoding': bad(() => {
    const body = gzipSync(LINK);
    const start = post({ 'Content-Encoding': 'gzip', 'Content-Length': String(body.length) }, '');
    return Buffer.concat([Buffer.from(start, 'latin1'), body]);
  }, 'unsupported_media_type'),
  'no media type': bad(
    () => post({ 'Content-Length': '41' }).replace('Content-Type: application/json\r\n', ''),
    'unsupported_media_type',
  ),
  'an empty body': framed({ 'Content-Length': '0' }, '', 'malformed_json'),
  'a body that is too large': framed(
    { 'Content-Length': String(LIMITS.BODY_BYTES_MAX + 1) },
    ' '.repeat(LIMITS.BODY_BYTES_MAX + 1),
    'payload_too_large',
  ),
  'a chunked body that is too large': framed(
    { 'Transfer-Encoding': 'chunked' },
    `10000\r\n${' '.repeat(65_536)}\r\n`.repeat(5).concat('0\r\n\r\n'),
    'payload_too_large',
  ),
};

/** Expects one answer to the case; only the answer to the marker request may follow it. */
const expectOneAnswer = ({ answers, rest }: Exchange, hint: string) => {
  const [first, ...others] = answers;
  expect(rest, hint).toBe('');
  expect(others.map(({ status, text }) => [status, text]).slice(0, 2), hint).toEqual(
    others.length === 0 ? [] : [[200, '{"status":"live"}']],
  );
  if (!first) throw new Error(`${hint}: no answer`);
  return first;
};

describe('A malformed or hostile request', () => {
  it.each(Object.entries(CASES))(
    'A malformed or hostile request with %s gets exactly one problem',
    async (name, { bytes, code }) => {
      verifies('errors.5', 'resources.problem');
      const answer = expectOneAnswer(await exchange(url, bytes()), name);
      expect(expectProblem(answer, name)).toMatchObject({
        code,
        links: { portal: 'https://t.example/' },
      });
      expect(answer.headers['cache-control']).toBe('no-store');
    },
  );

  it('A malformed or hostile request with a query that is not UTF-8 gets a JSON-RPC error over MCP and A2A', async () => {
    for (const path of ['/api/affiliate/mcp?x=%ff', '/api/affiliate/a2a?x=%e9']) {
      const { answers } = await exchange(url, post({ 'Content-Length': '41' }, LINK, path));
      expect(answers[0]).toMatchObject({ status: 400 });
      const { error } = JSON.parse(answers[0]?.text ?? '') as { error: object };
      expect(error).toMatchObject({ code: -32600, message: expect.stringContaining('not UTF-8') });
    }
  });

  it('A malformed or hostile request writes no event except audit records', async () => {
    expect(await written()).toEqual([]);
  });
});

describe('An unusual but valid request', () => {
  const VALID: Record<string, string> = {
    'an absolute URL of any host': get('http://elsewhere.example/livez'),
    'an upgrade to h2c, which is ignored,': get(
      '/livez',
      'Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n',
    ),
    'a Host that is an IPv6 address with a port': get('/livez', 'Host: [::1]:3000\r\n'),
    'a Host with an underscore': get('/livez', 'Host: my_service.local:80\r\n'),
    'an empty line before it': `\r\n${get('/livez')}`,
    'HTTP/1.0 and no Host': 'GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  };
  it.each(Object.entries(VALID))(
    'An unusual but valid request with %s is answered',
    async (name, bytes) => {
      const answer = expectOneAnswer(await exchange(url, bytes), name);
      expect(answer).toMatchObject({ status: 200, text: '{"status":"live"}' });
    },
  );

  it('An unusual but valid request does not change the links of our answers by its Host headers', async () => {
    const bytes = get(`${V1}/nothing`, 'Host: evil.example\r\nX-Forwarded-Host: evil.example\r\n');
    const answer = expectOneAnswer(await exchange(url, bytes), 'Host');
    expect(JSON.stringify(answer)).not.toContain('evil.example');
  });
});

describe('Several requests on one connection', () => {
  const errorThen = (first: string, expected: number) =>
    exchange(url, first + get('/livez'), { expected });

  it('Several requests on one connection get their answers in order when the first is refused', async () => {
    const { answers, rest } = await errorThen(get(`${V1}/nothing`), 2);
    expect(answers.map(({ status }) => status)).toEqual([404, 200, 200]);
    expect(rest).toBe('');
  });

  it('Several requests on one connection get the answer to a valid request before the refusal of the broken bytes after it', async () => {
    for (const path of ['/readyz', `${V1}/connection`]) {
      const first = get(path, `Host: x\r\nAuthorization: Bearer ${key}\r\n`);
      const { answers, rest } = await exchange(url, `${first}BROKEN\r\n\r\n`, { expected: 2 });
      expect(
        answers.map(({ status }) => status),
        path,
      ).toEqual([200, 400]);
      expect(rest).toBe('');
    }
  });

  it('A write that was running when broken bytes arrived gets its answer', async () => {
    const write = post({ 'Content-Length': '41', 'Idempotency-Key': 'before-broken' });
    const { answers } = await exchange(url, `${write}\0\0\0\r\n\r\n`, { expected: 2 });
    expect(answers.map(({ status }) => status)).toEqual([201, 400]);
    expect(await written()).toEqual(['LinkCreated']);
  });

  it('Several requests on one connection get one answer when the body of a refused request is malformed', async () => {
    const refused = post({ 'Transfer-Encoding': 'chunked', Authorization: 'Bearer no' }, '');
    const late = await exchange(url, refused, { then: 'zz\r\n\r\n' });
    expect(late.answers.map((answer) => expectProblem(answer).code)).toEqual([
      'credential_invalid',
    ]);
    const atOnce = await exchange(url, `${refused}zz\r\n\r\n`);
    expect(atOnce.answers).toHaveLength(1);
    expect(late.rest + atOnce.rest).toBe('');
  });

  it('Several requests on one connection are never read from the body of another request', async () => {
    const smuggled = get(`${V1}/smuggled`);
    const outer = post({ 'Content-Length': String(smuggled.length) }, smuggled);
    const answer = expectOneAnswer(await exchange(url, outer), 'smuggled');
    expect(expectProblem(answer).code).toBe('malformed_json');
  });
});

/** In place of each parameter of a path. */
const ANY_ID = 'some-id';
const pathOf = (base: string, path: string) => base + path.replaceAll(/\{\w+\}/g, ANY_ID);
/** Whether a request for `path` can reach this route: `/products/import` also reaches that of one product. */
const covers = (route: string, path: string): boolean => {
  const [names, asked] = [route.split('/'), path.split('/')];
  return (
    names.length === asked.length &&
    names.every((name, at) => name === ANY_ID || name === asked[at])
  );
};
const ROUTES = [
  ...Object.values(operations).map(({ http }) => [http.method, pathOf(V1, http.path)]),
  ...Object.values(deskOperations).map(({ http }) => [
    http.method,
    pathOf('/api/desk/v1', http.path),
  ]),
  ['GET', '/api/affiliate/openapi.json'],
  ['GET', '/llms.txt'],
  ['GET', '/readyz'],
  ['GET', '/'],
  ['GET', '/s'],
  ['GET', '/p/some-id'],
  ['GET', '/docs/some-page'],
  ['GET', '/l/some-code'],
  ['GET', '/l/some-code/qr.png'],
  ['GET', `/h/${'0'.repeat(40)}`],
  ['POST', `/h/${'0'.repeat(40)}/open`],
  ['GET', `/h/${'0'.repeat(40)}/send`],
  ['POST', `/h/${'0'.repeat(40)}/send`],
  ['POST', '/api/affiliate/a2a/message:send'],
  ['GET', '/api/affiliate/a2a/tasks/some-id'],
] as [string, string][];

describe('The router', () => {
  it('The router answers 405 with Allow to every other method on every path', async () => {
    for (const [, path] of ROUTES) {
      const allowed = ROUTES.filter(([, other]) => covers(other, path)).map(([method]) => method);
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        if (allowed.includes(method)) continue;
        const answer = await app.send({ method, url: path });
        for (const one of allowed)
          expect(answer.headers['allow'], `${method} ${path}`).toContain(one);
        if (method === 'OPTIONS') expect([path, answer.status]).toEqual([path, 204]);
        else expect(expectProblem(answer, `${method} ${path}`).code).toBe('method_not_allowed');
      }
    }
  });

  it('The router answers every unknown route with a problem, under v1 and elsewhere', async () => {
    verifies('errors.1', 'errors.3', 'errors.4', 'versioning.3');
    const under = ['', '/', '/nothing', '/links/../..', '/Links', '/connection/x', '//links'];
    const elsewhere = ['/nothing', '/api', '/api/affiliate/v2/links', '/.env', '/api/affiliate'];
    for (const path of [...under.map((end) => V1 + end), ...elsewhere])
      for (const method of ['GET', 'POST', 'DELETE'] as const) {
        const answer = await app.send({ method, url: path, key });
        expect(expectProblem(answer, `${method} ${path}`)).toMatchObject({
          code: 'route_not_found',
          status: 404,
          links: {
            portal: 'https://t.example/',
            openapi: 'https://t.example/api/affiliate/openapi.json',
          },
          recovery: { action: 'read_contract' },
        });
      }
  });
});

describe('A client', () => {
  const expectTimeout = ({ answers }: Exchange) =>
    expect(answers.map((answer) => expectProblem(answer).code)).toEqual(['request_timeout']);

  it('A client that never finishes its headers gets 408 after HEADERS_WAIT_MS', async () => {
    expect(app.service.server.server.headersTimeout).toBe(LIMITS.HEADERS_WAIT_MS);
    expectTimeout(await slow.headers);
  });

  it('A client that never finishes its body gets 408 after REQUEST_WAIT_MS', async () => {
    expect(app.service.server.server.requestTimeout).toBe(LIMITS.REQUEST_WAIT_MS);
    expectTimeout(await slow.body);
    expect(await written()).toEqual(['LinkCreated']);
  });
});
