/**
 * What an installation remembers of its log on a server, so that another log behind the same address is
 * detected: the identity, and the newest event that a process read or saw acknowledged. What a process derived from the log is
 * never ahead of that event.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';

/** An event of the log, as its place and its id tell. */
export type SeenEvent = { position: Position; stream: string; revision: number; event: string };

export type LogMark = { id: string; newest: SeenEvent | null };

/** A place that outlives the process and stores one mark. */
export type MarkPlace = {
  /** For messages. */
  readonly name: string;
  /** Whether other processes also use it. */
  readonly isShared: boolean;
  load(): Promise<LogMark | undefined>;
  /** Stores the mark durably, unless the place holds a mark of another log, or a newer one. */
  store(mark: LogMark): Promise<void>;
  /** The same without a promise, where the place is a file. */
  storeNow?(mark: LogMark): void;
  /** Stores this mark in place of any other, or removes it. */
  replace(mark: LogMark | undefined): Promise<void>;
  close(): Promise<void>;
};

const positionOfMark = (mark: LogMark): Position => mark.newest?.position ?? 0;

/** Returns true if `value` has the shape of a mark. */
export const isLogMark = (value: unknown): value is LogMark => {
  const mark = value as Partial<LogMark> | null;
  if (typeof mark?.id !== 'string' || mark.newest === undefined) return false;
  const { newest } = mark;
  return (
    newest === null ||
    (Number.isSafeInteger(newest.position) &&
      Number.isSafeInteger(newest.revision) &&
      typeof newest.stream === 'string' &&
      typeof newest.event === 'string')
  );
};

/** Returns the mark to keep of a stored one and one to store. */
export const newerMark = (stored: LogMark | undefined, mark: LogMark): LogMark =>
  stored && (stored.id !== mark.id || positionOfMark(stored) >= positionOfMark(mark))
    ? stored
    : mark;

/** Names places at the beginning of a sentence. */
export const placesAsSubject = (names: readonly string[]): string => {
  const text = names.join(' and ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
};

/** The name of a database without a log, where an operator names the identity of a log. */
export const NO_LOG = 'none';

const STORE_EVERY_MS = 1_000;
const RECALL_MS_MAX = 200;

/** Keeps the mark of the open log in all places: at once after a change, then at most once a second. */
export class LogMemory {
  readonly #places: readonly MarkPlace[];
  readonly #everyMs: number;
  readonly #stored = new Map<MarkPlace, LogMark>();
  #mark: LogMark | undefined;
  #timer: NodeJS.Timeout | undefined;
  #storing = Promise.resolve();

  constructor(places: readonly MarkPlace[] = [], everyMs = STORE_EVERY_MS) {
    this.#places = places;
    this.#everyMs = everyMs;
  }

  /** Names the places that remember a log. */
  get names(): string[] {
    return this.#places.map(({ name }) => name);
  }

  /** The newest mark of all places. Throws StartupError if two places remember different logs. */
  async load(): Promise<LogMark | undefined> {
    let newest: LogMark | undefined;
    for (const place of this.#places) {
      const mark = await place.load();
      if (!mark) continue;
      if (newest && newest.id !== mark.id)
        throw new StartupError(
          `${placesAsSubject(this.names)} belong to different logs: ${newest.id} and ${mark.id}. Check DATA_DIR and ` +
            'READ_MODEL_URL. To use both with one log, run `tributary log adopt` for that log.',
        );
      newest = newest ? newerMark(newest, mark) : mark;
    }
    return newest;
  }

  /** Stores the mark of the log that was opened; resolves when it is durable. */
  async open(mark: LogMark): Promise<void> {
    this.#mark = mark;
    for (const place of this.#places) {
      await place.store(mark);
      this.#stored.set(place, mark);
    }
  }

  /** Returns the newest mark that a place has now. A place that does not answer in time has none. */
  async recall(): Promise<LogMark | undefined> {
    const late = delay(RECALL_MS_MAX, undefined, { ref: false });
    const marks = await Promise.all(
      this.#places.map((place) => Promise.race([place.load().catch(() => undefined), late])),
    );
    return marks.reduce((newest, mark) => (mark ? newerMark(newest, mark) : newest), undefined);
  }

  /** Remembers the newest event. Stores it later, so that neither an append nor a reader waits for it. */
  remember(mark: LogMark): void {
    this.#mark = mark;
    if (this.#timer || this.#places.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#mark && !this.#isStored(this.#mark)) this.remember(this.#mark);
    }, this.#everyMs).unref();
    setImmediate(() => void this.#store());
  }

  /** Stores the mark at once in the places that can, before a file that was derived from the log gets what is newer. */
  storeNow(): void {
    const mark = this.#mark;
    if (!mark) return;
    for (const place of this.#places) {
      if (!place.storeNow || this.#stored.get(place) === mark) continue;
      place.storeNow(mark);
      this.#stored.set(place, mark);
    }
  }

  /** Resolves once the mark is stored in all places that can be reached. */
  async stored(): Promise<void> {
    if (this.#mark && !this.#isStored(this.#mark)) await this.#store();
  }

  /** Stores the last mark and closes the places. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#store();
    await Promise.all(this.#places.map((place) => place.close()));
  }

  #isStored(mark: LogMark): boolean {
    return this.#places.every((place) => this.#stored.get(place) === mark);
  }

  #store(): Promise<void> {
    this.#storing = this.#storeAfter(this.#storing);
    return this.#storing;
  }

  async #storeAfter(previous: Promise<void>): Promise<void> {
    await previous;
    await Promise.all(this.#places.map((place) => this.#storeAt(place)));
  }

  async #storeAt(place: MarkPlace): Promise<void> {
    const mark = this.#mark;
    if (!mark || this.#stored.get(place) === mark) return;
    try {
      await place.store(mark);
      this.#stored.set(place, mark);
    } catch {
      // A full disk, or an outage of Redis. The older mark stays valid; the next second tries again.
    }
  }
}

const FILE = 'remote-log.mark';

const read = (path: string): LogMark | undefined => {
  if (!existsSync(path)) return undefined;
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isLogMark(mark)) return mark;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StartupError(
    `${path} is unreadable, so it is unknown which log this data directory belongs to. If the log on ` +
      'the server is the right one, delete the file.',
  );
};

/** Takes less than a millisecond, at most once a second in idle times and once before each write of derived rows. */
const write = (path: string, mark: LogMark): void => {
  const fresh = `${path}.new`;
  const file = openSync(fresh, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(mark)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
};

/** The mark in a data directory, which one process holds. `load` throws StartupError if it is unreadable. */
export const markFile = (directory: string): MarkPlace => {
  const path = join(directory, FILE);
  let stored: LogMark | undefined;
  const storeNow = (mark: LogMark): void => {
    if (newerMark(stored, mark) !== mark) return;
    write(path, mark);
    stored = mark;
  };
  return {
    name: `the data directory ${directory}`,
    isShared: false,
    load: async () => (stored = read(path)),
    async replace(mark) {
      if (mark) write(path, mark);
      else rmSync(path, { force: true });
      stored = mark;
    },
    store: async (mark) => storeNow(mark),
    storeNow,
    close: async () => {},
  };
};
