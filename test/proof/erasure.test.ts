/** After an erasure no byte of the person or of the key is left on the disk or in Redis, and every proof still verifies. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { removeStoredMail } from '#src/delivery/mail.ts';
import { LogTree } from '#src/proof/tree.ts';
import type { MovableKeys } from '#src/ports/system.ts';
import { openKeysToRead } from '#src/stores/sqlite/keys/key-vault.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import type { SystemSecrets } from '#src/system/secrets.ts';
import { expectProved, exported } from '../support/audit/export.ts';
import { until } from '../support/clients/cli.ts';
import { patientLog } from '../support/eventstoredb/eventstoredb-logs.ts';
import { directories } from '../support/processes/directories.ts';
import { endRemote, remoteWorld } from '../support/processes/remote.ts';
import { hasRedis, ON_REDIS, type TestRedis } from '../support/redis/redis-server.ts';
import { people } from '../support/world/people.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';

const OWNER = 'acme';
const MAILBOX = 'quirinus.zebedee@unmistakable.example';

let app: TestApp;
const logged: string[] = [];
const { fresh, removeAll } = directories('tributary-erased-');
afterEach(() => app.close());
afterAll(removeAll);

const open = async (settings: Record<string, string> = {}): Promise<void> => {
  const write = (line: string): void => void logged.push(line);
  app = await testApp(settings, { log: pino({ level: 'trace' }, { write }) });
  await app.publish([feedProduct('MUG-1')]);
  app.service.dispatcher.start();
};

type Needle = string | Buffer;

/** The files of a directory with one of these texts or bytes, with its place in the list. */
const filesWith = (directory: string, needles: readonly Needle[]): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      return needles.flatMap((needle, at) =>
        bytes.includes(needle) ? [`${entry.name} ${at}`] : [],
      );
    });

/** The same for all of Redis, which writes itself to a file as it is. */
const inRedis = async ({ control, directory }: TestRedis, needles: readonly Needle[]) => {
  await control.config('SET', 'rdbcompression', 'no');
  await control.save();
  return filesWith(directory, needles);
};

const wrappedKeys = (): Buffer[] => {
  const db = new DatabaseSync(join(app.directory, 'keys.db'), { readOnly: true });
  const rows = db.prepare('SELECT wrapped FROM keys').all() as { wrapped: Uint8Array }[];
  db.close();
  return rows.map(({ wrapped }) => Buffer.from(wrapped));
};

const vaultKeys = (): readonly Buffer[] => (app.service.deps.secrets as SystemSecrets).vaultKeys;

/** The keys of subjects themselves, as bytes and in the forms of JSON and of SQL. */
const plainKeys = async (
  vault: Pick<MovableKeys, 'keyOf'> | undefined,
  subjects: readonly string[],
): Promise<Needle[]> => {
  const keys = await Promise.all(subjects.map(async (subject) => vault?.keyOf(subject)));
  return keys.flatMap((key) => {
    const bytes = Buffer.from(key as Uint8Array);
    return [bytes, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex')];
  });
};

/** A lead and an RFQ of the person, who gets mail. */
const recorded = async (): Promise<string[]> => {
  const world = people(app);
  const { key } = await app.agent(OWNER);
  const subjects = [await world.lead(key, MAILBOX), await world.rfq(key, MAILBOX)];
  await world.caughtUp();
  await app.service.dispatcher.idle();
  const file = await exported(app, OWNER, { query: '&reason=test' });
  expect(readFileSync(file, 'utf8')).toContain(MAILBOX);
  rmSync(file);
  return subjects;
};

const erase = async (subjects: readonly string[]): Promise<void> => {
  const { deps } = app.service;
  for (const subject of subjects) {
    const erased = await app.desk('POST', `/subjects/${subject}/erase`, { reason: 'Asked for it' });
    expect(erased).toMatchObject({ status: 200, body: { key: 'destroyed' } });
  }
  const isErased = async (subject: string) => (await deps.vault.knows(subject)) === 'destroyed';
  await removeStoredMail(join(app.directory, 'mail'), { before: 0, isErased });
  await deps.audit.flush();
  await people(app).caughtUp();
};

/** Expects that exports verify without the text, and that the log alone still gives the tree. */
const expectErasedAndProved = async (): Promise<void> => {
  const { deps } = app.service;
  await expectProved(app, [OWNER, 'desk']);
  const file = await exported(app, OWNER, { query: '&reason=test' });
  expect(readFileSync(file, 'utf8')).not.toContain(MAILBOX);
  const store = sqliteProofStore(join(fresh(), 'proof.db'));
  const rebuilt = new LogTree(deps.log, store);
  await rebuilt.advance();
  expect(rebuilt.newest).toEqual(deps.proof().tree.newest);
  store.close();
};

it('After an erasure no file, no mail and no log line has the text or the key, and every proof verifies', async () => {
  await open();
  const subjects = await recorded();
  const vault = openKeysToRead(join(app.directory, 'keys.db'), vaultKeys());
  const needles = [MAILBOX, ...wrappedKeys(), ...(await plainKeys(vault, subjects))];
  vault?.close();
  expect(filesWith(app.directory, needles).length).toBeGreaterThan(2);
  await erase(subjects);
  expect(filesWith(app.directory, needles)).toEqual([]);
  expect(logged.filter((line) => needles.some((needle) => line.includes(String(needle))))).toEqual(
    [],
  );
  await expectErasedAndProved();
});

describe.skipIf(!hasRedis)(`On a log server and Redis, ${ON_REDIS},`, () => {
  afterAll(endRemote);

  it('After an erasure neither Redis nor a file of the process has the text or the key, and every proof verifies', async () => {
    const world = await remoteWorld();
    const { redis, settings } = world;
    await open(settings);
    const subjects = await recorded();
    const log = await patientLog({ url: world.log.url });
    const needles = [MAILBOX, ...(await plainKeys(await log.keyVault(vaultKeys()), subjects))];
    await log.close();
    // The search finds what is there: the records, and the mail that is stored once the dispatcher has read the log.
    expect(await inRedis(redis, subjects)).toHaveLength(subjects.length);
    expect(await until(() => filesWith(app.directory, needles).length > 0)).toBe(true);
    await app.service.dispatcher.idle();
    expect(await inRedis(redis, needles)).toEqual([]);
    await erase(subjects);
    expect(await inRedis(redis, needles)).toEqual([]);
    expect(filesWith(app.directory, needles)).toEqual([]);
    await expectErasedAndProved();
  });
});
