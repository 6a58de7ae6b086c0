/** The channel of push notifications with receivers on loopback sockets. */
import { afterEach, describe, expect, it } from 'vitest';
import { guardedRequest } from '#src/delivery/http.ts';
import { pushChannel } from '#src/delivery/channels.ts';
import { systemClock } from '#src/system/ids.ts';
import { freePort } from '../support/processes/free-port.ts';
import { endReceivers, receiver, stallingReceiver } from '../support/world/receivers.ts';

afterEach(endReceivers);

const { signal: NEVER } = new AbortController();
const SENT = { id: 'psh_1.1', body: '{"task":{}}', signature: 'h..s' };

const deliver = (url: string, privateHosts: string[], over: object = {}) =>
  pushChannel({
    request: guardedRequest({ privateHosts }),
    clock: systemClock(),
  }).deliver({ ...SENT, url, ...over }, NEVER);

describe('A push notification', () => {
  it('A push notification is a POST with the body, the signature and the secrets that are set', async () => {
    const { host, received } = await receiver();
    const url = `http://${host}/in?k=1`;
    expect(await deliver(url, [host])).toEqual({ outcome: 'delivered', evidence: 'http_204' });
    await deliver(url, [host], { token: 't', authorization: 'Basic YTpi' });
    const [bare, full] = received;
    expect(bare).toMatchObject({ method: 'POST', url: '/in?k=1', body: SENT.body });
    expect(bare?.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'x-a2a-notification-id': 'psh_1.1',
      'x-a2a-notification-signature': 'h..s',
    });
    expect(bare?.headers).not.toHaveProperty('authorization');
    expect(bare?.headers).not.toHaveProperty('x-a2a-notification-token');
    expect(full?.headers).toMatchObject({
      authorization: 'Basic YTpi',
      'x-a2a-notification-token': 't',
    });
  });

  it('A push notification follows no redirect, not even to an allowed address', async () => {
    const target = await receiver();
    const { host } = await receiver({
      answer: (_received, response) =>
        response.writeHead(307, { location: `http://${target.host}/` }).end(),
    });
    expect(await deliver(`http://${host}/`, [host, target.host])).toEqual({
      outcome: 'refused',
      reason: 'http_307',
    });
    expect(target.connections()).toBe(0);
  });

  it('A push notification opens no connection to an address that is not public', async () => {
    const { host, connections } = await receiver();
    expect(await deliver(`https://${host}/`, [])).toEqual({
      outcome: 'refused',
      reason: 'address_not_public',
    });
    expect(connections()).toBe(0);
  });

  it.each([
    [500, { outcome: 'unknown', reason: 'http_500' }],
    [503, { outcome: 'retry', reason: 'http_503' }],
    [404, { outcome: 'refused', reason: 'http_404' }],
    [410, { outcome: 'refused', reason: 'http_410', disable: true }],
  ] as const)(
    'A push notification that is answered %i ends with what is certain',
    async (status, result) => {
      const { host } = await receiver({
        answer: (_received, response) => response.writeHead(status).end(),
      });
      expect(await deliver(`http://${host}/`, [host])).toEqual(result);
    },
  );

  it('A push notification without an answer has an unknown outcome, and one without a connection none', async () => {
    const { host } = await stallingReceiver();
    expect(await deliver(`http://${host}/`, [host])).toEqual({
      outcome: 'unknown',
      reason: 'timeout',
    });
    const dead = `127.0.0.1:${await freePort()}`;
    expect(await deliver(`http://${dead}/`, [dead])).toEqual({
      outcome: 'retry',
      reason: 'connect_failed',
    });
  });
});
