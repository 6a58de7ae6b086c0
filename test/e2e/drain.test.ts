/** SIGTERM: accepted requests are answered in full, late ones are refused, and nothing is lost. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';
import { EXIT } from '#src/cli/terminal.ts';
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

const startService = async () => {
  const directory = fresh();
  const service = await serveChild(directory);
  const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
  await atDesk(service, '/products/import', { products });
  return { directory, service, key: await agentKey(service) };
};

/** Opens a connection that records the bytes it reads. */
const open = async (url: string, bytes: string) => {
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

const awaitStop = async (service: ChildService) => {
  if (service.child.exitCode === null) await once(service.child, 'exit');
  expect(service.child.exitCode, service.log()).toBe(0);
};

describe('A service that gets SIGTERM', () => {
  it('A service that gets SIGTERM under load answers every accepted request, exits with 0, and has every write afterwards', async () => {
    const { directory, service, key } = await startService();
    const client = httpClient();
    const answers = new Map<number, Answered>();
    let next = 0;
    let isStopped = false;
    const writers = Array.from({ length: 16 }, async () => {
      while (!isStopped) {
        const n = next++;
        const answer = await client.post(service.url, key, writeOf(n), `drain-${n}`);
        if (answer) answers.set(n, answer);
        else if (service.child.exitCode !== null) isStopped = true;
      }
    });
    await until(() => answers.size > 200);
    service.child.kill('SIGTERM');
    await awaitStop(service);
    isStopped = true;
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

  it('A service that gets SIGTERM waits for a write whose headers it has read, and refuses other requests', async () => {
    const { directory, service, key } = await startService();
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
    const silent = await open(service.url, '');
    const idle = await open(service.url, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => idle.text().includes('"live"'));
    const half = await open(service.url, 'GET /livez HTTP/1.1\r\nHo');
    const begun = await open(service.url, `${head}\r\n\r\n`);
    await until(() => begun.text().includes('100 Continue'));

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
    await awaitStop(service);

    const again = await serveChild(directory);
    const client = httpClient();
    const retry = await client.post(again.url, key, { path: '/links', body }, 'begun');
    expect(retry).toEqual({ status: 201, text: answer, replayed: true });
    client.close();
    await again.end('SIGTERM');
  });

  it('A service that gets SIGTERM closes the connection of a client that never completes its request', async () => {
    const { service, key } = await startService();
    const head = `POST /api/affiliate/v1/links HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const rest = 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    const stuck = await open(service.url, head + rest);
    const halfHeaders = await open(service.url, 'GET /livez HTTP/1.1\r\nHo');
    const tunnel = await open(service.url, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => tunnel.text().includes('problem+json'));
    service.child.kill('SIGTERM');
    await awaitStop(service);
    await Promise.all([stuck.closed, halfHeaders.closed, tunnel.closed]);
  });

  it('A service that gets SIGTERM completes pending requests after a second signal, and exits at once after a third', async () => {
    const { service, key } = await startService();
    const head = `POST /api/affiliate/v1/links HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const rest =
      'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n';
    const pending = await open(service.url, head + rest);
    await until(() => pending.text().includes('100 Continue'));
    service.child.kill('SIGTERM');
    await until(() => isRefused(service.url));
    service.child.kill('SIGTERM');
    await until(
      () => service.log().includes('still stopping') || service.child.signalCode !== null,
    );
    expect(service.child.signalCode).toBeNull();
    expect(service.child.exitCode).toBeNull();
    expect(pending.socket.closed).toBe(false);
    service.child.kill('SIGTERM');
    await pending.closed;
    if (service.child.exitCode === null) await once(service.child, 'exit');
    expect(service.child.exitCode).toBe(EXIT.refused);
  });
});
