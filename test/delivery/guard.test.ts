/** The guarded request on real sockets: where it connects, and how it reports failures. */
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { LookupAddress } from 'node:dns';
import { isPublic, guardedRequest, type GuardOptions } from '#src/delivery/http.ts';
import { certificateFor } from '../support/processes/certificate.ts';
import { freePort } from '../support/processes/free-port.ts';
import {
  endReceivers,
  rawReceiver,
  receiver,
  stallingReceiver,
} from '../support/world/receivers.ts';

afterEach(endReceivers);

const NEVER = new AbortController().signal;
const v4 = (address: string): LookupAddress => ({ address, family: 4 });

const ask = (url: string, options: Partial<GuardOptions> = {}, signal = NEVER) =>
  guardedRequest({ privateHosts: [], ...options })(
    { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
    signal,
  );

describe('An IP address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4001:80b::200e'])(
    'The IP address %s is public',
    (address) => expect(isPublic(address)).toBe(true),
  );

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['100.64.0.1', 'carrier'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'cloud metadata'],
    ['172.16.0.1', 'private'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'benchmark'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'mapped'],
    ['::ffff:8.8.8.8', 'mapped'],
    ['::127.0.0.1', 'compatible'],
    ['::ffff:0:127.0.0.1', 'translated'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['64:ff9b:1::7f00:1', 'local NAT64'],
    ['2002:7f00:1::', '6to4'],
    ['2001:0:7f00:1::', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['fc00::1', 'unique local'],
    ['fd00:ec2::254', 'cloud metadata'],
    ['fe80::1', 'link local'],
    ['fe80::1%eth0', 'link local with a zone'],
    ['fec0::1', 'site local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'unallocated'],
    ['no address', 'text'],
  ])('The IP address %s is not public (%s)', (address) => expect(isPublic(address)).toBe(false));
});

describe('A host that is not public', () => {
  it('A host that is not public gets no connection, in any spelling', async () => {
    const trap = await receiver();
    const { port } = trap;
    const forbidden = { kind: 'forbidden', reason: 'address_not_public' };
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '127.1',
      '0',
      '①②⑦.⓪.⓪.①',
      '127。0。0。1',
      '127.0.0.1.',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '169.254.169.254',
      '[fd00:ec2::254]',
      'localhost',
      'localhost.',
      'LOCALHOST',
      'db.localhost',
    ])
      expect(await ask(`https://${host}:${port}/`), host).toEqual(forbidden);
    expect(trap.connections()).toBe(0);
  });

  it('A host that is not public is refused when only one of its addresses is private, the first or the last', async () => {
    const trap = await receiver();
    for (const addresses of [
      [v4('8.8.8.8'), v4('127.0.0.1')],
      [v4('127.0.0.1'), v4('8.8.8.8')],
    ])
      expect(
        await ask(`https://mixed.test:${trap.port}/`, { resolve: async () => addresses }),
      ).toEqual({ kind: 'forbidden', reason: 'address_not_public' });
    expect(trap.connections()).toBe(0);
  });

  it.each([
    ['http://example.com/', 'scheme_not_allowed'],
    ['file:///etc/passwd', 'scheme_not_allowed'],
    ['gopher://example.com/', 'scheme_not_allowed'],
    ['https://user@example.com/', 'url_has_userinfo'],
    ['https://user:pass@example.com/', 'url_has_userinfo'],
    ['https://example.com@127.0.0.1/', 'url_has_userinfo'],
    ['https://example.com:22/', 'port_not_allowed'],
    ['https://example.com:25/', 'port_not_allowed'],
    ['https://example.com:1023/', 'port_not_allowed'],
    ['no url', 'url_invalid'],
  ])(
    'A host that is not public or a forbidden URL is refused before a lookup: %s',
    async (url, reason) => {
      let lookups = 0;
      const resolve = async () => ((lookups += 1), [v4('8.8.8.8')]);
      expect(await ask(url, { resolve })).toEqual({ kind: 'forbidden', reason });
      expect(lookups).toBe(0);
    },
  );

  it('A host that is not public is permitted when the operator names it with its port', async () => {
    const inside = await receiver();
    const privateHosts = [`127.0.0.1:${inside.port}`];
    expect(await ask(`http://127.0.0.1:${inside.port}/x?y=1`, { privateHosts })).toMatchObject({
      kind: 'answer',
      status: 204,
    });
    expect(inside.received[0]).toMatchObject({ method: 'POST', url: '/x?y=1', body: '{"a":1}' });
    const other = await receiver();
    expect(await ask(`http://127.0.0.1:${other.port}/`, { privateHosts })).toMatchObject({
      kind: 'forbidden',
    });
    expect(await ask(`http://u@127.0.0.1:${inside.port}/`, { privateHosts })).toMatchObject({
      kind: 'forbidden',
    });
    expect(other.connections()).toBe(0);
  });
});

