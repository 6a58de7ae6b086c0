import type { EventOf } from '#contracts/events/index.ts';
import type { HandoffEventType, LinkEventType } from '#contracts/events/index.ts';
import type { HandoffState } from '#src/domain/handoff.ts';
import { handoff } from '#src/domain/handoff.ts';
import type { LinkState } from '#src/domain/link.ts';
import { link } from '#src/domain/link.ts';
import type { Deps } from './deps.ts';

type Log = Pick<Deps, 'log'>;

/** The stream of a record: its id without the prefix names it. */
export const streamOf = (ownerId: string, kind: string, id: string): string =>
  `${ownerId}-${kind}_${id.slice(id.indexOf('_') + 1)}`;

/** The owner's link, from the log itself; undefined for another owner's id as for a made-up one. */
export const linkOf = async (
  { log }: Log,
  ownerId: string,
  id: string,
): Promise<LinkState | undefined> => {
  let state: LinkState | undefined;
  for (const { type, data, meta } of await log.readStream(streamOf(ownerId, 'link', id)))
    state = link.evolve(state, { type, data, at: meta.at } as unknown as EventOf<LinkEventType> & {
      at: number;
    });
  return state;
};

export const handoffOf = async (
  { log }: Log,
  ownerId: string,
  id: string,
): Promise<HandoffState | undefined> => {
  let state: HandoffState | undefined;
  for (const { type, data, meta } of await log.readStream(streamOf(ownerId, 'handoff', id)))
    state = handoff.evolve(state, {
      type,
      data,
      at: meta.at,
    } as unknown as EventOf<HandoffEventType> & {
      at: number;
    });
  return state;
};
