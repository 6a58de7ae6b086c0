/**
 * A process with a log, a tree and a notary in a directory, which prints each checkpoint that it publishes, and kills itself
 * at a step of one mark: `node dying-notary.ts DIRECTORY STEP`. Without a step it ends by itself.
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { markTree } from '#src/proof/notary.ts';
import { MARKS_STREAM } from '#src/proof/tree.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { ProofStore, TreeMark } from '#src/ports/proof-store.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { claimCode, newestNote, notaryAt } from './notary.ts';

const MARKS = 4;
/** The first mark of a process is stored, so that there is something to lose. */
const DYING_MARK = 3;

const [, , directory = '', wanted] = process.argv;
let mark = 0;

const dieAt = (step: string): void => {
  if (mark === DYING_MARK && step === wanted) process.kill(process.pid, 'SIGKILL');
};

const dyingLog = (log: EventLog): EventLog => ({
  ...log,
  async append(stream, expected, events) {
    if (stream !== MARKS_STREAM) return log.append(stream, expected, events);
    dieAt('before the append');
    const appended = log.append(stream, expected, events);
    dieAt('during the append');
    const result = await appended;
    dieAt('after the append');
    return result;
  },
});

/** Kills the process when the marks are stored, after the tiles, the leaves and the heads, in one transaction. */
const dyingMarks = (marks: readonly TreeMark[]): TreeMark[] =>
  marks.map((each) => ({
    ...each,
    get size() {
      dieAt('during the commit of the tree');
      return each.size;
    },
  }));

const dyingStore = (store: ProofStore): ProofStore => ({
  ...store,
  commit(change) {
    if (change.marks.length > 0) dieAt('before the commit of the tree');
    store.commit({ ...change, marks: dyingMarks(change.marks) });
    if (change.marks.length > 0) dieAt('after the commit of the tree');
  },
});

const log = sqliteEventLog({ directory });
const path = join(directory, 'proof.db');
const notary = notaryAt(path, dyingLog(log), { through: dyingStore });
await notary.tree.advance();
const { position } = await log.head();
for (mark = 1; mark <= MARKS; mark += 1) {
  for (const act of ['a', 'b', 'c']) await claimCode(log, `${position}${mark}${act}`);
  await markTree(notary);
  dieAt('before the signature');
  const note = newestNote(notary);
  dieAt('before the publication');
  writeSync(1, `${JSON.stringify(note)}\n`);
  dieAt('after the publication');
}
await log.close();
notary.store.close();
