import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import type { SMTPServerSession } from 'smtp-server';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { canonicalAddress } from '#contracts/mailbox.ts';
import { readConfig } from '#src/config.ts';
import type { MailDelivery } from '#src/ports/delivery.ts';
import { type Mailers, openMailers } from '#src/wiring/dispatchers.ts';
import { certificateFor } from '../support/processes/certificate.ts';
import { directories } from '../support/processes/directories.ts';
import { freePort } from '../support/processes/free-port.ts';
import { endMailServers, mailServer } from '../support/dispatch/mail-server.ts';

const { fresh, removeAll } = directories('mail-');
const { signal: NEVER } = new AbortController();

const open: Mailers[] = [];
const mailer = (url: string) => {
  const one = openMailers(
    readConfig({ MAIL_URL: url, MAIL_FROM: 'no-reply@house.example', DATA_DIR: fresh() }),
  );
  open.push(one);
  return (over: Partial<MailDelivery> = {}, signal = NEVER) =>
    one.live.deliver({ ...MESSAGE, ...over }, signal);
};
afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  await endMailServers();
});
afterAll(removeAll);

const MESSAGE: MailDelivery = {
  id: 'mal_1',
  sealedFor: 'mbx_staff',
  attempt: 1,
  to: 'sales@house.example',
  subject: 'New RFQ hnd_1',
  text: 'Tee für zwei ☕',
  html: '<p>Tee für zwei ☕</p>',
  at: Date.parse('2026-11-20T10:00:00Z'),
};
const DELIVERED = { outcome: 'delivered', evidence: 'smtp_250' };

const answer = (responseCode: number): Error => Object.assign(new Error('No'), { responseCode });

describe('An SMTP server', () => {
  it('An SMTP server gets the message with its id, time and both texts, and nothing remote', async () => {
    const { url, received } = await mailServer();
    expect(await mailer(url)()).toEqual(DELIVERED);
    const [{ from, to, raw } = { raw: '' }] = received;
    const mail = await PostalMime.parse(raw);
    expect({ from, to }).toEqual({ from: 'no-reply@house.example', to: ['sales@house.example'] });
    expect(mail).toMatchObject({
      messageId: '<mal_1@house.example>',
      date: '2026-11-20T10:00:00.000Z',
      subject: 'New RFQ hnd_1',
      text: 'Tee für zwei ☕\n',
      html: '<p>Tee für zwei ☕</p>\n',
    });
    expect(mail.headers).toContainEqual(
      expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
    );
  });

  it('An SMTP server gets several messages over one connection', async () => {
    let connections = 0;
    const { url, received } = await mailServer({
      onConnect(_session, done) {
        connections += 1;
        done();
      },
    });
    const deliver = mailer(url);
    for (const id of ['mal_1', 'mal_2', 'mal_3']) await deliver({ id });
    expect(received).toHaveLength(3);
    expect(connections).toBe(1);
  });

  it('An SMTP server gets a letter beyond ASCII before the @ if it knows SMTPUTF8, and a domain always in ASCII', async () => {
    const options: (boolean | undefined)[] = [];
    const onMailFrom = (_address: unknown, { envelope }: SMTPServerSession, done: () => void) => {
      options.push((envelope as { smtpUtf8?: boolean }).smtpUtf8);
      done();
    };
    const { url, received } = await mailServer({ onMailFrom });
    const deliver = mailer(url);
    for (const to of ['jörg@xn--bcher-kva.example', 'ada@xn--bcher-kva.example'])
      expect(await deliver({ to })).toEqual(DELIVERED);
    const headers = received.map(({ raw }) => /^To: (.*)$/m.exec(raw)?.[1] ?? '');
    expect(headers.map(canonicalAddress)).toEqual([
      'jörg@xn--bcher-kva.example',
      'ada@xn--bcher-kva.example',
    ]);
    expect(headers[1]).toBe('ada@xn--bcher-kva.example');
    expect(options.map(Boolean)).toEqual([true, false]);
  });

  it('An SMTP server without SMTPUTF8 gets no message for an address beyond ASCII, and the outcome says so', async () => {
    const { url, received } = await mailServer({ hideSMTPUTF8: true });
    const deliver = mailer(url);
    expect(await deliver({ to: 'jörg@shop.example' })).toEqual({
      outcome: 'refused',
      reason: 'smtputf8_missing',
    });
    expect(await deliver({ to: 'ada@xn--bcher-kva.example' })).toEqual(DELIVERED);
    expect(received).toHaveLength(1);
    const gone = mailer(`smtp://127.0.0.1:${await freePort()}`);
    expect(await gone({ to: 'jörg@shop.example' })).toMatchObject({ outcome: 'retry' });
  });

  it('An SMTP server that refuses the recipient or the message for good gets it once', async () => {
    const refusing = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('gone') ? answer(550) : null),
    });
    const deliver = mailer(refusing.url);
    expect(await deliver({ to: 'gone@house.example' })).toEqual({
      outcome: 'refused',
      reason: 'smtp_550',
    });
    expect(await deliver()).toEqual(DELIVERED);
    const spam = await mailServer({}, () => answer(554));
    expect(await mailer(spam.url)()).toEqual({ outcome: 'refused', reason: 'smtp_554' });
  });

  it('An SMTP server that defers the recipient, as greylisting does, or the message gets the message later', async () => {
    let tries = 0;
    const greylisting = await mailServer({
      onRcptTo: (_address, _session, done) => done((tries += 1) === 1 ? answer(451) : null),
    });
    const deliver = mailer(greylisting.url);
    expect(await deliver()).toEqual({ outcome: 'retry', reason: 'smtp_451' });
    expect(await deliver()).toEqual(DELIVERED);
    const full = await mailServer({}, () => answer(452));
    expect(await mailer(full.url)()).toEqual({ outcome: 'retry', reason: 'smtp_452' });
  });

  it('An SMTP server that drops the connection after it has the message leaves the outcome unknown', async () => {
    const { url, received } = await mailServer({}, (n, drop) => (n === 1 ? drop() : undefined));
    const deliver = mailer(url);
    expect(await deliver()).toEqual({ outcome: 'unknown', reason: 'smtp_econnection' });
    expect(await deliver({ attempt: 2 })).toEqual(DELIVERED);
    expect(new Set(received.map(({ raw }) => /^Message-ID: .*$/m.exec(raw)?.[0])).size).toBe(1);
  });

  it('An SMTP server that drops the connection before DATA has certainly not received the message', async () => {
    const server = await mailServer({ onMailFrom: () => server.drop() });
    expect(await mailer(server.url)()).toEqual({ outcome: 'retry', reason: 'smtp_econnection' });
  });

  it('A message to an SMTP server that does not run, or refuses the password, is tried again', async () => {
    const { url } = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(answer(535)),
    });
    expect(await mailer(`smtp://127.0.0.1:${await freePort()}`)()).toMatchObject({
      outcome: 'retry',
      reason: 'smtp_esocket',
    });
    const withPassword = url.replace('//', '//anna:p%40ss@');
    expect(await mailer(withPassword)()).toEqual({ outcome: 'retry', reason: 'smtp_535' });
  });

  it('A message to an SMTP server that answers too late is unknown or retried, as of the moment of the abort', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await mailServer({
      onData: (stream) => {
        stream.resume();
        stream.on('end', () => arrived.resolve());
      },
    });
    const cut = new AbortController();
    const result = mailer(url)({}, cut.signal);
    await arrived.promise;
    cut.abort();
    expect(await result).toMatchObject({ outcome: 'unknown' });
    expect(await mailer(url)({}, cut.signal)).toMatchObject({ outcome: 'retry' });
  });
});

