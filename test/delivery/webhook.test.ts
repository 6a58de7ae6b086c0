/** The webhook channel with receivers on loopback sockets, verified by the receivers' library. */
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { guardedRequest } from '#src/delivery/http.ts';
import { webhookChannel } from '#src/delivery/channels.ts';
import type { Delivery } from '#src/ports/delivery.ts';
import { systemClock } from '#src/system/ids.ts';
import { deliveryTo, SECRETS } from '../support/world/deliveries.ts';
import { freePort } from '../support/processes/free-port.ts';
import {
  endReceivers,
  rawReceiver,
  receiver,
  stallingReceiver,
} from '../support/world/receivers.ts';

afterEach(endReceivers);

const { signal: NEVER } = new AbortController();

const deliver = (host: string, over: Partial<Delivery> = {}) =>
  webhookChannel({
    request: guardedRequest({ privateHosts: [host] }),
    clock: systemClock(),
  }).deliver(deliveryTo({ url: `http://${host}/in?k=1`, ...over }), NEVER);

/** The outcome after an answer with this status and these headers. */
const after = async (status: number, headers: Record<string, string> = {}, body = '') => {
  const { host } = await receiver({
    answer: (_received, response) => response.writeHead(status, headers).end(body),
  });
  return deliver(host);
};

describe('A webhook', () => {
  it('A webhook sends exactly the approved bytes, signed by Standard Webhooks', async () => {
    const { host, received } = await receiver();
    const text = JSON.stringify({ text: 'Tee für zwei ☕', html: '</script>' });
    expect(await deliver(host, { envelope: text })).toEqual({
      outcome: 'delivered',
      evidence: 'http_204',
    });
    const [got] = received;
    if (!got) throw new Error('nothing came');
    expect(got).toMatchObject({ method: 'POST', url: '/in?k=1', body: text });
    expect(got.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'out_1.2',
    });
    const first = new Webhook(SECRETS[0]);
    expect(first.verify(got.body, got.headers)).toEqual(JSON.parse(text));
    // While a secret is replaced, receivers with the previous one can verify, too.
    expect(new Webhook(SECRETS[1]).verify(got.body, got.headers)).toEqual(JSON.parse(text));
    expect(() => new Webhook('whsec_b3RoZXIgc2VjcmV0').verify(got.body, got.headers)).toThrow();
    expect(() => first.verify(`${got.body} `, got.headers)).toThrow();
    const old = {
      ...got.headers,
      'webhook-timestamp': String(Number(got.headers['webhook-timestamp']) - 301),
    };
    expect(() => first.verify(got.body, old)).toThrow();
  });

  it('A webhook has the same id in each attempt, and the time of the attempt', async () => {
    const { host, received } = await receiver();
    await deliver(host, { attempt: 1 });
    await deliver(host, { attempt: 2 });
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(['out_1.2', 'out_1.2']);
  });

  it('A webhook is delivered only by a 2xx status, and stores only a safe id as evidence', async () => {
    const json = { 'content-type': 'application/json' };
    expect(await after(200, json, '{"id":"msg_1"}')).toEqual({
      outcome: 'delivered',
      evidence: 'http_200 msg_1',
    });
    for (const body of [
      '{"id":"<b>"}',
      `{"id":"${'x'.repeat(101)}"}`,
      '{"id":7}',
      'null',
      'no json',
    ])
      expect(await after(202, json, body)).toEqual({ outcome: 'delivered', evidence: 'http_202' });
    expect(await after(200, {}, 'x'.repeat(100_000))).toMatchObject({ outcome: 'delivered' });
  });

  it.each([301, 302, 304, 307, 308, 400, 401, 403, 404, 409, 413, 422, 451])(
    'A webhook is refused by %i',
    async (status) =>
      expect(await after(status, { location: 'https://example.com/' })).toEqual({
        outcome: 'refused',
        reason: `http_${status}`,
      }),
  );

  it('A webhook is refused and disabled by 410', async () => {
    expect(await after(410)).toEqual({ outcome: 'refused', reason: 'http_410', disable: true });
  });

  it.each([408, 429, 503])(
    'A webhook is retried after %i, at the time of Retry-After',
    async (status) => {
      const reason = `http_${status}`;
      const wait = async (value: string) => {
        const result = await after(status, { 'retry-after': value });
        expect(result).toMatchObject({ outcome: 'retry', reason });
        return result.outcome === 'retry' ? result.retryAfterMs : undefined;
      };
      expect(await after(status)).toEqual({ outcome: 'retry', reason });
      expect(await wait('120')).toBe(120_000);
      expect(await wait('999999999')).toBe(86_400_000);
      expect(await wait('soon')).toBeUndefined();
      const inAnHour = new Date(systemClock().now() + 3_600_000).toUTCString();
      expect(await wait(inAnHour)).toBeGreaterThan(3_590_000);
      expect(await wait('Wed, 21 Oct 2015 07:28:00 GMT')).toBe(0);
    },
  );

  it.each([500, 501, 502, 504])('A webhook has an unknown outcome after %i', async (status) =>
    expect(await after(status)).toEqual({ outcome: 'unknown', reason: `http_${status}` }),
  );

  it('A webhook is retried when nothing was sent, and otherwise unknown', async () => {
    const dead = `127.0.0.1:${await freePort()}`;
    expect(await deliver(dead)).toEqual({ outcome: 'retry', reason: 'connect_failed' });
    const reset = await rawReceiver((socket) => socket.resetAndDestroy());
    expect(await deliver(reset.host)).toEqual({ outcome: 'unknown', reason: 'connection_lost' });
    const silent = await stallingReceiver();
    expect(await deliver(silent.host)).toEqual({ outcome: 'unknown', reason: 'timeout' });
  });

  it('A webhook is not sent to a forbidden host, or when it is too large', async () => {
    const { host, received } = await receiver();
    expect(await deliver('127.0.0.1:1', { url: `http://${host}/` })).toEqual({
      outcome: 'refused',
      reason: 'scheme_not_allowed',
    });
    const long = { envelope: 'x'.repeat(20_001) };
    expect(await deliver(host, long)).toEqual({ outcome: 'refused', reason: 'payload_too_large' });
    expect(received).toEqual([]);
  });
});
