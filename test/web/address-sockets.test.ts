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
    { log, trustProxy, countryHeader: undefined, imageOrigins: [] },
  );
  parts.push(() => server.close());
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return { server, port: Number(new URL(url).port), metrics, lines };
};

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

describe('The open connections of one network address', () => {
  it('The open connections of one network address are limited, and other addresses can connect', async () => {
    const { port, metrics } = await serve(false);
    const first = await request(port, '127.0.0.1');
    for (let n = 1; n < MAX; n += 1)
      expect((await request(port, '127.0.0.1')).result).toBe(ANSWERED);
    expect((await request(port, '127.0.0.1')).result).toBe(CLOSED);
    expect((await request(port, '127.0.0.2')).result).toBe(ANSWERED);
    expect(await metrics.text([])).toContain('\ntributary_connections_refused_total 1\n');
    const ended = once(first.socket, 'close');
    first.socket.end();
    await ended;
    await expect.poll(async () => (await request(port, '127.0.0.1')).result).toBe(ANSWERED);
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
    const { port } = await serve('127.0.0.1,uniquelocal');
    for (let n = 0; n < MAX; n += 1)
      expect((await request(port, '127.0.0.2')).result).toBe(ANSWERED);
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
