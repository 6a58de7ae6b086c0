/** What needs no key is limited by network address. */
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { testApp, type TestApp } from '../support/world/app.ts';
import { serverOver } from '../support/world/server-over.ts';

const LIMITS = {
  ADDRESS_PAGES_PER_SECOND: '3',
  ADDRESS_REDIRECTS_PER_SECOND: '4',
  ADDRESS_CALLS_PER_SECOND: '5',
};
const PAGE = '/problems';
const CALL = '/api/affiliate/openapi.json';

let app: TestApp;
let server: FastifyInstance;
let now = 0;
afterEach(async () => {
  await server.close();
  await app.close();
});

const open = async (): Promise<void> => {
  app = await testApp(LIMITS);
  const { deps } = app.service;
  server = serverOver({ ...deps, clock: { ...deps.clock, monotonic: () => now } });
};
const get = (url: string, remoteAddress = '192.0.2.1', headers: Record<string, string> = {}) =>
  server.inject({ method: 'GET', url, remoteAddress, headers });
/** Sends this many requests one after another; returns their statuses. */
const statuses = async (count: number, url: string, address?: string): Promise<number[]> => {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) seen.push((await get(url, address)).statusCode);
  return seen;
};

describe('Requests of one network address', () => {
  it('Requests of one network address are limited in each second by their class, and other addresses are not affected', async () => {
    await open();
    expect(await statuses(4, PAGE)).toEqual([200, 200, 200, 429]);
    expect(await statuses(5, '/l/none')).toEqual([404, 404, 404, 404, 429]);
    expect(await statuses(6, CALL)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(1, PAGE, '192.0.2.2')).toEqual([200]);
    now += 1_000;
    expect(await statuses(4, PAGE)).toEqual([200, 200, 200, 429]);
  });

  it('Requests of one network address count for all addresses of an IPv6 network together', async () => {
    await open();
    expect(await statuses(3, PAGE, '2001:db8:1:2::1')).toEqual([200, 200, 200]);
    expect(await statuses(1, PAGE, '2001:db8:1:2:ffff::9')).toEqual([429]);
    expect(await statuses(1, PAGE, '2001:db8:1:3::1')).toEqual([200]);
  });

  it('Requests of one network address do not escape their limit by another spelling of the path', async () => {
    await open();
    const spellings = ['/%6c/none', '/problems/', '/problems?livez', '/livez/x', '/nothing'];
    for (const url of spellings) await get(url);
    expect(await statuses(1, PAGE)).toEqual([429]);
  });

  it('Requests of one network address for health and metrics are never refused', async () => {
    await open();
    expect(await statuses(10, '/livez')).toEqual(Array(10).fill(200));
  });

  it('Requests of one network address beyond the limit get a problem, or a page for people, and a time to wait', async () => {
    await open();
    await statuses(5, CALL);
    const problem = await get(CALL);
    expect(problem.headers).toMatchObject({ 'retry-after': '1', 'cache-control': 'no-store' });
    expect(problem.json()).toMatchObject({
      code: 'rate_limited',
      detail: 'At most 5 calls a second from one address.',
    });
    await statuses(3, PAGE);
    const page = await get(PAGE, undefined, { accept: 'text/html' });
    expect([page.statusCode, page.headers['retry-after']]).toEqual([429, '1']);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.body).toContain('Too much at once');
  });
});
