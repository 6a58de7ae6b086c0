/** Connections whose client reads nothing are closed; all others stay open. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { endStalledConnections } from '#src/web/http.ts';
import { testApp } from '../support/world/app.ts';

/** A short value in place of LIMITS.READER_WAIT_MS. */
const WAIT_MS = 600;
/** Larger than the buffers of both ends. */
const ANSWER = Buffer.alloc(24 * 1_048_576, 'a');
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close().closeAllConnections();
});

const serve = async (
  handle: RequestListener,
  monotonic = () => performance.now(),
): Promise<{ server: Server; client: Socket }> => {
  const server = createServer(handle);
  opened.push(server);
  endStalledConnections(server, monotonic, WAIT_MS);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port).on('error', () => undefined);
  client.write(REQUEST);
  return { server, client };
};

const connections = (server: Server): Promise<number> =>
  new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));

describe('A connection', () => {
  it('A connection is closed when its client does not read the answer', async () => {
    const { server, client } = await serve((_request, response) => response.end(ANSWER));
    client.pause();
    await once(server, 'connection');
    await expect.poll(() => connections(server)).toBe(0);
  });

  it('A connection that stalls is closed after one wait and not after two', async () => {
    let checks = 0;
    // Counts the checks of a connection as if each were in time, because a busy machine delays them.
    const monotonic = () => ((checks += 1) * WAIT_MS) / 10;
    const { server, client } = await serve((_, response) => response.end(ANSWER), monotonic);
    client.pause();
    const [socket] = (await once(server, 'connection')) as [Socket];
    await once(socket, 'close');
    expect(checks).toBe(10);
  });

  it('A connection stays open while its client reads slowly', async () => {
    const { client } = await serve((_request, response) => response.end(ANSWER));
    let got = 0;
    for await (const part of client) {
      const before = got;
      got += (part as Buffer).length;
      if (got >> 21 !== before >> 21) await pause(WAIT_MS / 3);
      if (got > ANSWER.length) break;
    }
    expect(got).toBeGreaterThan(ANSWER.length);
  });

  it('A connection stays open while the handler works, and while a stream is idle', async () => {
    const { client } = await serve((_request, response) => {
      response.write('early');
      setTimeout(() => response.end('late'), 3 * WAIT_MS);
    });
    let text = '';
    for await (const part of client) {
      text += String(part);
      if (text.includes('late')) break;
    }
    expect(text).toMatch(/early[^]*late/);
  });

  it('A connection stays open between two requests for the keep-alive time', async () => {
    const { server, client } = await serve((_request, response) => response.end('here'));
    server.keepAliveTimeout = 3 * WAIT_MS;
    await once(client, 'data');
    const closed = once(client, 'end').then(() => 'closed');
    expect(await Promise.race([closed, pause(2 * WAIT_MS, 'open')])).toBe('open');
    expect(await closed).toBe('closed');
  });

  it('A connection of the service is limited by READER_WAIT_MS', async () => {
    const app = await testApp();
    expect(app.service.server.server.timeout).toBe(LIMITS.READER_WAIT_MS / 10);
    await app.close();
  });
});
