import { join } from 'node:path';
import { readCertificate } from '#src/system/certificate-file.ts';
import { directoryMailer } from '#src/delivery/mail-directory.ts';
import { smtpMailer } from '#src/delivery/smtp.ts';
import { isLoopback } from '#src/system/hosts.ts';
import { makeDirectory } from '#src/system/directory.ts';
import type { Config } from '#src/config.ts';
import type { Mailer } from '#src/ports/mailer.ts';
import { StartupError } from '#src/ports/startup-error.ts';

export type Mailers = { live: Mailer; test: Mailer; close(): void };

/** The directory of messages that are not sent by SMTP. */
export const mailDirectory = ({ dataDirectory }: Pick<Config, 'dataDirectory'>): string =>
  join(dataDirectory, 'mail');

/** Opens the mailers without connecting. Throws StartupError if the file of tlsCAFile cannot be used. */
export const openMailers = (config: Config): Mailers => {
  const { mailUrl: url, mailFrom: from } = config;
  const test = directoryMailer({ directory: mailDirectory(config), makeDirectory }, from);
  if (!url) return { live: test, test, close: () => undefined };
  const file = url.searchParams.get('tlsCAFile');
  const certificate = file === null ? undefined : readCertificate(file);
  if (certificate && 'fault' in certificate)
    throw new StartupError(`MAIL_URL cannot be used: ${certificate.fault}.`);
  const live = smtpMailer({ url, from, isLocal: isLoopback(url.hostname), ...certificate });
  return { live, test, close: live.close };
};

/** Returns true if other machines can reach the service, and its mail goes to a directory. */
export const lacksMail = ({ mailUrl, publicUrl, host }: Config): boolean =>
  mailUrl === undefined &&
  !isLoopback(publicUrl === undefined ? host : new URL(publicUrl).hostname);
