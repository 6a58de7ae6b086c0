/**
 * log.mark says how far the log once was. SQLite opens a log that lost its end (a cut file, a
 * flipped bit in the write-ahead log) without a word; the mark does not.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { StartupError } from '#src/ports/startup-error.ts';

type Mark = { id: string; position: number; seal: number };

const isMark = (value: unknown): value is Mark => {
  const mark = value as Partial<Mark> | null;
  return (
    typeof mark?.id === 'string' &&
    Number.isSafeInteger(mark.position) &&
    Number.isSafeInteger(mark.seal)
  );
};

const WAY_FORWARD =
  'Restore the data directory from a backup. Deleting log.mark accepts the loss knowingly: ' +
  'events that were acknowledged after the point that is left are gone.';

export const readMark = (path: string): Mark | undefined => {
  if (!existsSync(path)) return undefined;
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isMark(mark)) return mark;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StartupError(
    `${path} is unreadable, so nobody can say whether the log has lost its end. Restore the data ` +
      'directory from a backup, or delete log.mark and let `tributary log verify` pass.',
  );
};

/** Throws when the log is not the marked one, or a shorter or another one than it was. */
export const requireMark = (
  mark: Mark | undefined,
  log: { path: string; id: string; position: number; sealAt(position: number): number | undefined },
): void => {
  if (!mark) return;
  if (mark.id !== log.id) {
    throw new StartupError(
      `${log.path} is another log (${log.id}) than the one that log.mark beside it names ` +
        `(${mark.id}). ${WAY_FORWARD}`,
    );
  }
  if (mark.position > log.position) {
    throw new StartupError(
      `${log.path} ends at position ${log.position}, but it once reached ${mark.position}: ` +
        `${mark.position - log.position} acknowledged events are missing. ${WAY_FORWARD}`,
    );
  }
  if (mark.position > 0 && log.sealAt(mark.position) !== mark.seal) {
    throw new StartupError(
      `${log.path} holds another event at position ${mark.position} than the one acknowledged ` +
        `there. ${WAY_FORWARD}`,
    );
  }
};

const writeMark = async (path: string, mark: Mark): Promise<void> => {
  const fresh = `${path}.new`;
  const file = await open(fresh, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(mark)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
};

/** Moves the mark after a commit's answers, at most every `everyMs` while there is new work. */
export const markKeeper = (path: string, everyMs: number, current: () => Mark) => {
  let written = readMark(path)?.position ?? -1;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    const mark = current();
    if (mark.position === written) return;
    try {
      await writeMark(path, mark);
      written = mark.position;
    } catch {
      // No room for it: the old mark stands and is still true; the next one may find room.
    }
  };
  /** One after another: each writes the same fresh file. */
  const writeNext = (): void => {
    writing = writing.then(write);
  };
  const cooled = (): void => {
    timer = undefined;
    if (current().position !== written) touch();
  };
  const touch = (): void => {
    if (timer) return;
    timer = setTimeout(cooled, everyMs).unref();
    setImmediate(writeNext);
  };
  return {
    touch,
    async close(): Promise<void> {
      clearTimeout(timer);
      writeNext();
      await writing;
    },
  };
};
