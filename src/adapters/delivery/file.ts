/** The outbox: a directory from which people or programs of the house take what was approved. */
import { type FileHandle, link, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Channel, Delivery, DeliveryResult } from '#src/ports/delivery.ts';

const LIMIT_MS = 10_000;
const OWNER = /^[a-z0-9]{1,64}$/;
const OUTBOUND = /^[a-z]+_[0-9a-z]{1,64}$/;

/**
 * `{owner}/{outbound_id}.{revision}.json`, which appears whole and durable or not at all, and is
 * never written over: the same bytes once more are delivered already, other bytes are refused.
 */
export const fileChannel = ({
  directory,
  makeDirectory,
}: {
  directory: string;
  /** Makes a directory and what is missing above it. */
  makeDirectory(path: string): void;
}): Channel => ({
  limitMs: LIMIT_MS,
  async deliver(delivery) {
    const { ownerId, outboundId, revision } = delivery;
    if (!OWNER.test(ownerId) || !OUTBOUND.test(outboundId) || !Number.isSafeInteger(revision))
      throw new Error(`no file name can be made of ${ownerId}/${outboundId}.${revision}`);
    const evidence = `${ownerId}/${outboundId}.${revision}.json`;
    const file = join(directory, evidence);
    try {
      makeDirectory(dirname(file));
      // The names of directories just made are as durable as the file, or it would be lost with them.
      await syncDirectory(dirname(directory));
      await syncDirectory(directory);
      const placed = await place(file, delivery);
      if (placed === 'other') return { outcome: 'refused', reason: 'file_differs' };
    } catch (error) {
      return { outcome: 'retry', reason: reasonOf(error) };
    }
    return durable(file, evidence);
  },
});

/** The file stands; whether it stays after a crash is known once its directory is on disk. */
const durable = async (file: string, evidence: string): Promise<DeliveryResult> => {
  try {
    await syncDirectory(dirname(file));
    return { outcome: 'delivered', evidence };
  } catch (error) {
    return { outcome: 'unknown', reason: reasonOf(error) };
  }
};

const reasonOf = (error: unknown): string => `file_${codeOf(error) ?? 'fault'}`.toLowerCase();
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const place = async (
  file: string,
  { outboundId, revision, attempt, envelope }: Delivery,
): Promise<'placed' | 'other'> => {
  // Of this attempt alone: an earlier sender that is not dead yet must not write into ours.
  const temporary = (of: number) => join(dirname(file), `.${outboundId}.${revision}.${of}.tmp`);
  const own = temporary(attempt);
  await using(await open(own, 'w', 0o600), async (handle) => {
    await handle.writeFile(envelope, 'utf8');
    await handle.sync();
  });
  try {
    // Unlike a rename, a link takes no name that is taken.
    await link(own, file);
    return 'placed';
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const found = await readFile(file);
    return found.equals(Buffer.from(envelope, 'utf8')) ? 'placed' : 'other';
  } finally {
    for (let of = 1; of <= attempt; of += 1)
      // One that stays behind hurts nobody, while an error here would hide what has happened.
      await rm(temporary(of), { force: true }).catch(() => {});
  }
};

const using = async (
  handle: FileHandle,
  act: (handle: FileHandle) => Promise<void>,
): Promise<void> => {
  try {
    await act(handle);
  } finally {
    await handle.close();
  }
};

const syncDirectory = async (directory: string): Promise<void> =>
  using(await open(directory, 'r'), (handle) => handle.sync());
