import { unescape } from 'node:querystring';
import type { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import type { Mailer } from '#src/ports/mailer.ts';
import { mailOptions } from './mail-message.ts';

const CONNECT_MS = 10_000;
/** RFC 5321 (4.5.3.2) allows servers more; a slower one counts as lost. */
const ANSWER_MS = 20_000;
const LIMIT_MS = 45_000;
const CONNECTIONS_MAX = 4;

/** `url` is valid and has only known options; `ca` replaces the certificate authorities of the system. */
export type SmtpOptions = { url: URL; ca?: string | undefined; isLocal: boolean; from: string };

/** What nodemailer says of a failure. Its texts can quote the server, so they are never passed on. */
type Failure = { code?: string; command?: string; responseCode?: number };

/**
 * Sends mail to an SMTP server over at most CONNECTIONS_MAX connections, which it keeps. `smtps:` is TLS from the start;
 * `smtp:` requires STARTTLS, unless the server is on this machine. Certificates are verified.
 */
export const smtpMailer = ({ url, ca, isLocal, from }: SmtpOptions): Mailer & { close(): void } => {
  const { hostname, port, username, password, protocol } = url;
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    pool: true,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port !== '' && { port: Number(port) }),
    secure,
    ...(isLocal ? { ignoreTLS: true } : { requireTLS: true }),
    ...(username !== '' && {
      auth: { user: unescape(username), pass: unescape(password) },
    }),
    tls: { ...(ca !== undefined && { ca }) },
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
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
