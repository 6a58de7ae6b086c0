import { link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Channel, Delivery } from '#src/ports/delivery.ts';

const LIMIT_MS = 10_000;
const OWNER = /^[a-z0-9]{1,64}$/;
const OUTBOUND = /^[a-z]+_[0-9a-z]{1,64}$/;

/** `makeDirectory` creates a directory and its missing parents. */
export type Outbox = { directory: string; makeDirectory(path: string): void };

/**
 * The outbox, a directory from which the operator's people or programs collect approved outreach.
 * Writes `{owner}/{outbound_id}.{revision}.json` atomically and durably, and never overwrites: a
 * repetition with the same bytes is a delivery, other bytes are refused.
 */
export const fileChannel = ({ directory, makeDirectory }: Outbox): Channel => ({
  limitMs: LIMIT_MS,
  async deliver(delivery) {
    const { ownerId, outboundId, revision } = delivery;
    if (!OWNER.test(ownerId) || !OUTBOUND.test(outboundId) || !Number.isSafeInteger(revision))
      throw new Error(`not a valid file name: ${ownerId}/${outboundId}.${revision}`);
    const evidence = `${ownerId}/${outboundId}.${revision}.json`;
    const file = join(directory, evidence);
    try {
      makeDirectory(dirname(file));
      // New directory entries must be durable, too, or the file would be lost with them.
      await syncDirectory(dirname(directory));
      await syncDirectory(directory);
      if (!(await writeOnce(file, delivery))) return { outcome: 'refused', reason: 'file_differs' };
    } catch (error) {
      return { outcome: 'retry', reason: reasonOf(error) };
    }
    try {
      // The file exists; it survives a crash once its directory is on disk.
      await syncDirectory(dirname(file));
      return { outcome: 'delivered', evidence };
    } catch (error) {
      return { outcome: 'unknown', reason: reasonOf(error) };
    }
  },
});

const reasonOf = (error: unknown): string => `file_${codeOf(error) ?? 'fault'}`.toLowerCase();
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Returns false if the file exists with other bytes. */
const writeOnce = async (
  file: string,
  { outboundId, revision, attempt, envelope }: Delivery,
): Promise<boolean> => {
  // One file for each attempt: an earlier sender may still be running and must not write into it.
  const temporary = (n: number) => join(dirname(file), `.${outboundId}.${revision}.${n}.tmp`);
  const own = temporary(attempt);
  await writeFile(own, envelope, { mode: 0o600, flush: true });
  try {
    // Unlike a rename, a link fails if the name exists.
    await link(own, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return (await readFile(file)).equals(Buffer.from(envelope, 'utf8'));
  } finally {
    // A file that cannot be removed is harmless; an error here would hide the outcome.
    for (let n = 1; n <= attempt; n += 1) await rm(temporary(n), { force: true }).catch(() => {});
  }
};

const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, 'r');
  await handle.sync();
};
