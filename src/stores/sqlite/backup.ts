/** Copies an embedded log and its keys into files, while a service writes them. The commands that back up and restore use it. */
import { backup } from 'node:sqlite';
import { join } from 'node:path';
import { openPrivate, openToRead, queryValue } from './open.ts';

/** Copied in one step: 4 MB. */
const STEP_PAGES = 1_000;
/** A pause lasts so many times as long as the step before it, so that the service keeps the disk and the cores. */
const PAUSE_STEPS = 5;

/** Blocks the thread, because SQLite begins the next step when this returns. */
const pausing = (): (() => void) => {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let began = performance.now();
  return () => {
    Atomics.wait(never, 0, 0, PAUSE_STEPS * (performance.now() - began));
    began = performance.now();
  };
};

/** The order matters: a key is stored before the event that needs it, so keys that are copied later are enough for the log. */
const DATABASES = ['log.db', 'keys.db'] as const;

/** Receives the pages of the present file that are copied, and how many it has. */
type OnStep = (done: number, total: number) => void;

const copyDatabase = async (from: string, to: string, onStep: OnStep): Promise<void> => {
  using source = openToRead(from);
  // One snapshot for all steps: without it each write of the service makes the copy begin again.
  source.exec('BEGIN');
  queryValue(source, 'SELECT count(*) FROM sqlite_schema');
  openPrivate(to).close();
  const rest = pausing();
  await backup(source, to, {
    rate: STEP_PAGES,
    progress({ totalPages, remainingPages }) {
      onStep(totalPages - remainingPages, totalPages);
      rest();
    },
  });
  using copy = openPrivate(to);
  // One file, without a write-ahead log beside it.
  copy.exec('PRAGMA journal_mode = DELETE');
};

/**
 * Copies log and keys of a data directory: all events up to a position, and at least the keys that these need. Returns the
 * names of the files. O(size of the files); the service writes meanwhile. Throws what SQLite throws, for example if the disk
 * is full.
 */
export const copyLogFiles = async (
  from: string,
  to: string,
  onStep: OnStep,
): Promise<readonly string[]> => {
  for (const file of DATABASES) await copyDatabase(join(from, file), join(to, file), onStep);
  return DATABASES;
};
