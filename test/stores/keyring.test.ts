/** The keyring beside the keys of personal data: who can open it, how it is replaced, and what damages it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyringStore } from '#src/ports/system.ts';
import { sqliteKeyring } from '#src/stores/sqlite/keys/key-vault.ts';
import {
  copyKeyring,
  freshKeyring,
  openKeyring,
  openKeyringText,
  rotateRoot,
  wrapKeyring,
} from '#src/system/keyring.ts';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { patientLog } from '../support/eventstoredb/eventstoredb-logs.ts';

const [ROOT, NEXT, OTHER] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
];
const open = openKeyring;

const directory = mkdtempSync(join(tmpdir(), 'tributary-keyring-'));
afterAll(async () => {
  await endLogServers();
  rmSync(directory, { recursive: true });
});

let files = 0;
const inFile = async (): Promise<KeyringStore> =>
  sqliteKeyring(join(directory, `keys-${(files += 1)}.db`), false);
const onServer = async (): Promise<KeyringStore> => {
  const log = await patientLog({ url: (await logServer()).url });
  return log.keyring;
};

describe.each([
  ['SQLite', inFile],
  ['EventStoreDB', onServer],
])('A keyring: %s', (_, fresh) => {
  let store: KeyringStore;
  beforeAll(async () => {
    store = await fresh();
  });

  it('A new keyring is random, and processes that start at once use the same one', async () => {
    const [first, second] = await Promise.all([open(store, ROOT), open(store, ROOT)]);
    expect(first).toEqual(second);
    expect(new Set(Object.values(first).flatMap((keys) => keys.map(String))).size).toBe(
      Object.values(first).flat().length,
    );
    expect(await open(store, ROOT)).toEqual(first);
    await expect(open(store, OTHER)).rejects.toThrow(/is not the one that this log needs/);
  });

  it('A rotated root key opens the same keyring, and the former one is refused with what to set', async () => {
    const before = await open(store, ROOT);
    await rotateRoot(store, { root: ROOT, next: NEXT });
    expect(await open(store, NEXT)).toEqual(before);
    await expect(open(store, ROOT)).rejects.toThrow(/was rotated.*set ROOT_KEY, or root.key/);
    // A rotation that was killed after its write is repeated.
    await rotateRoot(store, { root: ROOT, next: NEXT });
    await expect(rotateRoot(store, { root: NEXT, next: ROOT })).rejects.toThrow(/a former one/);
    expect(await open(store, NEXT)).toEqual(before);
  });

  it('Of two rotations at once one wins, and the other one says so', async () => {
    const before = await open(store, NEXT);
    const roots = [4, 5].map((byte) => Buffer.alloc(32, byte));
    let waiting: (() => void)[] = [];
    // Both have read before one writes.
    const met: KeyringStore = {
      replaceKeyring: (...texts) => store.replaceKeyring(...texts),
      async readKeyring() {
        const text = await store.readKeyring();
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length === roots.length) for (const go of waiting) go();
        });
        return text;
      },
    };
    const done = await Promise.allSettled(
      roots.map((next) => rotateRoot(met, { root: NEXT, next })),
    );
    waiting = [];
    expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(done).toContainEqual({
      status: 'rejected',
      reason: expect.objectContaining({
        message: expect.stringMatching(/changed the keyring meanwhile/),
      }),
    });
    const winner = roots[done.findIndex(({ status }) => status === 'fulfilled')] as Buffer;
    expect(await open(store, winner)).toEqual(before);
  });
});

it('A keyring with one flipped bit is refused as damaged, wherever the bit is', () => {
  const text = Buffer.from(wrapKeyring(freshKeyring(), ROOT, ['00']));
  for (let at = 0; at < text.length; at += 1) {
    const flipped = Buffer.from(text);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    expect(() => openKeyringText(flipped.toString(), ROOT), `byte ${at}`).toThrow(
      /keyring.* is damaged/,
    );
  }
});

it('A keyring whose wrapped keys are those of another text is refused, although its checksum fits', () => {
  const one = wrapKeyring(freshKeyring(), ROOT);
  const other = wrapKeyring(freshKeyring(), ROOT, ['00']);
  const { keys } = JSON.parse(other.replace(/^\d+ /, '')) as { keys: string };
  const body = JSON.stringify({ ...(JSON.parse(one.replace(/^\d+ /, '')) as object), keys });
  expect(() => openKeyringText(`${crc32(body)} ${body}`, ROOT)).toThrow(/keyring.* is damaged/);
});

it('A keyring is copied with its log, again without a change, and never over other secrets', async () => {
  const [from, to, foreign] = [await inFile(), await inFile(), await inFile()];
  const source = await open(from, ROOT);
  for (let run = 0; run < 2; run += 1)
    expect(await copyKeyring({ from, to }, ROOT)).toEqual(source);
  expect(await open(to, ROOT)).toEqual(source);
  await open(foreign, ROOT);
  await expect(copyKeyring({ from, to: foreign }, ROOT)).rejects.toThrow(/other secrets/);
});

it('A keyring of a later format is refused with what to start, and none is taken for another format', () => {
  const text = wrapKeyring(freshKeyring(), ROOT);
  const inFormat = (version: unknown): string => {
    const body = JSON.stringify({ ...(JSON.parse(text.replace(/^\d+ /, '')) as object), version });
    return `${crc32(body)} ${body}`;
  };
  expect(openKeyringText(inFormat(1), ROOT).known.vault).toHaveLength(1);
  expect(() => openKeyringText(inFormat(2), ROOT)).toThrow(
    /has format 2.*reads format 1\. Start the version that wrote it/,
  );
  for (const version of [0, undefined, 'x'])
    expect(() => openKeyringText(inFormat(version), ROOT)).toThrow(/keyring.* is damaged/);
});

it('A used log that lost its keyring gets no other one, until a person accepts the loss of its keys', async () => {
  const file = join(directory, 'lost.db');
  const store = sqliteKeyring(file, true);
  const refused = /lost its keyring.*Restore keys\.db/;
  await expect(open(store, ROOT)).rejects.toThrow(refused);
  await expect(rotateRoot(store, { root: ROOT, next: NEXT })).rejects.toThrow(refused);
  const to = await inFile();
  await expect(copyKeyring({ from: store, to }, ROOT)).rejects.toThrow(refused);
  expect(await store.readKeyring()).toBeNull();
  expect(await to.readKeyring()).toBeUndefined();
  writeFileSync(join(directory, 'lost.mark'), '');
  const made = await open(store, ROOT);
  expect(await open(sqliteKeyring(file, true), ROOT)).toEqual(made);
});
