/** SIGTERM: what was taken is answered in full, what comes late is told so, and nothing is lost. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';
import { feedProduct } from '../support/world/app.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { type Answered, httpClient, writeOf } from '../support/clients/journal.ts';

const { fresh, removeAll } = directories('drain-');
afterAll(async () => {
  await endChildren();
  removeAll();
});

const STOP_MS = 10_000;

const serving = async () => {
  const directory = fresh();
  const service = await serveChild(directory);
  const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
  await atDesk(service, '/products/import', { products });
  return { directory, service, key: await agentKey(service) };
};

/** A connection that keeps all it has read. */
const opened = async (url: string, bytes: string) => {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  return { socket, closed, text: () => text };
};

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
};

const isRefused = async (url: string): Promise<boolean> => {
  const answer = await fetch(`${url}/livez`, { headers: { connection: 'close' } }).catch(
    () => undefined,
  );
  return answer === undefined;
};

const stopped = async (service: ChildService, started: number) => {
  if (service.child.exitCode === null) await once(service.child, 'exit');
  expect(performance.now() - started).toBeLessThan(STOP_MS);
  expect(service.child.exitCode, service.log()).toBe(0);
};

describe('a service that is told to stop', () => {
  it('under load answers what it took, ends well in time, and has everything afterwards', {
    timeout: 60_000,
  }, async () => {
    const { directory, service, key } = await serving();
    const client = httpClient();
    const answers = new Map<number, Answered>();
    let next = 0;
    let gone = false;
    const writers = Array.from({ length: 16 }, async () => {
      while (!gone) {
        const n = next++;
        const answer = await client.post(service.url, key, writeOf(n), `drain-${n}`);
        if (answer) answers.set(n, answer);
        else if (service.child.exitCode !== null) gone = true;
      }
    });
    await until(() => answers.size > 200);
    const started = performance.now();
    service.child.kill('SIGTERM');
    await stopped(service, started);
    gone = true;
    await Promise.all(writers);
    const late = [...answers.values()].filter(({ status }) => status !== 201);
    for (const { status, text } of late) {
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([503, 'shutting_down']);
    }
    const again = await serveChild(directory);
    for (const [n, { status, text }] of answers) {
      if (status !== 201) continue;
      const answer = await client.post(again.url, key, writeOf(n), `drain-${n}`);
      expect(answer).toEqual({ status, text, replayed: true });
    }
    expect(await again.end('SIGTERM')).toEqual({ code: 0, signal: null });
    client.close();
  });

  it('waits for a write that it has begun to read, and tells others that it stops', async () => {
    const { directory, service, key } = await serving();
    const body = JSON.stringify({ target: { kind: 'search', ref: 'mugs' } });
    const head = [
      'POST /api/affiliate/v1/links HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      'Idempotency-Key: begun',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
    ].join('\r\n');
    const silent = await opened(service.url, '');
    const idle = await opened(service.url, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => idle.text().includes('"live"'));
    const half = await opened(service.url, 'GET /livez HTTP/1.1\r\nHo');
    const begun = await opened(service.url, `${head}\r\n\r\n`);
    await until(() => begun.text().includes('100 Continue'));

    const started = performance.now();
    service.child.kill('SIGTERM');
    await until(() => isRefused(service.url));
    await Promise.all([idle.closed, silent.closed]);
    half.socket.write('st: x\r\n\r\n');
    await half.closed;
    expect(half.text()).toMatch(/^HTTP\/1\.1 503 [^]*"code":"shutting_down"[^]*\}$/);
    expect(half.text()).toMatch(/\r\ncontent-type: application\/problem\+json\r\n/i);
    expect(service.child.exitCode).toBeNull();
    begun.socket.write(body);
    await begun.closed;
    const [, answer = ''] =
      /HTTP\/1\.1 201 Created\r\n[^]*?\r\n\r\n([^]*)$/.exec(begun.text()) ?? [];
    expect(answer, begun.text()).toMatch(/^\{"id":"lnk_[^]*\}$/);
    await stopped(service, started);

    const again = await serveChild(directory);
    const client = httpClient();
    const retry = await client.post(again.url, key, { path: '/links', body }, 'begun');
    expect(retry).toEqual({ status: 201, text: answer, replayed: true });
    client.close();
    await again.end('SIGTERM');
  });

  it('does not wait for ever for a client that never finishes', async () => {
    const { service, key } = await serving();
    const head = `POST /api/affiliate/v1/links HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const rest = 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    const stuck = await opened(service.url, head + rest);
    const halfHeaders = await opened(service.url, 'GET /livez HTTP/1.1\r\nHo');
    const tunnel = await opened(service.url, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => tunnel.text().includes('problem+json'));
    const started = performance.now();
    service.child.kill('SIGTERM');
    await stopped(service, started);
    await Promise.all([stuck.closed, halfHeaders.closed, tunnel.closed]);
  });
});
