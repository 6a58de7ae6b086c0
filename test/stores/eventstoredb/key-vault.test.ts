/** The key vault in EventStoreDB: the port's definition, and what the server must never store. */
import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { unwrapKey } from '#src/system/crypto-seal.ts';
import { KeyCache, type SubjectKeyState } from '#src/stores/eventstoredb/key-vault.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';
import type { Timing } from '#src/stores/eventstoredb/failures.ts';
import { keyVaultConformance } from '../../conformance/key-vault.ts';
import { directories } from '../../support/processes/directories.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('esdb-vault-');
afterAll(removeAll);
const FILE = join(fresh(), 'server.jsonl');
const { server, log } = onStandIn(() => FILE);
const WRAPPING = Buffer.alloc(32, 1);
const TEXT = 'ada@shop.example';

const vaultOf = async (timing: Partial<Timing> = {}): Promise<KeyVault & MovableKeys> =>
  (await log(timing)).keyVault([WRAPPING]);

keyVaultConformance(
  'EventStoreDB, stand-in',
  async () => {
    const vault = await vaultOf();
    return { vault, another: () => vaultOf(), cleanup: () => vault.close() };
  },
  { shared: true },
);

type Line = { stream: string; type: string; data: string };
const lines = (): (Omit<Line, 'data'> & { data: Buffer })[] =>
  readFileSync(FILE, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
    .map((line) => ({ ...line, data: Buffer.from(line.data, 'base64') }));

/** Stops time, so that no cached key expires on a machine that is busy. */
const stopTime = (): void => void vi.spyOn(performance, 'now').mockReturnValue(performance.now());
afterEach(() => vi.restoreAllMocks());

describe('The cache of keys', () => {
  test('The cache of keys evicts the oldest entry when full, and stores neither failures nor missing keys', async () => {
    const loaded: string[] = [];
    const cache = new KeyCache(async (subject): Promise<SubjectKeyState> => {
      loaded.push(subject);
      if (subject === 'failing') throw new Error('no answer');
      return subject === 'never' ? 'never' : createSecretKey(Buffer.alloc(32));
    });
    stopTime();
    for (let n = 0; n <= 10_000; n += 1) void cache.put(`led_${n}`, Promise.resolve('destroyed'));
    expect(cache.peek('led_0')).toBeUndefined();
    expect(cache.peek('led_10000')).toBeDefined();
    for (let n = 0; n < 2; n += 1) {
      await expect(cache.get('failing')).rejects.toThrow('no answer');
      expect(await cache.get('never')).toBe('never');
      await turn();
    }
    expect(loaded).toEqual(['failing', 'never', 'failing', 'never']);
    cache.clear();
    expect(cache.peek('led_10000')).toBeUndefined();
  });
});

const QUICK = { appendRepeatMs: 300, readRepeatMs: 300 };

describe('The key vault in EventStoreDB', () => {
  let vault: KeyVault;
  beforeEach(async () => {
    vault = await vaultOf();
  });

  test('The key vault in EventStoreDB stores neither plain keys nor plain text on the server', async () => {
    await vault.seal('led_1', TEXT);
    const stored = lines();
    const [key] = stored.filter(({ stream }) => stream.endsWith('led_1'));
    if (!key) throw new Error('no key is stored');
    const { wrapped } = JSON.parse(key.data.toString()) as { wrapped: string };
    const wrapping = [createSecretKey(WRAPPING)];
    const plain = unwrapKey(wrapping, 'led_1', Buffer.from(wrapped, 'base64')).export();
    expect(plain).toHaveLength(32);
    const secrets = [plain, WRAPPING].flatMap((secret) => [
      secret,
      secret.toString('base64').slice(0, 40),
      secret.toString('base64url').slice(0, 40),
      secret.toString('hex'),
    ]);
    for (const { data } of stored)
      for (const secret of [...secrets, TEXT]) expect(data.includes(secret)).toBe(false);
  });

  test('The key vault in EventStoreDB adds no events to the log', async () => {
    const beside = await log();
    await beside.append('anna-lead_1', -1, [bound('1')]);
    await vault.seal('led_1', TEXT);
    await vault.destroy('led_1');
    expect(await beside.readAll({ after: 0, limit: 100 })).toHaveLength(1);
    expect(await beside.readFold({ after: 0, limit: 100 })).toHaveLength(1);
    expect(await beside.readOwner('tributary_keys', { after: 0, limit: 100 })).toEqual([]);
  });

  test('The key vault in EventStoreDB seals a text only after its key is stored', async () => {
    await server().tell({ name: 'hold' });
    let done = false;
    const sealing = vault.seal('led_1', TEXT).finally(() => {
      done = true;
    });
    await server().tell({ name: 'await', stat: 'appends', least: 2 });
    expect(done).toBe(false);
    await server().tell({ name: 'release' });
    await sealing;
    expect(lines().some(({ stream }) => stream.endsWith('led_1'))).toBe(true);
  });

  test.each(['swallow', 'forget'] as const)(
    'The key vault in EventStoreDB stores one key when the append meets the fault "%s"',
    async (fault) => {
      const quick = await vaultOf({ attemptMs: 100 });
      await server().tell({ name: 'fault', on: 'append', fault: { do: fault } });
      const sealed = (await quick.seal('led_1', TEXT)) ?? '';
      expect(await vault.unseal([sealed])).toEqual([TEXT]);
      expect(lines().filter(({ stream }) => stream.endsWith('led_1'))).toHaveLength(1);
    },
  );

  test.each(['swallow', 'forget', 'unavailable'] as const)(
    'The key vault in EventStoreDB destroys a key once when the deletion meets the fault "%s"',
    async (fault) => {
      const quick = await vaultOf({ attemptMs: 100 });
      await quick.seal('led_1', TEXT);
      await server().tell({ name: 'fault', on: 'remove', fault: { do: fault } });
      expect(await quick.destroy('led_1')).toBe(true);
      expect(await vault.knows('led_1')).toBe('destroyed');
      expect(lines().filter(({ type }) => type === '$streamDeleted')).toHaveLength(1);
    },
  );

  test('The key vault in EventStoreDB reads the keys of a page concurrently, and each key once', async () => {
    const subjects = Array.from({ length: 25 }, (_, n) => `led_${n}`);
    const page = await Promise.all(subjects.map((subject) => vault.seal(subject, subject)));
    const other = await vaultOf();
    const before = await server().stats();
    const sealed = page.map((text) => text ?? '');
    stopTime();
    expect(await other.unseal(sealed)).toEqual(subjects);
    expect(await other.unseal(sealed)).toEqual(subjects);
    const after = await server().stats();
    expect(after.reads - before.reads).toBe(25);
    expect(after.readsMost).toBeGreaterThan(5);
  });

  test('The key vault in EventStoreDB throws LogUnavailable without a server, and never reports a missing key', async () => {
    const quick = await vaultOf(QUICK);
    const sealed = (await quick.seal('led_1', TEXT)) ?? '';
    const other = await vaultOf(QUICK);
    await server().kill();
    try {
      const calls = [
        other.unseal([sealed]),
        other.knows('led_1'),
        other.seal('led_1', TEXT),
        other.seal('led_2', TEXT),
        other.destroy('led_1'),
      ];
      for (const answer of await Promise.allSettled(calls)) {
        expect(answer.status).toBe('rejected');
        expect((answer as PromiseRejectedResult).reason).toBeInstanceOf(LogUnavailable);
      }
    } finally {
      await server().restart();
    }
    await expect.poll(() => other.unseal([sealed])).toEqual([TEXT]);
    expect(await other.destroy('led_1')).toBe(true);
    await server().kill();
    await server().restart();
    expect(await (await vaultOf()).knows('led_1')).toBe('destroyed');
  });

  test('The key vault in EventStoreDB refuses another root secret when it opens', async () => {
    const wrong = (await log()).keyVault([Buffer.alloc(32, 2)]);
    await expect(wrong).rejects.toThrow(/ROOT_KEY is not the one/);
    await expect((await log()).keyVault([WRAPPING])).resolves.toBeDefined();
  });

  test('The key vault in EventStoreDB closes with the log', async () => {
    const mine = await log();
    const closed = await mine.keyVault([WRAPPING]);
    await mine.close();
    await expect(closed.knows('led_1')).rejects.toMatchObject({ reason: 'closed' });
  });
});

describe('A new generation of the wrapping key', () => {
  test('A key that is stored again under a new generation leaves no readable stream of the one before, and can be erased', async () => {
    const [first, second] = [WRAPPING, Buffer.alloc(32, 3)];
    const before = await vaultOf();
    const text = (await before.seal('led_moved', TEXT)) ?? '';
    await before.seal('led_gone', TEXT);
    await before.destroy('led_gone');
    const opened = await log();
    const vault = await opened.keyVault([first, second]);
    expect(await vault.unseal([text])).toEqual([TEXT]);
    expect(await vault.seal('led_gone', TEXT)).toBeNull();
    const again = (await vault.seal('led_moved', TEXT)) ?? '';
    // A run that was interrupted is repeated.
    for (let run = 0; run < 2; run += 1) {
      const key = await vault.keyOf('led_moved');
      if (typeof key === 'string') throw new Error(key);
      expect(await vault.adopt('led_moved', key)).toBe(true);
    }
    expect(await vault.unseal([text, again])).toEqual([TEXT, TEXT]);
    expect(await (await vaultOf()).knows('led_moved')).toBe('destroyed');
    expect(await vault.destroy('led_moved')).toBe(true);
    expect(await (await opened.keyVault([first, second])).unseal([text, again])).toEqual([
      null,
      null,
    ]);
  });
});
