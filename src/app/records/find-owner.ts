import { testSpaceOf } from '#contracts/spaces.ts';
import { ALL_OWNERS, type OwnerRow } from '#src/ports/rows.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { listing } from '../read-models/listing.ts';
import { streamOf } from './streams.ts';
import { type DeskDeps, mayActFor } from '../pipeline/desk-handler.ts';

/** As many reads of the log are under way at once as this, twice. */
const OWNERS_AT_ONCE = 32;

/**
 * Whose record this is, for people who are given its id alone; undefined when it is nobody's for whom
 * they may act. An owner's name begins the names of its streams, so each is asked whether it has it.
 */
export const findOwner = async (
  { log, readModels }: Pick<DeskDeps, 'log' | 'readModels'>,
  call: DeskCall,
  { kind, id }: { kind: 'lead' | 'handoff' | 'outbound'; id: string },
): Promise<string | undefined> => {
  const query = { scope: ALL_OWNERS, limit: OWNERS_AT_ONCE };
  for await (const page of listing<OwnerRow>(readModels, 'owners', query)) {
    const spaces = page
      .flatMap(({ row: { owner } }) => [owner, testSpaceOf(owner)])
      .filter((owner) => mayActFor(call, owner));
    const stored = await Promise.all(
      spaces.map((owner) => log.readStream(streamOf(owner, kind, id))),
    );
    const found = stored.flat()[0];
    if (found) return found.owner;
  }
  return undefined;
};
