import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import type { Mailer } from '#src/ports/mailer.ts';
import { mailOptions } from './mail-message.ts';
import { FILE_LIMIT_MS, type Outbox, storeFile } from './stored-file.ts';

const FILE = /^(mal_[0-9a-z]{1,64})\.eml$/;

/** Stores each message as `{mail_id}.eml`, for people to read; nothing leaves the machine. */
export const directoryMailer = (outbox: Outbox, from: string): Mailer => {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    limitMs: FILE_LIMIT_MS,
    async deliver(delivery) {
      const name = `${delivery.id}.eml`;
      if (!FILE.test(name)) throw new Error(`not a valid file name: ${name}`);
      const { message } = await composer.sendMail(mailOptions(from, delivery));
      return storeFile(outbox, { name, bytes: message as Buffer, attempt: delivery.attempt });
    },
  };
};

/** A stored message. `date` is an ISO time; absent if the file was changed. */
export type StoredMail = {
  id: string;
  date?: string;
  from: string;
  to: string;
  subject: string;
  text: string;
};

/** Reads a stored message; undefined if there is none with this id. */
export const readStoredMail = async (
  directory: string,
  id: string,
): Promise<StoredMail | undefined> => {
  if (!FILE.test(`${id}.eml`)) return undefined;
  try {
    const mail = await PostalMime.parse(await readFile(join(directory, `${id}.eml`)));
    const { date, from, to = [], subject = '', text = '' } = mail;
    return {
      id,
      ...(date !== undefined && { date }),
      from: from?.address ?? '',
      to: to.map(({ address }) => address).join(', '),
      subject,
      text,
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/** Lists the stored messages, oldest first. A directory that does not exist has none. */
export const listStoredMail = async (directory: string): Promise<StoredMail[]> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const ids = names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
  const mails = await Promise.all(ids.map((id) => readStoredMail(directory, id)));
  return mails
    .filter((mail) => mail !== undefined)
    .toSorted((a, b) => (a.date ?? '').localeCompare(b.date ?? '') || a.id.localeCompare(b.id));
};
