/** SIGKILL between the steps of a mark, and other ways in which the log, its tree and the clock disagree. */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { markTree } from '#src/proof/notary.ts';
import { openNote, readCheckpoint } from '#src/proof/note.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import {
  claimCode,
  fileOf,
  newestNote,
  notaryAt,
  SIGNERS,
  type TestNotary,
  verifyFile,
} from '../support/audit/notary.ts';
import { witnessOf } from '../support/audit/witness.ts';
import { COMPILED } from '../support/clients/cli.ts';
import { directories } from '../support/processes/directories.ts';
import { testClock } from '../support/world/app.ts';

const CHILD = fileURLToPath(new URL('../support/audit/dying-notary.ts', import.meta.url));
const STEPS = [
  'before the append',
  'during the append',
  'after the append',
  'before the commit of the tree',
  'during the commit of the tree',
  'after the commit of the tree',
  'before the signature',
  'before the publication',
  'after the publication',
];
const keys = [SIGNERS[0].text];

const { fresh, removeAll } = directories('tributary-kill-');
afterAll(removeAll);

/** Runs a notary in the directory until it dies or ends. Returns the checkpoints that it published. */
const notes = (directory: string, ...step: string[]) => {
  const { signal, stdout, stderr } = spawnSync(process.execPath, [CHILD, directory, ...step], {
    encoding: 'utf8',
    env: { NODE_COMPILE_CACHE: COMPILED },
  });
  const published = stdout.split('\n').slice(0, -1);
  return { signal, stderr, published: published.map((line) => JSON.parse(line) as string) };
};

/** Opens what a process left, for as long as `act` runs; `path` of another tree than the one that is left. */
const opened = async <Result>(
  directory: string,
  act: (notary: TestNotary) => Promise<Result>,
  path = join(directory, 'proof.db'),
): Promise<Result> => {
  const log = sqliteEventLog({ directory });
  const notary = notaryAt(path, log);
  try {
    return await act(notary);
  } finally {
    await log.close();
    notary.store.close();
  }
};

/** Expects that each checkpoint is one of the log: of a mark in it, with the root of its tree. */
const expectOfLog = (notary: TestNotary, published: Iterable<string>): void => {
  for (const note of published) {
    const { size = 0, root } = readCheckpoint(openNote(note, SIGNERS)?.text ?? '') ?? {};
    expect(notary.tree.markAt(size)?.size, 'the log has no such mark').toBe(size);
    expect(notary.tree.rootAt(size)).toEqual(root);
  }
};

it(`A notary that is killed at each of ${STEPS.length} steps of a mark publishes one root for a size, never one that the log does not have, and its export verifies`, async () => {
  const directory = fresh();
  const published = new Set<string>();
  for (const step of STEPS) {
    const ended = notes(directory, step);
    expect(ended, ended.stderr).toMatchObject({ signal: 'SIGKILL' });
    for (const note of ended.published) published.add(note);
    // As the next start finds it, and as the log alone has it.
    for (const path of [undefined, join(fresh(), 'rebuilt.db')])
      await opened(
        directory,
        async (notary) => {
          await notary.tree.advance();
          expectOfLog(notary, published);
        },
        path,
      );
  }
  const last = notes(directory);
  expect(last, last.stderr).toMatchObject({ signal: null });
  for (const note of last.published) published.add(note);
  await opened(directory, async (notary) => {
    await markTree(notary);
    expectOfLog(notary, published);
    expect(await verifyFile(await fileOf(notary), { keys })).toMatchObject({ status: 0 });
  });
  const sizes = [...published].map((note) => note.split('\n')[1]);
  expect(new Set(sizes).size).toBe(sizes.length);
  expect(sizes.length).toBeGreaterThan(STEPS.length * 2);
});

it('A notary whose clock is set back marks on, and its later exports continue its earlier checkpoints', async () => {
  const clock = testClock();
  const log = sqliteEventLog({ directory: fresh() });
  const notary = notaryAt(join(fresh(), 'proof.db'), log, { clock });
  let kept: string | undefined;
  for (const [round, ms] of [0, -86_400_000, 3_600_000, -1].entries()) {
    clock.advance(ms);
    await claimCode(log, String(round));
    await markTree(notary);
    expect(notary.tree.unmarked).toBe(0);
    const { size = 0 } = readCheckpoint(kept?.slice(0, kept.indexOf('\n\n') + 1) ?? '') ?? {};
    const file = await fileOf(notary, size || undefined);
    const options = { keys, ...(kept !== undefined && { checkpoint: kept }) };
    expect(await verifyFile(file, options)).toMatchObject({ status: 0, records: round + 1 });
    kept = newestNote(notary);
  }
  await log.close();
});

const mark = async (notary: TestNotary, ...codes: string[]): Promise<void> => {
  for (const code of codes) await claimCode(notary.log, code);
  await markTree(notary);
};

it('An older tree beside a newer log continues, and has the tree that the log alone gives', async () => {
  const directory = fresh();
  await opened(directory, (notary) => mark(notary, 'one', 'two'));
  const older = join(fresh(), 'proof.db');
  cpSync(join(directory, 'proof.db'), older);
  const newest = await opened(directory, async (notary) => {
    await mark(notary, 'three');
    return newestNote(notary);
  });
  await opened(
    directory,
    async (notary) => {
      await notary.tree.advance();
      expect(newestNote(notary)).toBe(newest);
    },
    older,
  );
});

it('A log that was restored from an older copy beside a newer tree gets its own tree again, and a witness or a checkpoint that was kept shows what it lost', async () => {
  const { post, witness } = witnessOf();
  const directory = fresh();
  const path = join(directory, 'proof.db');
  await opened(directory, (notary) => mark(notary, 'one', 'two'));
  const copy = fresh();
  cpSync(directory, copy, { recursive: true });
  const faultsOf = async (log: EventLog, act: (notary: TestNotary) => Promise<void>) => {
    const notary = notaryAt(path, log, { witnesses: [witness], post });
    const faults: string[] = [];
    await act(notary);
    const { signal } = new AbortController();
    await notary.witnesses.ask(notary, signal, (error) => faults.push((error as Error).message));
    notary.store.close();
    return { notary, faults };
  };
  let kept = '';
  const log = sqliteEventLog({ directory });
  const before = await faultsOf(log, async (notary) => {
    await mark(notary, 'three', 'four', 'five');
    kept = newestNote(notary);
  });
  expect(before.faults).toEqual([]);
  await log.close();

  for (const name of ['log.db', 'log.db-wal', 'log.db-shm', 'log.mark'])
    rmSync(join(directory, name), { force: true });
  for (const name of ['log.db', 'log.mark']) cpSync(join(copy, name), join(directory, name));
  const restored = sqliteEventLog({ directory });
  const after = await faultsOf(restored, async (notary) => {
    await mark(notary, 'other');
    const file = await fileOf(notary);
    expect(await verifyFile(file, { keys })).toMatchObject({ status: 0, records: 3 });
    expect(await verifyFile(file, { keys, checkpoint: kept })).toMatchObject({ status: 3 });
  });
  expect(after.faults[0]).toContain('the log lost its end');
  const { size } = after.notary.tree;
  const rebuilt = notaryAt(join(fresh(), 'proof.db'), restored);
  await rebuilt.tree.advance();
  expect(rebuilt.tree.size).toBe(size);
  expect(rebuilt.tree.newest).toEqual(after.notary.tree.newest);
  await restored.close();
});