describe('A host name', () => {
  const names = certificateFor('hook.test');
  const isAllowed = (address: string) => address === '127.0.0.2';

  it('A host name is resolved once, and the checked address is used', async () => {
    const checked = await receiver({ host: '127.0.0.2', tls: names });
    let lookups = 0;
    const resolve = async () => {
      lookups += 1;
      return [v4(lookups === 1 ? '127.0.0.2' : '127.0.0.1')];
    };
    const answer = await ask(`https://hook.test:${checked.port}/in`, {
      resolve,
      isAllowed,
      ca: names.cert,
    });
    expect(answer).toMatchObject({ kind: 'answer', status: 204 });
    expect(lookups).toBe(1);
    expect(checked.received[0]).toMatchObject({
      servername: 'hook.test',
      headers: { host: `hook.test:${checked.port}` },
    });
  });

  it('A host name must match the certificate, which a known authority must have signed', async () => {
    const here = await receiver({ host: '127.0.0.2', tls: names });
    const resolve = async () => [v4('127.0.0.2')];
    const unsent = { kind: 'unsent', reason: 'tls_failed' };
    const other = `https://other.test:${here.port}/`;
    expect(await ask(other, { resolve, isAllowed, ca: names.cert })).toEqual(unsent);
    const right = `https://hook.test:${here.port}/`;
    expect(await ask(right, { resolve, isAllowed })).toEqual(unsent);
    expect(here.received).toEqual([]);
  });

  it('A host name that cannot be resolved in time leaves the request unsent', async () => {
    const none = async () => Promise.reject(new Error('ENOTFOUND'));
    expect(await ask('https://hook.test/', { resolve: none })).toEqual({
      kind: 'unsent',
      reason: 'dns_failed',
    });
    expect(await ask('https://hook.test/', { resolve: async () => [] })).toMatchObject({
      kind: 'unsent',
    });
    const never = () => new Promise<LookupAddress[]>(() => {});
    expect(await ask('https://hook.test/', { resolve: never, timeoutMs: 20 })).toEqual({
      kind: 'unsent',
      reason: 'timeout',
    });
  });
});

describe('A failed request', () => {
  const inside = (host: string, options: Partial<GuardOptions> = {}, signal = NEVER) =>
    ask(`http://${host}/`, { privateHosts: [host], ...options }, signal);

  it('A failed request without a connection is reported as unsent', async () => {
    const host = `127.0.0.1:${await freePort()}`;
    expect(await inside(host)).toEqual({ kind: 'unsent', reason: 'connect_failed' });
    expect(await inside(host, {}, AbortSignal.abort())).toMatchObject({ kind: 'unsent' });
  });

  it('A failed request in the TLS handshake is reported as unsent, even if the handshake never ends', async () => {
    const plain = await rawReceiver((socket) => socket.end('what?'));
    const url = `https://${plain.host}/`;
    const options = { privateHosts: [plain.host] };
    expect(await ask(url, options)).toEqual({ kind: 'unsent', reason: 'tls_failed' });
    const silent = await rawReceiver(() => {});
    expect(
      await ask(`https://${silent.host}/`, { privateHosts: [silent.host], timeoutMs: 50 }),
    ).toEqual({ kind: 'unsent', reason: 'timeout' });
    expect(plain.heard.concat(silent.heard).join()).not.toContain('POST');
  });

  it('A failed request is reported as lost once something was written', async () => {
    for (const behave of [
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.end('SSH-2.0-x\r\n'),
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'),
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`),
      (socket: Socket) =>
        socket.end('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    ]) {
      const { host } = await rawReceiver(behave);
      expect(await inside(host)).toEqual({ kind: 'lost', reason: 'connection_lost' });
    }
    const { host } = await stallingReceiver();
    expect(await inside(host)).toEqual({ kind: 'lost', reason: 'timeout' });
    const cut = new AbortController();
    const waiting = await rawReceiver(() => cut.abort());
    expect(await inside(waiting.host, {}, cut.signal)).toEqual({ kind: 'lost', reason: 'timeout' });
  });

  it('A request is answered once a status has arrived, even if the body is cut off', async () => {
    const head = 'HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\n';
    const cut = await rawReceiver((socket) => socket.end(`${head}half`));
    expect(await inside(cut.host)).toMatchObject({ kind: 'answer', status: 202, end: 'broken' });
    const bad = await rawReceiver((socket) =>
      socket.end('HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
    );
    expect(await inside(bad.host)).toMatchObject({ kind: 'answer', status: 202, end: 'broken' });
    const slow = await stallingReceiver(`${head}half`);
    expect(await inside(slow.host)).toMatchObject({
      kind: 'answer',
      status: 202,
      body: 'half',
      end: 'broken',
    });
    const endless = await receiver({
      answer: (_received, response) => {
        const more = (): void =>
          void (response.destroyed || response.write('x'.repeat(8_192), more));
        more();
      },
    });
    const long = await inside(endless.host);
    expect(long).toMatchObject({ kind: 'answer', status: 200, end: 'too_long' });
    expect(long.kind === 'answer' && long.body.length).toBeLessThanOrEqual(65_536);
  });

  it('A request does not follow a redirect', async () => {
    const trap = await receiver();
    const first = await receiver({
      answer: (_received, response) =>
        response.writeHead(307, { location: `http://${trap.host}/` }).end(),
    });
    const privateHosts = [first.host, trap.host];
    expect(await ask(`http://${first.host}/`, { privateHosts })).toMatchObject({ status: 307 });
    expect(trap.connections()).toBe(0);
  });
});
