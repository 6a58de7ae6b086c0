/** Files over slow lines: the service waits, within bounds, for people who are signed in, and not for others. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { UPLOAD_WAIT_MS } from '#src/web/http.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { browsing, type Browsing, invite, signedInAs } from '../support/world/browsing.ts';

const PAGE = '/desk/catalog/import';
const FEED = 'id,title,price,available_quantity\nMUG-1,Mug,2.50 GBP,9\n';

let app: TestApp;
let port: number;
let staff: Browsing;
beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  port = Number(new URL(await app.service.listen()).port);
  staff = await signedInAs(app, await invite(app, ['staff']));
});
afterAll(() => app.close());
afterEach(() => {
  vi.useRealTimers();
  const { REQUEST_WAIT_MS: requestTimeout, HEADERS_WAIT_MS: headersTimeout } = LIMITS;
  Object.assign(app.service.server.server, { requestTimeout, headersTimeout });
});

/** An upload whose body arrives in two parts. */
type Upload = { client: Socket; request: IncomingMessage; rest: Buffer; answer: Promise<string> };

/** Sends a feed without the end of its form, and resolves once the service reads it. */
const begin = async (browser: Browsing): Promise<Upload> => {
  const form = new FormData();
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.get(PAGE)).text)?.[1] ?? '';
  for (const [name, value] of Object.entries({ csrf, text: FEED })) form.append(name, value);
  const sent = new Response(form);
  const body = Buffer.from(await sent.arrayBuffer());
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const client = connect(port).on('error', () => undefined);
  const arrived = once(app.service.server.server, 'request');
  client.write(
    `POST ${PAGE}/preview HTTP/1.1\r\nHost: t.example\r\nSec-Fetch-Site: same-origin\r\nCookie: ${cookie}\r\n` +
      `Content-Type: ${sent.headers.get('content-type')}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
  );
  client.write(body.subarray(0, 100));
  const answer = (async () => {
    const parts: Buffer[] = [];
    for await (const part of client) parts.push(part as Buffer);
    return Buffer.concat(parts).toString();
  })();
  const [request] = (await arrived) as [IncomingMessage];
  return { client, request, rest: body.subarray(100), answer };
};
const isRead = async ({ request }: Upload): Promise<void> => {
  await expect.poll(() => request.listenerCount('readable')).toBeGreaterThan(0);
};

/** Pauses the clock of all waits that begin from here on. */
const holdTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

describe('An upload over a slow line', () => {
  it('A file of somebody who is signed in is read to its end after the time in which other requests must arrive', async () => {
    const { server } = app.service.server;
    const upload = await begin(staff);
    await isRead(upload);
    const reported = once(server, 'clientError');
    Object.assign(server, { requestTimeout: 1, headersTimeout: 1 });
    await reported;
    upload.client.write(upload.rest);
    expect(await upload.answer).toContain('What would change');
  });

  it('An upload that brings no byte within that time ends with 408', async () => {
    holdTimers();
    const upload = await begin(staff);
    await isRead(upload);
    vi.advanceTimersByTime(LIMITS.REQUEST_WAIT_MS);
    expect(await upload.answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('An upload that brings a byte in time ends with 408 after UPLOAD_WAIT_MS', async () => {
    holdTimers();
    const upload = await begin(staff);
    await isRead(upload);
    const pauseMs = LIMITS.REQUEST_WAIT_MS - 1;
    for (let waited = 0; waited + pauseMs < UPLOAD_WAIT_MS; waited += pauseMs) {
      vi.advanceTimersByTime(pauseMs);
      expect(upload.client.readyState).toBe('open');
      const arrived = once(upload.request, 'readable');
      upload.client.write(upload.rest.subarray(0, 1));
      await arrived;
      await turn();
    }
    vi.advanceTimersByTime(pauseMs);
    expect(await upload.answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('A file of a stranger is not read: the sign-in is answered at once', async () => {
    const upload = await begin(browsing(app));
    expect(await upload.answer).toMatch(/^HTTP\/1\.1 303 .*\r\n(?:.+\r\n)*location: \/signin/i);
    expect(upload.request.listenerCount('readable')).toBe(0);
  });
});
