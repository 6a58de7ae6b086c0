import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  directoryMailer,
  listStoredMail,
  readStoredMail,
  removeStoredMail,
} from '#src/delivery/mail.ts';
import { makeDirectory } from '#src/system/directory.ts';
import type { MailDelivery } from '#src/ports/delivery.ts';
import { directories } from '../support/processes/directories.ts';

const { fresh, removeAll } = directories('mail-');
afterAll(removeAll);

const { signal: NEVER } = new AbortController();
const mailbox = () => {
  const directory = join(fresh(), 'mail');
  const mailer = directoryMailer(
    { directory, makeDirectory },
    { name: '', address: 'tributary@localhost' },
  );
  const deliver = (over: Partial<MailDelivery> = {}) =>
    mailer.deliver(
      {
        id: 'mal_1',
        sealedFor: 'own_1',
        attempt: 1,
        to: 'jürgen@bücher.example',
        subject: 'Tee für zwei ☕',
        text: 'Zwei Zeilen,\n\nüber Bücher.\n',
        html: '<p>Zwei Zeilen</p>',
        at: Date.parse('2026-11-20T10:00:00Z'),
        ...over,
      },
      NEVER,
    );
  return { directory, deliver };
};

describe('The mail directory', () => {
  it('The mail directory holds a message in a file that only this user can read', async () => {
    const { directory, deliver } = mailbox();
    expect(await deliver()).toEqual({ outcome: 'delivered', evidence: 'mal_1.own_1.eml' });
    const file = join(directory, 'mal_1.own_1.eml');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain('Message-ID: <mal_1@localhost>');
    expect(await readStoredMail(directory, 'mal_1')).toMatchObject({
      id: 'mal_1',
      date: '2026-11-20T10:00:00.000Z',
      from: 'tributary@localhost',
      to: 'jürgen@bücher.example',
      subject: 'Tee für zwei ☕',
      text: expect.stringContaining('Zwei Zeilen,\n\nüber Bücher.'),
    });
  });

  it('The mail directory holds the same file after a second attempt, and refuses another text with the same id', async () => {
    const { directory, deliver } = mailbox();
    await deliver();
    const { ino } = statSync(join(directory, 'mal_1.own_1.eml'));
    expect(await deliver({ attempt: 2 })).toMatchObject({ outcome: 'delivered' });
    expect(statSync(join(directory, 'mal_1.own_1.eml')).ino).toBe(ino);
    const other = await deliver({ text: 'Other' });
    expect(other).toEqual({ outcome: 'refused', reason: 'file_differs' });
  });

  it('The mail directory lists its messages by time, without other files', async () => {
    const { directory, deliver } = mailbox();
    expect(await listStoredMail(directory)).toEqual([]);
    await deliver({ id: 'mal_b' });
    await deliver({ id: 'mal_a', at: Date.parse('2026-11-21T10:00:00Z') });
    writeFileSync(join(directory, 'notes.eml'), 'Subject: mine');
    writeFileSync(join(directory, '.mal_c.own_1.1.tmp'), 'half a mes');
    expect((await listStoredMail(directory)).map(({ id }) => id)).toEqual(['mal_b', 'mal_a']);
  });

  it('The mail directory finds no message by a path', async () => {
    const { directory, deliver } = mailbox();
    await deliver();
    for (const id of ['../mail/mal_1', 'mal_1.eml', '', 'mal_2'])
      expect(await readStoredMail(directory, id)).toBeUndefined();
    await expect(deliver({ id: '../x' })).rejects.toThrow('not a valid file name');
    expect(readdirSync(directory)).toEqual(['mal_1.own_1.eml']);
  });
});

describe('The removal of stored messages', () => {
  const erasedAre = (...subjects: string[]) => ({
    isErased: async (subject: string) => subjects.includes(subject),
  });

  it('The removal of stored messages removes those of erased people and those of their killed attempts, and no other file', async () => {
    const { directory, deliver } = mailbox();
    await deliver();
    await deliver({ id: 'mal_2', sealedFor: 'own_2' });
    writeFileSync(join(directory, '.mal_3.own_1.1.tmp'), 'half a mes');
    writeFileSync(join(directory, 'notes.own_1.eml'), 'Subject: mine');
    expect(await removeStoredMail(directory, { before: 0, ...erasedAre('own_1') })).toBe(2);
    expect(readdirSync(directory).toSorted()).toEqual(['mal_2.own_2.eml', 'notes.own_1.eml']);
  });

  it('The removal of stored messages removes those that were stored before a time', async () => {
    const { directory, deliver } = mailbox();
    for (const id of ['mal_1', 'mal_2']) await deliver({ id });
    utimesSync(join(directory, 'mal_1.own_1.eml'), 1_000, 1_000);
    expect(await removeStoredMail(directory, { before: 1_000_001, ...erasedAre() })).toBe(1);
    expect(readdirSync(directory)).toEqual(['mal_2.own_1.eml']);
  });

  it('The removal of stored messages finds nothing to remove in a directory that does not exist', async () => {
    const { directory } = mailbox();
    expect(await removeStoredMail(directory, { before: 0, ...erasedAre() })).toBe(0);
  });
});
