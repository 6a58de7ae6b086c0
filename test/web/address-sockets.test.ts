/** One address cannot hold all connections of a process. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { openApp } from '#src/registries/app.ts';
import { buildServer } from '#src/interfaces/server.ts';
import { testApp } from '../support/world/app.ts';

const MAX = 3;
const parts: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of parts.splice(0).toReversed()) await end();
});

const serve = async (trustProxy: boolean | string) => {
  const app = await testApp({ ADDRESS_SOCKETS_MAX: String(MAX) });
  parts.push(() => app.close());
  const { deps } = app.service;
  const metrics = prometheusMetrics();
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const server = buildServer(
    openApp(deps),
    { ...deps, metrics },
    { log, trustProxy, countryHeader: undefined, imageOrigins: [], webOrigins: [] },
  );
  parts.push(() => server.close());
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const { key } = await app.agent('acme');
  return { server, port: Number(new URL(url).port), metrics, lines, key };
};
type Served = Awaited<ReturnType<typeof serve>>;

const CLOSED = 'closed';
const ANSWERED = 'answered';

/** Connects from a loopback address and sends a request; the connection stays open if it is answered. */
const request = async (port: number, localAddress: string) => {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  parts.push(() => socket.destroy());
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(CLOSED)));
  const answered = new Promise<string>((resolve) => socket.once('data', () => resolve(ANSWERED)));
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
  return { socket, result: await Promise.race([closed, answered]) };
};

/** A connection whose request has been received, except for its body. */
const unfinished = async ({ port, server, key }: Served, localAddress: string) => {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  parts.push(() => socket.destroy());
  socket.on('error', () => undefined);
  const received = once(server.server, 'request');
  const head = `POST /api/affiliate/v1/links HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
  await received;
  return socket;
};

const fail = (): never => {
  throw new Error('there is no connection');
};

describe('The open connections of one network address', () => {
  it('The open connections of one network address are limited while they have requests, and other addresses can connect', async () => {
    const served = await serve(false);
    const { port, metrics } = served;
    const busy = [];
    for (let n = 0; n < MAX; n += 1) busy.push(await unfinished(served, '127.0.0.1'));
    expect((await request(port, '127.0.0.1')).result).toBe(CLOSED);
    expect((await request(port, '127.0.0.2')).result).toBe(ANSWERED);
    expect(await metrics.text([])).toContain('\ntributary_connections_refused_total 1\n');
    const ended = once(busy[0] ?? fail(), 'close');
    busy[0]?.destroy();
    await ended;
    await expect.poll(async () => (await request(port, '127.0.0.1')).result).toBe(ANSWERED);
  });

  it('The open connections of one network address give their place to a new one, those that never had a request first, then the oldest', async () => {
    const served = await serve(false);
    const { port } = served;
    const answered = await request(port, '127.0.0.1');
    const silent = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.1' });
    parts.push(() => silent.destroy());
    const busy = await unfinished(served, '127.0.0.1');
    const closed: string[] = [];
    silent.resume().once('close', () => closed.push('silent'));
    answered.socket.once('close', () => closed.push('answered'));
    busy.once('close', () => closed.push('busy'));
    expect((await request(port, '127.0.0.1')).result).toBe(ANSWERED);
    await expect.poll(() => closed).toEqual(['silent']);
    expect((await request(port, '127.0.0.1')).result).toBe(ANSWERED);
    await expect.poll(() => closed).toEqual(['silent', 'answered']);
  });

  it.each([true, '10.0.0.0/8,loopback', '127.0.0.1', '127.0.0.0/8'])(
    'The open connections of one network address have no limit for a proxy of TRUST_PROXY=%s',
    async (trustProxy) => {
      const { port } = await serve(trustProxy);
      for (let n = 0; n < 2 * MAX; n += 1)
        expect((await request(port, '127.0.0.1')).result).toBe(ANSWERED);
    },
  );

  it('The open connections of a client that TRUST_PROXY does not name are limited', async () => {
    const served = await serve('127.0.0.1,uniquelocal');
    const { port } = served;
    for (let n = 0; n < MAX; n += 1) await unfinished(served, '127.0.0.2');
    expect((await request(port, '127.0.0.2')).result).toBe(CLOSED);
  });
});

describe('A forwarded address', () => {
  const forwarded = { 'x-forwarded-for': '192.0.2.1' };

  it('A forwarded address without TRUST_PROXY is counted, and logged once', async () => {
    const { server, metrics, lines } = await serve(false);
    await server.inject({ url: '/livez', headers: forwarded });
    await server.inject({ url: '/livez', headers: { forwarded: 'for=192.0.2.1' } });
    await server.inject({ url: '/livez' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('TRUST_PROXY is not set');
    expect(await metrics.text([])).toContain('\ntributary_untrusted_forwarded_total 2\n');
  });

  it('A forwarded address with TRUST_PROXY is neither counted nor logged', async () => {
    const { server, metrics, lines } = await serve('loopback');
    await server.inject({ url: '/livez', headers: forwarded });
    expect(lines).toEqual([]);
    expect(await metrics.text([])).toContain('\ntributary_untrusted_forwarded_total 0\n');
  });
});
