/** Two services on one log: one root secret, and one set of keys of personal data. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { copyKeys } from '#src/transfer/copy-log.ts';
import { readConfig } from '#src/config.ts';
import { openRoot, openSecrets } from '#src/wiring/vault.ts';
import { freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { endLogServers, logServer, type LogServer } from '../../support/eventstoredb/log-server.ts';
import { HANG_MS } from '../../support/hang.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';

const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
const LEADS = '/api/affiliate/v1/leads';
const CONTACT = { name: 'Ada Lovelace', email: 'ada@shop.example' };
let server: LogServer;
let a: TestApp;
let b: TestApp;

const open = (over: Record<string, string> = {}): Promise<TestApp> =>
  testApp({ EVENT_LOG_URL: server.url, ROOT_KEY, ...over });

beforeEach(async () => {
  server = await logServer();
  [a, b] = await Promise.all([open(), open()]);
});
afterEach(async () => {
  await Promise.all([a.close(), b.close()]);
  await endLogServers();
});

const mail = (name: string): string => `ada${name}@shop.example`;

const submit = (app: TestApp, key: string, name = '') =>
  app.send({
    method: 'POST',
    url: LEADS,
    key,
    headers: { 'idempotency-key': freshKey() },
    payload: {
      external_id: `crm-${name}`,
      company: { name: 'Shop', country: 'GB' },
      source: { kind: 'manual' },
      contact: { ...CONTACT, email: mail(name) },
      consent: { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' },
      interest: { note: 'Call after five' },
    },
  });

const list = async (app: TestApp, key: string) => {
  const answer = await app.send({ method: 'GET', url: LEADS, key });
  expect(answer.status, answer.text).toBe(200);
  return (answer.body as { data: { contact: unknown; interest: { note: string } }[] }).data;
};

test('A text that one process seals is opened by the other, and by neither after an erasure', async () => {
  const { key } = await a.agent('acme');
  const submitted = await submit(a, key);
  expect(submitted.status, submitted.text).toBe(201);
  const { position } = await a.service.deps.log.head();
  expect(await b.service.deps.following.passed(position, HANG_MS)).toBe(true);
  expect((await list(b, key))[0]).toMatchObject({
    contact: CONTACT,
    interest: { note: 'Call after five' },
  });
  const { id } = submitted.body as { id: string };
  const erased = await a.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
  expect(erased.status, erased.text).toBe(200);
  expect(erased.body).toMatchObject({ key: 'destroyed' });
  while ((await list(b, key))[0]?.contact !== '[erased]') await turn();
  expect((await list(b, key))[0]).toMatchObject({ interest: { note: '[erased]' } });
  expect((await submit(b, key)).body).toMatchObject({ code: 'resource_erased' });
});

test('All processes have the same root token, and the next one after it is revoked', async () => {
  expect(a.deskToken).toMatch(/^trbd_/);
  expect(b.deskToken).toBe(a.deskToken);
  const { log } = a.service.deps;
  const issued = () => log.readAll({ after: 0, limit: 10, types: ['DeskTokenIssued'] });
  const [first, ...more] = await issued();
  expect(more).toEqual([]);
  const { token_id } = (first?.data ?? {}) as { token_id: string };
  const revoked = await a.desk('POST', `/desk-tokens/${token_id}/revoke`, { reason: 'Leaked' });
  expect(revoked.status, revoked.text).toBe(200);
  const [c, d] = await Promise.all([open(), open()]);
  expect(c.deskToken).not.toBe(a.deskToken);
  expect(d.deskToken).toBe(c.deskToken);
  expect((await c.desk('GET', '/agents?owner_id=acme')).status).toBe(200);
  expect(await issued()).toHaveLength(2);
  await Promise.all([c.close(), d.close()]);
});

test('A process without the root secret, or with another one, does not start', async () => {
  await expect(open({ ROOT_KEY: '' })).rejects.toThrow(/ROOT_KEY is not set/);
  const other = Buffer.alloc(32, 8).toString('base64');
  await expect(open({ ROOT_KEY: other })).rejects.toThrow(/ROOT_KEY.* is not the one/);
  expect(() => readConfig({ ROOT_KEY: 'c2hvcnQ=' })).toThrow(/ROOT_KEY: must be 32 bytes/);
});

test('A data directory with another root secret is refused', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tributary-root-'));
  const made = openRoot(readConfig({ DATA_DIR: directory }));
  const file = join(directory, 'root.key');
  const kept = readFileSync(file, 'utf8').trim();
  const again = openRoot(readConfig({ DATA_DIR: directory, ROOT_KEY: kept }));
  expect(again).toEqual(made);
  expect(() => openRoot(readConfig({ DATA_DIR: directory, ROOT_KEY }))).toThrow(
    /ROOT_KEY differs from/,
  );
  writeFileSync(file, 'cut');
  expect(() => openRoot(readConfig({ DATA_DIR: directory }))).toThrow(/32 bytes/);
  rmSync(directory, { recursive: true });
});

test('The keys are copied with the log, and erased ones stay erased', async () => {
  const embedded = await testApp({ ROOT_KEY });
  const { key } = await embedded.agent('acme');
  const [first, second] = [await submit(embedded, key, '1'), await submit(embedded, key, '2')];
  const [kept = '', gone = ''] = [first, second].map(({ body }) => (body as { id: string }).id);
  await embedded.desk('POST', `/subjects/${gone}/erase`, { reason: 'Asked' });
  const { log } = embedded.service.deps;
  const secrets = await openSecrets(readConfig({ DATA_DIR: embedded.directory, ROOT_KEY }), log);
  const from = sqliteKeyVault(join(embedded.directory, 'keys.db'), secrets.vaultKeys);
  const target = await patientLog({ url: server.url });
  const theirs = await openSecrets(readConfig({ EVENT_LOG_URL: server.url, ROOT_KEY }), target);
  const to = await target.keyVault(theirs.vaultKeys);
  // An interrupted and repeated run has the same result.
  for (let run = 0; run < 2; run += 1)
    expect(await copyKeys(log, { from, to })).toEqual({ subjects: 2, destroyed: 1, differing: [] });
  expect(await to.knows(gone)).toBe('destroyed');
  const stored = await log.readStream(`acme-lead_${kept.slice('led_'.length)}`);
  const { contact } = (stored[0]?.data ?? {}) as { contact: string };
  expect(await to.unseal([contact])).toEqual([JSON.stringify({ ...CONTACT, email: mail('1') })]);
  await to.adopt(gone, 'destroyed');
  await from.destroy(kept);
  expect(await copyKeys(log, { from, to })).toMatchObject({ destroyed: 2, differing: [] });
  // The state after an erasure that was killed before it destroyed the key, or with an older vault.
  const living = { keyOf: async () => new Uint8Array(32).fill(7) };
  expect(await copyKeys(log, { from: living, to })).toMatchObject({ differing: [kept] });
  const fresh = sqliteKeyVault(':memory:', secrets.vaultKeys);
  const adopt = vi.spyOn(fresh, 'adopt');
  const copied = { subjects: 2, destroyed: 1, differing: [] };
  expect(await copyKeys(log, { from: living, to: fresh })).toEqual(copied);
  expect(adopt.mock.calls.filter(([subject]) => subject === gone)).toEqual([[gone, 'destroyed']]);
  expect([await fresh.knows(kept), await fresh.knows(gone)]).toEqual(['key', 'destroyed']);
  await fresh.close();
  await from.close();
  await target.close();
  await embedded.close();
});
