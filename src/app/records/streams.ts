import type { HandoffState } from '#src/domain/handoff-state.ts';
import { handoff } from '#src/domain/handoff.ts';
import { link, type LinkState } from '#src/domain/link.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { nameOf } from '../events/hash.ts';

type Log = Pick<Deps, 'log'>;

/** The stream of a record: its id without the prefix names it. */
export const streamOf = (ownerId: string, kind: string, id: string): string =>
  `${ownerId}-${kind}_${id.slice(id.indexOf('_') + 1)}`;

/** The id of the owner's lead of this name: an agent's external_id is one lead, for ever. */
export const leadIdOf = (ownerId: string, externalId: string): string =>
  `led_${nameOf('lead', ownerId, externalId)}`;

/** The owner's link, from the log itself; undefined for another owner's id as for a made-up one. */
export const linkOf = (deps: Log, ownerId: string, id: string): Promise<LinkState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'link', id), decider: link });

export const handoffOf = (
  deps: Log,
  ownerId: string,
  id: string,
): Promise<HandoffState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'handoff', id), decider: handoff });
