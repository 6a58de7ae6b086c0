/**
 * log.mark records how far the log has come. SQLite opens a log without error even if it lost its end
 * (a truncated file, a flipped bit in the write-ahead log); comparing it with the mark shows the loss.
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
  'Restore the data directory from a backup. Deleting log.mark accepts the loss of all events ' +
  'that were acknowledged after the end of this log.';

/** Returns undefined if there is no mark. Throws StartupError if it is unreadable. */
export const readMark = (path: string): Mark | undefined => {
  if (!existsSync(path)) return undefined;
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isMark(mark)) return mark;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StartupError(
    `${path} is unreadable, so it is unknown whether the log has lost its end. Restore the data ` +
      'directory from a backup, or delete log.mark and run `tributary log verify`.',
  );
};

/** Throws StartupError if the log is not the marked one, or has lost or replaced marked events. */
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

/** Moves the mark after commits were answered: at once, then at most every `everyMs`. */
export class MarkKeeper {
  readonly #path: string;
  readonly #everyMs: number;
  readonly #current: () => Mark;
  /** Position of the stored mark. */
  #written: number;
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  constructor(path: string, everyMs: number, current: () => Mark) {
    this.#path = path;
    this.#everyMs = everyMs;
    this.#current = current;
    this.#written = readMark(path)?.position ?? -1;
  }

  schedule(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#current().position !== this.#written) this.schedule();
    }, this.#everyMs).unref();
    setImmediate(() => this.#enqueue());
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#enqueue();
    await this.#writing;
  }

  /** Writes one after another, because all use the same temporary file. */
  #enqueue(): void {
    this.#writing = this.#writing.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const mark = this.#current();
    if (mark.position === this.#written) return;
    try {
      await writeMark(this.#path, mark);
      this.#written = mark.position;
    } catch {
      // The disk is full, most likely. The old mark remains valid; the next write may succeed.
    }
  }
}
