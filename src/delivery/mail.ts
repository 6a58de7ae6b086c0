/** Mail, by SMTP or into a directory. */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unescape } from 'node:querystring';
import type { Readable } from 'node:stream';
import { type SendMailOptions, createTransport } from 'nodemailer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import PostalMime from 'postal-mime';
import type { MailDelivery, Mailer, DeliveryResult } from '#src/ports/delivery.ts';
import { FILE_LIMIT_MS, type Outbox, storeFile } from './stored-file.ts';

/** Whom letters are from. The name is empty if no house is named. */
export type Sender = { name: string; address: string };

/**
 * The options from which nodemailer makes the message. The same delivery gives the same bytes at each attempt: its id is
 * in the Message-ID, and separates the parts.
 */
const mailOptions = (
  from: Sender,
  { id, to, subject, text, html, at }: MailDelivery,
): SendMailOptions => ({
  // As objects, because a text would be parsed as a list of addresses.
  from,
  to: { name: '', address: to },
  subject,
  text,
  html,
  messageId: `<${id}@${/@([^>]+)/.exec(from.address)?.[1] ?? 'localhost'}>`,
  date: new Date(at),
  baseBoundary: id,
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
});

/** The file of a message: its id and the subject of its seal. */
const FILE = /^(mal_[0-9a-z]{1,64})\.([a-z]+_[0-9a-z]{1,64})\.eml$/;
/** The same, and what a killed attempt left of it. */
const ANY_FILE = /^\.?mal_[0-9a-z]{1,64}\.([a-z]+_[0-9a-z]{1,64})\.(?:eml|\d+\.tmp)$/;

/** Stores each message as `{mail_id}.{subject}.eml`, for people to read; nothing leaves the machine. */
export const directoryMailer = (outbox: Outbox, from: Sender): Mailer => {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    limitMs: FILE_LIMIT_MS,
    async deliver(delivery) {
      const name = `${delivery.id}.${delivery.sealedFor}.eml`;
      if (!FILE.test(name)) throw new Error(`not a valid file name: ${name}`);
      const { message } = await composer.sendMail(mailOptions(from, delivery));
      return storeFile(outbox, { name, bytes: message as Buffer, attempt: delivery.attempt });
    },
  };
};

/** A stored message. `date` is an ISO time; absent if the file was changed. */
type StoredMail = {
  id: string;
  date?: string;
  from: string;
  to: string;
  subject: string;
  text: string;
};

/** A directory or a file that does not exist, or is removed meanwhile, counts as `missing`. */
const unlessMissing = async <Value>(read: Promise<Value>, missing: Value): Promise<Value> => {
  try {
    return await read;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return missing;
    throw error;
  }
};

const namesIn = (directory: string): Promise<string[]> => unlessMissing(readdir(directory), []);

const parseFile = async (path: string, id: string): Promise<StoredMail | undefined> => {
  const bytes = await unlessMissing<Buffer | undefined>(readFile(path), undefined);
  if (!bytes) return undefined;
  const { date, from, to = [], subject = '', text = '' } = await PostalMime.parse(bytes);
  return {
    id,
    ...(date !== undefined && { date }),
    from: from?.address ?? '',
    to: to.map(({ address }) => address).join(', '),
    subject,
    text,
  };
};

/** Reads a stored message; undefined if there is none with this id. */
export const readStoredMail = async (
  directory: string,
  id: string,
): Promise<StoredMail | undefined> => {
  const name = (await namesIn(directory)).find((each) => FILE.exec(each)?.[1] === id);
  return name === undefined ? undefined : parseFile(join(directory, name), id);
};

/** Lists the stored messages, oldest first. A directory that does not exist has none. */
export const listStoredMail = async (directory: string): Promise<StoredMail[]> => {
  const files = (await namesIn(directory)).flatMap((name) => {
    const id = FILE.exec(name)?.[1];
    return id === undefined ? [] : [{ id, path: join(directory, name) }];
  });
  const mails = await Promise.all(files.map(({ id, path }) => parseFile(path, id)));
  return mails
    .filter((mail) => mail !== undefined)
    .toSorted((a, b) => (a.date ?? '').localeCompare(b.date ?? '') || a.id.localeCompare(b.id));
};

/**
 * Removes the messages that were stored before `before`, in epoch milliseconds, and those of erased subjects; resolves to
 * their number.
 */
