/** Finds the owner of a record of which the desk knows only the id. */
import type { Deps } from '#src/calls/handlers.ts';
import { mayActFor } from '#src/calls/desk-handler.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import { ALL_OWNERS, type OwnerRow } from '#src/ports/rows.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { listing } from './lists.ts';
import { streamOf } from '#src/writing/streams.ts';

/** Owners looked up at once; each costs up to two reads of the log: its live and its test space. */
const OWNERS_AT_ONCE = 32;

/** Lists the owners for whom the caller may act, each with its test space. */
export async function* ownerSpaces(
  { readModels }: Pick<Deps, 'readModels'>,
  call: DeskCall,
): AsyncGenerator<string[], void> {
  const query = { scope: ALL_OWNERS, limit: OWNERS_AT_ONCE };
  for await (const page of listing<OwnerRow>(readModels, 'owners', query))
    yield page
      .flatMap(({ row: { owner } }) => [owner, testSpaceOf(owner)])
      .filter((owner) => mayActFor(call, owner));
}

/**
 * Finds the owner of a record whose id is all that the caller has; undefined when no owner for whom
 * the caller may act has it. A stream's name begins with its owner, so this reads one stream for
 * each owner until one exists.
 */
export const findOwner = async (
  deps: Pick<Deps, 'log' | 'readModels'>,
  call: DeskCall,
  { kind, id }: { kind: 'link' | 'lead' | 'handoff' | 'outbound'; id: string },
): Promise<string | undefined> => {
  for await (const spaces of ownerSpaces(deps, call)) {
    const streams = await Promise.all(
      spaces.map((owner) => deps.log.readStream(streamOf(owner, kind, id))),
    );
    const event = streams.flat()[0];
    if (event) return event.owner;
  }
  return undefined;
};

/**
 * The owner of a record, as given or found: first in a read model that lists records of all owners, then by `findOwner`.
 * Undefined unless the caller may act for that owner.
 */
export const ownerFor = async (
  deps: Pick<Deps, 'log' | 'readModels'>,
  call: DeskCall,
  {
    owner_id,
    listed: [name, scope],
    ...record
  }: Parameters<typeof findOwner>[2] & {
    owner_id: string | undefined;
    listed: readonly [name: string, scope: string];
  },
): Promise<string | undefined> => {
  const owner =
    owner_id ??
    (await deps.readModels.get<{ owner: string }>(name, scope, record.id))?.owner ??
    (await findOwner(deps, call, record));
  return owner !== undefined && mayActFor(call, owner) ? owner : undefined;
};
