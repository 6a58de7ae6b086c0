/** Stores a message as a file, once and durably. */
import { link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import type { DeliveryResult } from '#src/ports/delivery.ts';

/** Upper bound of the time for one file, in milliseconds. */
export const FILE_LIMIT_MS = 10_000;

/** `makeDirectory` creates a directory and its missing parents. */
export type Outbox = { directory: string; makeDirectory(path: string): void };

/** `name` is relative to the directory; `attempt` counts from 1. */
type StoredFile = { name: string; bytes: Buffer; attempt: number };

/**
 * Writes a file atomically and durably, and never overwrites one: a repetition with the same bytes is a delivery, other
 * bytes are refused. The evidence is the name.
 */
export const storeFile = async (
  { directory, makeDirectory }: Outbox,
  stored: StoredFile,
): Promise<DeliveryResult> => {
  const file = join(directory, stored.name);
  try {
    makeDirectory(dirname(file));
    // New directory entries must also be durable, or the file would be lost with them.
    await syncDirectory(dirname(directory));
    await syncDirectory(directory);
    if (!(await writeOnce(file, stored))) return { outcome: 'refused', reason: 'file_differs' };
  } catch (error) {
    return { outcome: 'retry', reason: reasonOf(error) };
  }
  try {
    // The file exists; it survives a crash once its directory is on disk.
    await syncDirectory(dirname(file));
    return { outcome: 'delivered', evidence: stored.name };
  } catch (error) {
    return { outcome: 'unknown', reason: reasonOf(error) };
  }
};

const reasonOf = (error: unknown): string => `file_${codeOf(error) ?? 'fault'}`.toLowerCase();
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Returns false if the file exists with other bytes. */
const writeOnce = async (file: string, { bytes, attempt }: StoredFile): Promise<boolean> => {
  const { dir, name } = parse(file);
  // One file for each attempt: an earlier sender may still be running and must not write into it.
  const temporary = (n: number) => join(dir, `.${name}.${n}.tmp`);
  const own = temporary(attempt);
  await writeFile(own, bytes, { mode: 0o600, flush: true });
  try {
    // Unlike a rename, a link fails if the name exists.
    await link(own, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return (await readFile(file)).equals(bytes);
  } finally {
    // A file that cannot be removed is harmless; an error here would hide the outcome.
    for (let n = 1; n <= attempt; n += 1) await rm(temporary(n), { force: true }).catch(() => {});
  }
};

const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, 'r');
  await handle.sync();
};
