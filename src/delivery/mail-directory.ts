import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import type { Mailer } from '#src/ports/mailer.ts';
import { mailOptions } from './mail-message.ts';
import { FILE_LIMIT_MS, type Outbox, storeFile } from './stored-file.ts';

/** The file of a message: its id and the subject of its seal. */
const FILE = /^(mal_[0-9a-z]{1,64})\.([a-z]+_[0-9a-z]{1,64})\.eml$/;
/** The same, and what a killed attempt left of it. */
const ANY_FILE = /^\.?mal_[0-9a-z]{1,64}\.([a-z]+_[0-9a-z]{1,64})\.(?:eml|\d+\.tmp)$/;

/** Stores each message as `{mail_id}.{subject}.eml`, for people to read; nothing leaves the machine. */
export const directoryMailer = (outbox: Outbox, from: string): Mailer => {
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
export type StoredMail = {
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
