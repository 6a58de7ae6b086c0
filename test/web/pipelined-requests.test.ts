/** Many requests on one connection: they are handled one after another, and other clients are served meanwhile. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { httpServer, oneAtATime } from '#src/web/http.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { exchange } from '../support/clients/raw-http.ts';

const V1 = '/api/affiliate/v1';
const MB = 1_048_576;

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const connected = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

describe('Pipelined requests to the service', () => {
  let app: TestApp;
  let url: string;
  let key: string;
  let list: string;
  beforeAll(async () => {
    app = await testApp();
    const skus = Array.from({ length: 20 }, (_, i) => `CUP-${i}`);
    await app.publish(skus.map((sku) => feedProduct(sku)));
    ({ key } = await app.agent('acme'));
    url = await app.service.listen();
    const products = await app.send({ method: 'GET', url: `${V1}/products`, key });
    const ids = (products.body as { data: { id: string }[] }).data.map(({ id }) => id);
    const line_items = Array.from({ length: 1_000 }, (_, i) => ({
      product_id: ids[i % ids.length],
      quantity: 1_000 + i * 2,
      note: 'n'.repeat(120),
    }));
    const made = await app.send({
      method: 'POST',
      url: `${V1}/handoffs`,
      key,
      headers: { 'idempotency-key': freshKey() },
      payload: { title: 'Long', line_items },
    });
    list = new URL((made.body as { review_url: string }).review_url).pathname;
  });
  afterAll(() => app.close());

  it('Pipelined requests leave other clients served while one requests a long list 300 times and reads nothing', async () => {
    const page = await fetch(url + list);
    const { length } = await page.text();
    // Together the answers are far more than the buffers of a socket hold.
    expect(300 * length).toBeGreaterThan(24 * MB);
    const reads = vi.spyOn(app.service.deps.log, 'readStream');
    const flood = await connected(url);
    flood.pause();
    flood.write(get(list).repeat(300));
    await expect.poll(() => reads.mock.calls.length).toBeGreaterThan(0);
    for (let i = 0; i < 50; i++) expect((await fetch(`${url}/livez`)).status).toBe(200);
    // Each page takes one read. The first answers fill the buffers of the socket; no further page is made.
    expect(reads.mock.calls.length * length).toBeLessThan(12 * MB);
    flood.destroy();
    reads.mockRestore();
  });

  it('Pipelined requests of different kinds get their complete answers in order', async () => {
    const auth = `Authorization: Bearer ${key}\r\n`;
    const body = '{"target":{"kind":"search","ref":"mugs"}}';
    const headers = `${auth}Content-Type: application/json\r\nIdempotency-Key: mix\r\nContent-Length: ${body.length}\r\n`;
    const { answers, rest } = await exchange(
      url,
      [
        get(`${V1}/products?limit=3`, auth),
        get(list),
        get(`${V1}/leads`, auth).replace('GET', 'HEAD'),
        `POST ${V1}/links HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${headers}\r\n${body}`,
        get(`${V1}/links/none`, auth),
        get('/livez'),
        get(list, 'Content-Length: 5\r\n').concat('hello'),
        get(`${V1}/products?limit=2`, auth),
        'BROKEN\0\r\n\r\n',
      ].join(''),
      { expected: 10, toHead: [2] },
    );
    expect(answers.map(({ status }) => status)).toEqual([
      200, 200, 200, 100, 201, 404, 200, 200, 200, 400,
    ]);
    const rows = (at: number) => (JSON.parse(answers[at]?.text ?? '') as { data: [] }).data.length;
    expect([rows(0), rows(8)]).toEqual([3, 2]);
    expect(answers[6]?.text).toBe('{"status":"live"}');
    expect(answers[7]?.text).toBe(answers[1]?.text);
    expect(rest).toBe('');
  });

  it('Pipelined requests after one with Connection: close get no answer', async () => {
    const requests =
      get('/livez') + get('/livez', 'Connection: close\r\n') + get('/livez').repeat(20);
    const { answers } = await exchange(url, requests, { expected: 22 });
    expect(answers).toHaveLength(2);
  });

  it('Pipelined requests with an Upgrade header after another request are answered without an upgrade', async () => {
    const upgrade = get('/livez', 'Connection: Upgrade\r\nUpgrade: h2c\r\n');
    const { answers } = await exchange(url, get(list) + upgrade, { expected: 2 });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('A server that handles one request at a time', () => {
  const opened: Server[] = [];
  afterAll(() => {
    for (const server of opened) server.close();
  });
  const serve = async (handle: RequestListener): Promise<{ url: string; sockets: Socket[] }> => {
    const sockets: Socket[] = [];
    const server = createServer(oneAtATime(handle)).on('connection', (one: Socket) =>
      sockets.push(one),
    );
    opened.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
  };

  it('A server that handles one request at a time starts a request only after the answer to the one before it, whatever the bodies are', async () => {
    let underWay = 0;
    const seen: number[] = [];
    const { url } = await serve((request, response) => {
      seen.push((underWay += 1));
      let text = '';
      request.on('data', (part) => (text += part));
      request.on('end', () =>
        setImmediate(() => {
          underWay -= 1;
          response.end(`${request.url} ${text.length}`);
        }),
      );
    });
    const post = (path: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'b'.repeat(length)}`;
    const lengths = [10, 300_000, 20, 100_000, 0];
    const requests = lengths.map((length, at) => post(`/${at}`, length)).join('');
    const { answers } = await exchange(url, requests, { expected: lengths.length });
    expect(answers.slice(0, 5).map(({ text }) => text)).toEqual(
      lengths.map((length, at) => `/${at} ${length}`),
    );
    expect(Math.max(...seen)).toBe(1);
  });

  it('A server that handles one request at a time drops the requests of a client that has disconnected', async () => {
    let handled = 0;
    const first = Promise.withResolvers<() => void>();
    const { url, sockets } = await serve((_request, response) => {
      handled += 1;
      if (handled === 1) first.resolve(() => response.end('1'));
      else setImmediate(() => response.end('more'));
    });
    const client = await connected(url);
    client.write(get('/').repeat(300));
    const end = await first.promise;
    client.destroy();
    await once(client, 'close');
    end();
    await expect.poll(() => sockets[0]?.closed).toBe(true);
    await nextTurn();
    expect(handled).toBeLessThan(10);
  });

  it('A server that handles one request at a time answers every request of a client that has closed its sending side', async () => {
    const { url } = await serve((_request, response) => response.end('here'));
    const client = await connected(url);
    client.end(get('/').repeat(50));
    let text = '';
    for await (const part of client) text += String(part);
    expect(text.split('here')).toHaveLength(51);
  });

  it('A server that handles one request at a time stops reading after one packet, and closes a connection with too many requests in it', async () => {
    const { url, sockets } = await serve((request, response) => {
      if (request.url === '/other') response.end();
    });
    const client = await connected(url);
    client.write(get('/').repeat(200));
    await expect.poll(() => sockets[0]?.isPaused()).toBe(true);
    client.write(get('/').repeat(200_000));
    for (let i = 0; i < 20; i++) await fetch(`${url}/other`);
    expect(sockets[0]?.bytesRead).toBeLessThan(200_000);
    expect(client.destroyed).toBe(false);
    client.destroy();
    const flood = await connected(url);
    flood.write(get('/').repeat(2_000));
    await once(flood, 'close');
  });

  it('A server that handles one request at a time does not time out a request that is unread because earlier ones are being handled', async () => {
    const server = httpServer({
      ids: systemIds(systemClock().now),
      clock: systemClock(),
      origin: () => 'https://t.example',
      log: pino({ level: 'silent' }),
      trustProxy: false,
      onForbidden: () => undefined,
    });
    server.server.headersTimeout = 100;
    server.get('/slow', async () => pause(1_500, 'done'));
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    const [whole, cut] = [get('/slow').repeat(3), get('/slow').slice(0, 20)];
    const answered = exchange(url, whole + cut, {
      expected: 3,
      then: get('/slow', 'Connection: close\r\n').slice(20),
    });
    expect((await answered).answers.map(({ text }) => text)).toEqual([
      'done',
      'done',
      'done',
      'done',
    ]);
    await server.close();
  });
});
