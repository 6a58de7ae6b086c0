import type { Channel } from '#src/ports/delivery.ts';
import { FILE_LIMIT_MS, type Outbox, storeFile } from './stored-file.ts';

const OWNER = /^[a-z0-9]{1,64}$/;
const OUTBOUND = /^[a-z]+_[0-9a-z]{1,64}$/;

/**
 * The outbox, a directory from which the operator's people or programs collect approved outreach: the files are
 * `{owner}/{outbound_id}.{revision}.json`.
 */
export const fileChannel = (outbox: Outbox): Channel => ({
  limitMs: FILE_LIMIT_MS,
  async deliver({ ownerId, outboundId, revision, attempt, envelope }) {
    if (!OWNER.test(ownerId) || !OUTBOUND.test(outboundId) || !Number.isSafeInteger(revision))
      throw new Error(`not a valid file name: ${ownerId}/${outboundId}.${revision}`);
    const name = `${ownerId}/${outboundId}.${revision}.json`;
    return storeFile(outbox, { name, bytes: Buffer.from(envelope, 'utf8'), attempt });
  },
});
