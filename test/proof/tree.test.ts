/** The tree of a log: built again from it, shared by two notaries, and refused where the log was rewritten. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openVerifier, openNote, signerOf } from '#src/proof/note.ts';
import { checkpointOf, markTree } from '#src/proof/notary.ts';
import { LogRewritten, LogTree, MARKS_STREAM } from '#src/proof/tree.ts';
import type { EventLog, StoredEvent } from '#src/ports/event-log.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-proof-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

let stores = 0;
const newStore = () => {
  stores += 1;
  return sqliteProofStore(join(directory, `${stores}.db`));
};

const signers = [signerOf('tributary/test', Buffer.alloc(32, 7))] as const;
const clock = systemClock();
const ids = systemIds();

const meta = { at: 1, actor: 'system', surface: 'system', operation: 'test', request: 'r', v: 1 };
const opened = { code: 'abc', link_id: 'lnk_1', owner_id: 'acme' };

/** Appends an event to a stream of its own. */
const append = (log: EventLog, owner: string, name: string) =>
  log.append(`${owner}-code_${name}`, -1, [
    { id: ids.uuid(), type: 'CodeClaimed', data: opened, meta },
  ]);

const notaryOf = (log: EventLog) => ({
  log,
  clock,
  ids,
  signers,
  tree: new LogTree(log, newStore()),
});

const mark = (notary: ReturnType<typeof notaryOf>) => markTree(notary);

const history = async (): Promise<EventLog> => {
  const log = memoryEventLog();
  const notary = notaryOf(log);
  for (let round = 0; round < 30; round += 1) {
    for (let act = 0; act < 20; act += 1)
      await append(log, `owner${(round * act) % 7}`, `${round}x${act}`);
    if (round % 3 === 0) await mark(notary);
  }
  await mark(notary);
  return log;
};

it('Every process builds the same tree of a log, in one pass or as it grows, and signs the same checkpoints', async () => {
  const log = memoryEventLog();
  const notary = notaryOf(log);
  const follower = notaryOf(log);
  for (let round = 0; round < 12; round += 1) {
    for (let act = 0; act < 60; act += 1) await append(log, `owner${act % 5}`, `${round}x${act}`);
    await mark(notary);
    await follower.tree.advance();
    const rebuilt = new LogTree(log, newStore());
    await rebuilt.advance();
    expect(rebuilt.newest).toEqual(notary.tree.newest);
    expect(follower.tree.newest).toEqual(notary.tree.newest);
    expect(rebuilt.ownerProof('owner3')).toEqual(notary.tree.ownerProof('owner3'));
  }
  const { newest } = notary.tree;
  if (!newest) throw new Error('there is no mark');
  const note = checkpointOf(notary, newest);
  expect(openNote(note, [openVerifier(signers[0].text)])?.signed).toHaveLength(1);
});

it('A log without anything new gets no mark', async () => {
  const log = await history();
  const { position } = await log.head();
  await mark(notaryOf(log));
  expect((await log.head()).position).toBe(position);
});

it('Of two notaries that mark at once the log accepts one, and both have the same tree', async () => {
  const log = memoryEventLog();
  const [one, other] = [notaryOf(log), notaryOf(log)];
  for (let round = 0; round < 20; round += 1) {
    await append(log, 'acme', String(round));
    await Promise.all([mark(one), mark(other)]);
    await Promise.all([one.tree.advance(), other.tree.advance()]);
    expect(other.tree.newest).toEqual(one.tree.newest);
    expect((await log.readStream(MARKS_STREAM)).length).toBe(round + 1);
  }
});

/** A log with the same events, except for those that `change` returns otherwise. */
const rewritten = (
  log: EventLog,
  change: (event: StoredEvent) => StoredEvent,
): Pick<EventLog, 'readAll' | 'readBack'> => ({
  readAll: async (range) => (await log.readAll(range)).map(change),
  readBack: async (range) => (await log.readBack(range)).map(change),
});

it('A log in which any event was rewritten is refused when its tree is built again', async () => {
  const log = await history();
  const { position: head } = await log.head();
  const marks = await log.readStream(MARKS_STREAM);
  const last = marks.at(-1)?.position ?? 0;
  for (let position = 1; position < last; position += 37) {
    if (marks.some((mark) => mark.position === position)) continue;
    const change = (event: StoredEvent): StoredEvent =>
      event.position === position ? { ...event, meta: { ...event.meta, at: 2 } } : event;
    const tree = new LogTree(rewritten(log, change), newStore());
    const isUnderLastMark = position > (marks.at(-2)?.position ?? 0);
    // What is under the newest mark alone is proved by its checkpoint, and by the next mark.
    if (isUnderLastMark) continue;
    await expect(tree.advance()).rejects.toThrow(LogRewritten);
  }
  expect(head).toBeGreaterThan(last - 1);
});

it('A tree that was built of another log is built again', async () => {
  const store = newStore();
  await new LogTree(await history(), store).advance();
  const log = memoryEventLog();
  for (let act = 0; act < 700; act += 1) await append(log, 'acme', String(act));
  const tree = new LogTree(log, store);
  await tree.advance();
  expect(tree.newest).toBeUndefined();
  expect(tree.unmarked).toBe(700);
});
