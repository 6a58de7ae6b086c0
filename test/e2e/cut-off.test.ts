/** A process without its log, or after a pause: it accepts no credential by outdated rows. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { until } from '../support/clients/cli.ts';
import { linkTo } from '../support/clients/link.ts';
import { endLogServers, logServer, type LogServer } from '../support/eventstoredb/log-server.ts';

const SETTINGS = { ROOT_KEY: Buffer.alloc(32, 9).toString('base64') };
const BOUND_MS = LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX;
const PRODUCTS = '/api/affiliate/v1/products';
/** Long enough for the process to notice the pause. */
const PAUSE_MS = 2_500;
/** Needs no credential, so that it is answered although the log is unreachable. */
const PUBLIC_PAGE = '/llms.txt';
let server: LogServer;

beforeEach(async () => {
  server = await logServer();
});
afterEach(endLogServers);

const urlOf = (port: number): string => server.url.replace(String(server.port), String(port));

test('A process rejects every credential after ten seconds without its log, until the log answers', async () => {
  const app: TestApp = await testApp({ ...SETTINGS, EVENT_LOG_URL: server.url });
  try {
    await app.publish([feedProduct('MUG-1')]);
    const { key } = await app.agent('acme');
    const rpc = { jsonrpc: '2.0', id: 1 };
    const ask = {
      rest: () => app.send({ method: 'GET', url: PRODUCTS, key }),
      desk: () => app.desk('GET', '/agents?owner_id=acme'),
      mcp: () =>
        app.send({
          method: 'POST',
          url: '/api/affiliate/mcp',
          key,
          headers: { accept: 'application/json, text/event-stream' },
          payload: { ...rpc, method: 'tools/list' },
        }),
      a2a: () =>
        app.send({
          method: 'POST',
          url: '/api/affiliate/a2a',
          key,
          headers: { 'a2a-version': '1.0' },
          payload: { ...rpc, method: 'ListTasks', params: {} },
        }),
    };
    const isOpen = async (): Promise<boolean> => {
      const answers = await Promise.all(Object.values(ask).map((each) => each()));
      return answers.every(({ status }) => status < 500);
    };
    expect(await isOpen()).toBe(true);
    server.freeze();
    try {
      app.clock.pause(BOUND_MS - 2_000);
      // A write needs a confirmation within the last second, so it is refused before it is sent.
      const target = { kind: 'search', ref: 'mugs' };
      const write = { method: 'POST' as const, url: '/api/affiliate/v1/links', key };
      const headers = { 'idempotency-key': freshKey() };
      expect(await app.send({ ...write, headers, payload: { target } })).toMatchObject({
        status: 503,
        body: { code: 'storage_unavailable', outcome: 'none' },
      });
      expect((await ask.rest()).status).toBe(200);
      app.clock.pause(2_001);
      for (const [surface, each] of Object.entries(ask)) {
        const answer = await each();
        expect(answer.text, surface).toContain('does not answer this process');
        // JSON-RPC reports errors of a valid request in the body.
        expect(answer.status, surface).toBe(surface === 'a2a' ? 200 : 503);
        expect(answer.headers['retry-after'], surface).toBe('1');
      }
      const { body } = await ask.rest();
      expect(body).toMatchObject({ code: 'storage_unavailable', outcome: 'none' });
      for (const url of ['/', '/llms.txt'])
        expect((await app.send({ method: 'GET', url })).status, url).toBe(200);
    } finally {
      server.thaw();
    }
    expect(await until(isOpen)).toBe(true);
  } finally {
    await app.close();
  }
});

test('A process rejects a key that was revoked while the process was paused', async () => {
  const link = await linkTo(server.port);
  const open = (port: number) => testApp({ ...SETTINGS, EVENT_LOG_URL: urlOf(port) });
  const [one, other] = await Promise.all([open(server.port), open(link.port)]);
  try {
    const origin = await other.service.listen();
    const { key, keyId } = await one.agent('acme');
    const headers = { authorization: `Bearer ${key}` };
    const ask = async () => (await fetch(origin + PRODUCTS, { headers })).status;
    expect(await until(async () => (await ask()) === 200)).toBe(true);
    // The process has not read any event since the pause began.
    link.cut();
    other.clock.pause(PAUSE_MS);
    expect((await one.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' })).status).toBe(
      200,
    );
    const answers = [ask(), ask(), ask()];
    const isAnswered = Promise.race(answers).then(() => true);
    for (let n = 0; n < 3; n++) {
      const page = fetch(origin + PUBLIC_PAGE).then(() => false);
      expect(await Promise.race([isAnswered, page])).toBe(false);
    }
    link.mend();
    expect(await Promise.all(answers)).toEqual([401, 401, 401]);
  } finally {
    link.mend();
    await Promise.all([one.close(), other.close()]);
    link.close();
  }
});
