/** The tree of a log, built again by `log verify` in copies of a data directory: whatever was rewritten is named. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkpointOf, markTree } from '#src/proof/notary.ts';
import { foldCrc, sealOf } from '#src/stores/sqlite/log/log-file.ts';
import { runHere } from '../support/clients/cli-here.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { copyOfLive } from '../support/processes/directories.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
let directory: string;
let kept: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-proof-'));
  app = await testApp();
  const history = await randomHistory(app, 'acme', 5);
  const { deps } = app.service;
  for (let act = 0; act < 20; act += 1) await history.act();
  await markTree({ ...deps.proof(), ...deps });
  for (let act = 0; act < 20; act += 1) await history.act();
  await deps.audit.flush();
  await markTree({ ...deps.proof(), ...deps });
  const { newest } = deps.proof().tree;
  if (!newest) throw new Error('there is no mark');
  kept = join(directory, 'kept.note');
  writeFileSync(kept, checkpointOf(deps.proof(), newest));
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true });
});

let copies = 0;
/** A copy of the data directory, without the files of these names. */
const copied = (...without: string[]): string => {
  copies += 1;
  const copy = join(directory, String(copies));
  const isWanted = (path: string) =>
    !without.some((name) => path.includes(name)) && !path.endsWith('server.json');
  return copyOfLive(app.directory, copy, isWanted);
};

type Row = Record<'position' | 'revision' | 'at', number> &
  Record<'stream' | 'type' | 'id' | 'data' | 'meta', string>;

/** Rewrites the event at a position, with checksums that fit. */
const rewrite = (copy: string, position: number): Row => {
  const db = new DatabaseSync(join(copy, 'log.db'));
  const row = db.prepare('SELECT * FROM events WHERE position = ?').get(position) as Row;
  const { stream, revision, type, at, id, meta } = row;
  const data = row.data.replace(/^\{/, '{"won":9000,');
  const crc = foldCrc([position, stream, revision, type, at, data]);
  db.prepare('UPDATE events SET data = ?, crc = ?, seal = ? WHERE position = ?').run(
    data,
    crc,
    sealOf(crc, id, meta),
    position,
  );
  db.close();
  return row;
};

const verify = (copy: string, ...more: string[]) =>
  runHere('log', 'verify', '--data', copy, ...more);

it('A log that is as it was published has the published tree, and that of a checkpoint that was kept', async () => {
  const found = await verify(copied());
  expect(found).toMatchObject({ code: 0 });
  expect(found.stdout).toMatch(/The published tree of \d+ events is the tree of this log\./);
  expect(await verify(copied('proof.db'), '--checkpoint', kept)).toMatchObject({ code: 0 });
});

it('An event that was rewritten with fitting checksums is named exactly, wherever it is', async () => {
  const { position: head } = await app.service.deps.log.head();
  for (let position = 2; position < head; position += Math.ceil(head / 9)) {
    const copy = copied();
    const { stream, type, revision } = rewrite(copy, position);
    if (type === 'TreeMarked') continue;
    const found = await verify(copy, '--json');
    expect(found.code, found.stderr).toBe(4);
    expect(found.stderr).toContain(
      `at position ${position}, ${type} of ${stream}, revision ${revision}, is not the event that was written there`,
    );
  }
});

it('A log that was rewritten together with its tree is caught by its marks, or by a checkpoint that was kept', async () => {
  const first = copied('proof.db');
  rewrite(first, 3);
  expect((await verify(first)).stderr).toContain('an event up to there was changed');
  const { position } = await app.service.deps.log.head();
  const last = copied('proof.db');
  rewrite(last, position - 2);
  expect(await verify(last)).toMatchObject({ code: 0 });
  const caught = await verify(last, '--checkpoint', kept);
  expect(caught).toMatchObject({ code: 4 });
  expect(caught.stderr).toContain('of the checkpoint that was kept');
});
