/** After an erasure no byte of the person or of the key is left on the disk, and every proof still verifies. */
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeStoredMail } from '#src/delivery/mail.ts';
import { markTree } from '#src/proof/notary.ts';
import { LogTree } from '#src/proof/tree.ts';
import { verifyExport } from '#src/proof/verifier.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { exported } from '../support/audit/export.ts';
import { people } from '../support/world/people.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';

const OWNER = 'acme';
const MAILBOX = 'quirinus.zebedee@unmistakable.example';

let app: TestApp;
let directory: string;
const logged: string[] = [];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-erased-'));
  app = await testApp(
    {},
    { log: pino({ level: 'trace' }, { write: (line) => void logged.push(line) }) },
  );
  await app.publish([feedProduct('MUG-1')]);
  app.service.dispatcher.start();
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true });
});

/** The files of the data directory with one of these texts or bytes, with its place in the list. */
const filesWith = (needles: readonly (string | Buffer)[]): string[] =>
  readdirSync(app.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      return needles.flatMap((needle, at) =>
        bytes.includes(needle) ? [`${entry.name} ${at}`] : [],
      );
    });

const wrappedKeys = (): Buffer[] => {
  const db = new DatabaseSync(join(app.directory, 'keys.db'), { readOnly: true });
  const rows = db.prepare('SELECT wrapped FROM keys').all() as { wrapped: Uint8Array }[];
  db.close();
  return rows.map(({ wrapped }) => Buffer.from(wrapped));
};

it('After an erasure no file, no mail and no log line has the text or the key, and every proof verifies', async () => {
  const { deps, dispatcher } = app.service;
  const world = people(app);
  const { key } = await app.agent(OWNER);
  const subjects = [await world.lead(key, MAILBOX), await world.rfq(key, MAILBOX)];
  await world.caughtUp();
  await dispatcher.idle();
  await markTree({ ...deps.proof(), ...deps });
  const opened = await exported(app, OWNER, { query: '&reason=test' });
  expect(readFileSync(opened, 'utf8')).toContain(MAILBOX);
  rmSync(opened);
  const needles = [MAILBOX, ...wrappedKeys()];
  expect(filesWith(needles).length).toBeGreaterThan(2);
  for (const subject of subjects) {
    const erased = await app.desk('POST', `/subjects/${subject}/erase`, { reason: 'Asked for it' });
    expect(erased).toMatchObject({ status: 200, body: { key: 'destroyed' } });
  }
  const isErased = async (subject: string) => (await deps.vault.knows(subject)) === 'destroyed';
  await removeStoredMail(join(app.directory, 'mail'), { before: 0, isErased });
  await deps.audit.flush();
  expect(filesWith(needles)).toEqual([]);
  expect(logged.filter((line) => line.includes(MAILBOX))).toEqual([]);

  const file = await exported(app, OWNER, { query: '&reason=test' });
  const [{ text }] = deps.proof().signers;
  const found = await verifyExport(createReadStream(file), { keys: [text] });
  expect(found).toMatchObject({ status: 0, isKeyChecked: true });
  expect(readFileSync(file, 'utf8')).not.toContain(MAILBOX);
  const rebuilt = new LogTree(deps.log, sqliteProofStore(join(directory, 'proof.db')));
  await rebuilt.advance();
  expect(rebuilt.newest).toEqual(deps.proof().tree.newest);
});