export const removeStoredMail = async (
  directory: string,
  { before, isErased }: { before: number; isErased(subject: string): Promise<boolean> },
): Promise<number> => {
  const erased = new Map<string, Promise<boolean>>();
  let removed = 0;
  for (const name of await namesIn(directory)) {
    const subject = ANY_FILE.exec(name)?.[1];
    if (subject === undefined) continue;
    const path = join(directory, name);
    const isKnownErased = erased.get(subject) ?? isErased(subject);
    erased.set(subject, isKnownErased);
    const file = await unlessMissing(stat(path), undefined);
    if (!file || (file.mtimeMs >= before && !(await isKnownErased))) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
};

const CONNECT_MS = 10_000;
/** RFC 5321 (4.5.3.2) allows servers more; a slower one counts as lost. */
const ANSWER_MS = 20_000;
const LIMIT_MS = 45_000;
const CONNECTIONS_MAX = 4;

/** `url` is valid and has only known options; `ca` replaces the certificate authorities of the system. */
type SmtpOptions = { url: URL; ca?: string | undefined; isLocal: boolean; from: Sender };

/** What nodemailer says of a failure. Its texts can quote the server, so they are never passed on. */
type Failure = { code?: string; command?: string; responseCode?: number };

/**
 * Sends mail to an SMTP server over at most CONNECTIONS_MAX connections, which it keeps. `smtps:` is TLS from the start;
 * `smtp:` requires STARTTLS, unless the server is on this machine. Certificates are verified.
 */
export const smtpMailer = ({ url, ca, isLocal, from }: SmtpOptions): Mailer & { close(): void } => {
  const { hostname, port, username, password, protocol } = url;
  const secure = protocol === 'smtps:';
  const server = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port !== '' && { port: Number(port) }),
    secure,
    ...(isLocal ? { ignoreTLS: true } : { requireTLS: true }),
    tls: { ...(ca !== undefined && { ca }) },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
  };
  const transport = createTransport({
    ...server,
    pool: true,
    ...(username !== '' && {
      auth: { user: unescape(username), pass: unescape(password) },
    }),
    maxConnections: CONNECTIONS_MAX,
  });
  /** The bytes of each message that is being sent; the transport reads them only after the server's answer to DATA. */
  const bodies = new Map<string, Readable>();
  transport.use('stream', ({ message, data: { messageId = '' } }, done) => {
    const read = message.createReadStream.bind(message);
    message.createReadStream = (options) => {
      const body = read(options);
      bodies.set(messageId, body);
      return body;
    };
    done();
  });
  return {
    limitMs: LIMIT_MS,
    async deliver(delivery, signal) {
      const options = mailOptions(from, delivery);
      const { messageId = '' } = options;
      try {
        if (needsUtf8(delivery.to) && !(await offersUtf8(server))) return UTF8_REFUSED;
        const { responseCode } = responseOf(await transport.sendMail({ ...options, signal }));
        return { outcome: 'delivered', evidence: `smtp_${responseCode}` };
      } catch (error) {
        const isBegun = bodies.get(messageId)?.readableDidRead === true;
        return resultOf(error as Failure, isBegun);
      } finally {
        bodies.delete(messageId);
      }
    },
    close: () => transport.close(),
  };
};

/** Whether an address has letters beyond ASCII before its @, which only a server with SMTPUTF8 (RFC 6531) can be given. */
const needsUtf8 = (address: string): boolean =>
  /[^\p{ASCII}]/u.test(address.slice(0, address.lastIndexOf('@')));

const UTF8_REFUSED: DeliveryResult = { outcome: 'refused', reason: 'smtputf8_missing' };

/**
 * Asks the server on a connection of its own: the transport would send such an address without the extension. Rejects with
 * what the connection throws.
 */
const offersUtf8 = (server: SMTPConnection.Options): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const connection = new SMTPConnection(server);
    connection.on('error', reject);
    connection.connect((error) => {
      if (error) return reject(error);
      resolve(/^250[ -]SMTPUTF8\b/im.test(connection.lastServerResponse || ''));
      connection.quit();
    });
  });

const responseOf = ({ response }: { response: string }) => ({
  responseCode: /^\d{3}/.exec(response)?.[0] ?? 250,
});

/**
 * What a failure means. Only the recipient and the message can be refused: other faults, like a wrong password, are those
 * of the settings, and are retried until the operator has corrected them.
 */
const resultOf = (
  { code = 'fault', command, responseCode }: Failure,
  isBegun: boolean,
): DeliveryResult => {
  const reason = `smtp_${responseCode ?? code}`.toLowerCase();
  const isAnswered = responseCode !== undefined;
  if (isBegun && !isAnswered) return { outcome: 'unknown', reason };
  const isAboutMessage = command === 'RCPT TO' || command === 'DATA';
  const isRefused = isAboutMessage && isAnswered && responseCode >= 500;
  const isInvalid = code === 'EENVELOPE' && command === 'API';
  return { outcome: isRefused || isInvalid ? 'refused' : 'retry', reason };
};
