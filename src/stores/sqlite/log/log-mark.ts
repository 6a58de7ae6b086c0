/**
 * log.mark records the last acknowledged event, keys.mark the last acknowledged key. SQLite opens a file without error even
 * if it lost its end (a truncated file, a flipped bit in the write-ahead log); comparing it with the mark shows the loss.
 *
 * The file has two slots of SLOT_BYTES, each with its own checksum. Each mark overwrites the older slot,
 * so a write that a power cut tears leaves the other one. The slots together are one JSON object, in
 * which the second slot repeats the names of the first.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
  statSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { StartupError } from '#src/ports/startup-error.ts';

/** Position and checksum of the last event; or number of keys, and checksum of the last one. */
export type LogEnd = { position: number; seal: number };
type Mark = LogEnd & { id: string };

export type MarkOptions = { path: string; id: string };

/** A page of memory and of most disks, so that no write touches both slots. */
const SLOT_BYTES = 4_096;

const FIELDS = /"id":"(\w+)","position":(\d+),"seal":(\d+),"crc":(\d+)/;

const crcOf = ({ id, position, seal }: Mark): number => crc32(`${id} ${position} ${seal}`);

const encodeSlot = (slot: number, mark: Mark): Buffer => {
  const { id, position, seal } = mark;
  const fields = JSON.stringify({ id, position, seal, crc: crcOf(mark) });
  const text = slot === 0 ? fields.slice(0, -1) : `,${fields.slice(1)}`;
  return Buffer.from(`${text.padEnd(SLOT_BYTES - 1)}\n`, 'latin1');
};

/** Returns undefined if the slot was never written, or is damaged. */
const decodeSlot = (text: string): Mark | undefined => {
  const [, id = '', position, seal, crc] = FIELDS.exec(text) ?? [];
  const mark = { id, position: Number(position), seal: Number(seal) };
  return Number(crc) === crcOf(mark) ? mark : undefined;
};

type StoredMark = { mark: Mark; slot: number };

/** Returns the newest mark and its slot; null if both slots are damaged. */
const decode = (text: string): StoredMark | null => {
  const slots = [text.slice(0, SLOT_BYTES), text.slice(SLOT_BYTES)].map(decodeSlot);
  const [first, second] = slots;
  if (first && first.position > (second?.position ?? -1)) return { mark: first, slot: 0 };
  if (second) return { mark: second, slot: 1 };
  return null;
};

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

/** Returns undefined if there is no mark. Throws StartupError if no mark in the file is readable. */
export const readMark = (path: string, wayForward: string): Mark | undefined => {
  const text = readText(path);
  if (text === undefined) return undefined;
  const stored = decode(text);
  if (stored) return stored.mark;
  throw new StartupError(
    `${path} is unreadable, so it is unknown whether the file beside it has lost its end. ${wayForward}`,
  );
};

export type MarkedFile = {
  path: string;
  id: string;
  position: number;
  sealAt(position: number): number | undefined;
  /** What the file is, and what it holds, such as "log" and "event". */
  what: string;
  unit: string;
  wayForward: string;
};

/** Throws StartupError if the file is not the marked one, or has lost or replaced what was acknowledged. */
export const requireMark = (
  mark: Mark | undefined,
  { path, id, position, sealAt, what, unit, wayForward }: MarkedFile,
): void => {
  if (!mark) return;
  const fault = (text: string): StartupError => new StartupError(`${path} ${text}. ${wayForward}`);
  if (mark.id !== id && position > 0)
    throw fault(`is another ${what} (${id}) than the one that its mark names (${mark.id})`);
  if (mark.position > position)
    throw fault(
      `ends at position ${position}, but it once reached ${mark.position}: ` +
        `${mark.position - position} acknowledged ${unit}s are missing`,
    );
  if (mark.position > 0 && sealAt(mark.position) !== mark.seal)
    throw fault(
      `holds another ${unit} at position ${mark.position} than the one acknowledged there`,
    );
};

/** Creates the file with the mark in both slots. */
const create = (path: string, mark: Mark): void => {
  const slots = Buffer.concat([encodeSlot(0, mark), encodeSlot(1, mark)]);
  writeFileSync(`${path}.new`, slots, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
};

/** Returns the slot to overwrite next, after creating the file if it has no slots. */
const prepareSlots = (path: string, mark: Mark): number => {
  const stored = decode(readText(path) ?? '');
  if (stored) return 1 - stored.slot;
  create(path, mark);
  return 0;
};

/** Creates the file unless it has slots. Without space the first commit tries again. */
export const ensureMark = ({ path, id }: MarkOptions, { position, seal }: LogEnd): void => {
  try {
    prepareSlots(path, { id, position, seal });
  } catch {
    // A missing mark detects nothing, and harms nothing.
  }
};

const SYNC_EVERY_MS = 1_000;

/** Overwrites the older slot after each commit, and syncs the file at most once a second. */
export class MarkWriter {
  readonly #path: string;
  readonly #id: string;
  #file: number | undefined;
  #slot = 0;
  #syncing: NodeJS.Timeout | undefined;

  constructor({ path, id }: MarkOptions) {
    this.#path = path;
    this.#id = id;
  }

  /** Never throws: the commit is durable, and an older mark remains valid. */
  write({ position, seal }: LogEnd): void {
    const mark = { id: this.#id, position, seal };
    try {
      const file = (this.#file ??= this.#open(mark));
      writeSync(file, encodeSlot(this.#slot, mark), 0, SLOT_BYTES, this.#slot * SLOT_BYTES);
      this.#slot = 1 - this.#slot;
      this.#syncing ??= setTimeout(() => this.#sync(file), SYNC_EVERY_MS).unref();
    } catch {
      // The next commit tries again.
    }
  }

  close(): void {
    clearTimeout(this.#syncing);
    if (this.#file === undefined) return;
    try {
      fdatasyncSync(this.#file);
    } catch {
      // As after a power cut, the mark may trail by the commits since the last sync.
    }
    closeSync(this.#file);
  }

  #open(mark: Mark): number {
    this.#slot = prepareSlots(this.#path, mark);
    return openSync(this.#path, 'r+');
  }

  #sync(file: number): void {
    this.#syncing = undefined;
    // In the thread pool, so that no commit waits for it. A failed sync leaves what a power cut would.
    fdatasync(file, () => {});
  }
}

/**
 * Identifies the file at the path by device and inode; undefined if there is none. A file that was unlinked or replaced
 * still exists for the processes that have it open.
 */
export const fileAt = (path: string): string | undefined => {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
};
