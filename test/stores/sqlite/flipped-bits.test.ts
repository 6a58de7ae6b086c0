import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { memoryEventLog } from '../../support/memory-event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { checkLive, runProjections } from '#projections/engine/engine.ts';
import {
  type LocalStore,
  PARTITIONS,
  partitionOf,
  ReadModelRebuilding,
  type Row,
} from '#src/ports/read-model.ts';
import { directories } from '../../support/processes/directories.ts';
import { appendMany, awaitPassed, tally } from '../../support/world/engine.ts';
import { HANG_MS } from '../../support/hang.ts';

const temporary = directories('tributary-bits-');
afterAll(() => temporary.removeAll());

/** So many in two partitions that the first rows are in blocks. */
const OWNERS = Array.from({ length: 2_000 }, (_, n) => `owner${n}`)
  .filter((owner) => partitionOf(owner) < 2)
  .slice(0, 50);
const EACH = 3;
const SPACE = 'tally@1.1';
/** Coprime to the size of a page, so that the flips reach every part of a page. */
const STEP_BYTES = 307;

/** A file with rows by themselves and rows in blocks, as bytes, and the log that it is a cache of. */
const filledFile = async () => {
  const file = join(temporary.fresh(), 'views.db');
  const log = memoryEventLog();
  const run = async (store: LocalStore, each: number): Promise<void> => {
    const ended = new AbortController();
    const { signal } = ended;
    const engine = await runProjections({ log, store, projections: [tally()], signal });
    await engine.ready;
    await awaitPassed(engine, await appendMany(log, OWNERS.slice(0, each), 1));
    ended.abort();
    await engine.done;
    await store.close();
  };
  await appendMany(log, OWNERS, EACH);
  // The first run fills the space; the second one changes rows of it.
  await run(sqliteStore({ file }), 0);
  await run(sqliteStore({ file }), 20);
  const bytes = readFileSync(file);
  const store = sqliteStore({ file });
  const right = rowsOf(store);
  await store.close();
  return { file, log, bytes, right };
};

/** `absent`: the file seems to lack the row, which only a check of its partition can notice. */
type Answer = 'right' | 'rebuilding' | 'absent' | 'wrong';

type Rows = (Row | undefined)[];

const ask = (read: () => Row | undefined, right: Row | undefined): Answer => {
  try {
    const row = read();
    if (row === undefined) return 'absent';
    return JSON.stringify(row) === JSON.stringify(right) ? 'right' : 'wrong';
  } catch (error) {
    if (error instanceof ReadModelRebuilding) return 'rebuilding';
    throw error;
  }
};

const rowsOf = (store: LocalStore): Rows =>
  OWNERS.map((owner) => store.peek(SPACE, owner, 'tally'));

const answersOf = (store: LocalStore, right: Rows): Answer[] => {
  const space = store.live('tally');
  if (space === null) return ['rebuilding'];
  return OWNERS.flatMap((owner, i) => [
    ask(() => store.peek(space, owner, 'tally'), right[i]),
    ask(() => store.list(space, { scope: owner, limit: 1 })[0]?.row, right[i]),
  ]);
};

describe('A file of the read models with a flipped bit', () => {
  test('A file of the read models with a flipped bit never serves a changed row, and a check of all partitions finds every lost one', async () => {
    const { file, bytes, right } = await filledFile();
    const found = { right: 0, rebuilding: 0, absent: 0, wrong: 0 };
    let discarded = 0;
    for (let at = 0; at < bytes.length; at += STEP_BYTES) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, flipped);
      const store = sqliteStore({ file, onDiscarded: () => (discarded += 1) });
      for (const answer of answersOf(store, right)) found[answer] += 1;
      for (let partition = 0; partition < PARTITIONS; partition++)
        await store.check?.(SPACE, partition).catch((error: unknown) => {
          if (!(error instanceof ReadModelRebuilding)) throw error;
        });
      const after = answersOf(store, right);
      expect(
        after.filter((one) => one === 'absent' || one === 'wrong'),
        `byte ${at}`,
      ).toEqual([]);
      await store.close();
    }
    expect(found.wrong).toBe(0);
    expect(found.right).toBeGreaterThan(0);
    expect(discarded).toBeGreaterThan(10);
  });

  /** Flips a bit in a row that was written by itself, which is JSON in the file. */
  const flipRow = (file: string, bytes: Buffer): void => {
    const at = bytes.lastIndexOf('"count":4') + '"count":'.length;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  };

  test('A file of the read models with a flipped bit is found by the daily check, which reads what no reader asks for', async () => {
    const { file, bytes, right } = await filledFile();
    flipRow(file, bytes);
    const reasons: string[] = [];
    const store = sqliteStore({ file, onDiscarded: (reason) => reasons.push(reason) });
    const { signal } = new AbortController();
    await checkLive({ store, projections: [tally()], signal });
    expect(reasons).toEqual([expect.stringMatching(/^tally@1\.1, partition \d+: .*hash/)]);
    expect(new Set(answersOf(store, right))).toEqual(new Set(['right', 'rebuilding']));
    await store.close();
  });

  test('A file of the read models with a flipped bit has its partition filled again by the engine, while the others are served', async () => {
    const { file, log, bytes, right } = await filledFile();
    flipRow(file, bytes);
    const reasons: string[] = [];
    const store = sqliteStore({ file, onDiscarded: (reason) => reasons.push(reason) });
    const ended = new AbortController();
    const { signal } = ended;
    const engine = await runProjections({ log, store, projections: [tally()], signal });
    await engine.ready;
    const first = answersOf(store, right);
    expect(new Set(first)).toEqual(new Set(['right', 'rebuilding']));
    expect(reasons).toEqual([expect.stringMatching(/^tally@1\.1, partition \d+: .*hash/)]);
    engine.recheck();
    while (answersOf(store, right).some((answer) => answer !== 'right'))
      await new Promise((turn) => setImmediate(turn));
    expect(await engine.passed((await log.head()).position, HANG_MS)).toBe(true);
    ended.abort();
    await engine.done;
    await store.close();
  });
});