describe('An address beyond ASCII', () => {
  it('Mail to an address beyond ASCII is sent as it is', async () => {
    const { url, received } = await mailServer();
    const deliver = mailer(url);
    expect(await deliver({ to: 'jürgen@bücher.example' })).toEqual(DELIVERED);
    expect(await deliver({ to: 'info@bücher.example' })).toEqual(DELIVERED);
    expect(received.map(({ to }) => to.join())).toEqual([
      'jürgen@bücher.example',
      'info@bücher.example',
    ]);
  });

  it('Mail to an address beyond ASCII is refused by a server that does not support it', async () => {
    const { url, received } = await mailServer({
      hideSMTPUTF8: true,
      onRcptTo: ({ address }, _session, done) => done(/[^ -~]/.test(address) ? answer(553) : null),
    });
    expect(await mailer(url)({ to: 'jürgen@bücher.example' })).toMatchObject({
      outcome: 'refused',
    });
    expect(received).toEqual([]);
  });

  it('An address that holds a line break or a second address reaches no second recipient', async () => {
    const { url, received } = await mailServer();
    const deliver = mailer(url);
    for (const to of ['a@b.example>\r\nRCPT TO:<c@d.example', 'a@b.example, c@d.example'])
      await deliver({ to });
    expect(received.flatMap(({ to }) => to)).not.toContain('c@d.example');
  });
});

describe('TLS', () => {
  const certificate = certificateFor('localhost');
  const secure = () => mailServer({ ...certificate, secure: true, disabledCommands: [] });

  it('TLS with a certificate of a known authority is used', async () => {
    const { port, received } = await secure();
    const file = join(fresh(), 'ca.crt');
    writeFileSync(file, certificate.cert);
    expect(await mailer(`smtps://localhost:${port}?tlsCAFile=${file}`)()).toEqual(DELIVERED);
    expect(received[0]?.isSecure).toBe(true);
  });

  it('TLS with a certificate that cannot be verified, or of another name, sends nothing', async () => {
    const { port, received } = await secure();
    const file = join(fresh(), 'ca.crt');
    writeFileSync(file, certificate.cert);
    for (const url of [`smtps://localhost:${port}`, `smtps://127.0.0.1:${port}?tlsCAFile=${file}`])
      expect(await mailer(url)()).toMatchObject({ outcome: 'retry' });
    expect(received).toEqual([]);
    const upgraded = await mailServer({ ...certificate, disabledCommands: [] });
    expect(await mailer(`smtp://0.0.0.0:${upgraded.port}`)()).toMatchObject({ outcome: 'retry' });
    expect(upgraded.received).toEqual([]);
  });

  it('TLS is required of a server on another machine', async () => {
    const { port, received } = await mailServer();
    // This address reaches this machine, and is not one of its names.
    expect(await mailer(`smtp://0.0.0.0:${port}`)()).toMatchObject({ outcome: 'retry' });
    expect(received).toEqual([]);
  });

  it('An unreadable file of tlsCAFile ends the start', () => {
    const file = join(fresh(), 'none.crt');
    rmSync(file, { force: true });
    expect(() => mailer(`smtps://u:secret@host.example?tlsCAFile=${file}`)).toThrow(
      /^MAIL_URL cannot be used: the file of tlsCAFile cannot be read/,
    );
  });
});
