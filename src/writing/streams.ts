import { type HandoffState, handoff } from '#src/handoffs/handoff.decider.ts';
import { type LeadState, lead } from '#src/leads/lead.decider.ts';
import { link, type LinkState } from '#src/links/link.decider.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { stateOf } from './fold.ts';
import { nameOf } from './hash.ts';

type Log = { log: Pick<EventLog, 'readStream'> };

/** The stream of a record: owner, kind and the id without its prefix. */
export const streamOf = (ownerId: string, kind: string, id: string): string =>
  `${ownerId}-${kind}_${id.slice(id.indexOf('_') + 1)}`;

export const streamOfKey = (ownerId: string, keyId: string): string => `${ownerId}-key_${keyId}`;

export const streamOfToken = (tokenId: string): string => `desk-token_${tokenId}`;

const KINDS = { lnk: 'link', hnd: 'handoff', led: 'lead', out: 'outbound' } as const;

export const kindOfRecord = (id: string) => KINDS[id.slice(0, 3) as keyof typeof KINDS];

/** The stream of a record whose kind its id tells. */
export const streamOfRecord = (ownerId: string, id: string): string =>
  streamOf(ownerId, kindOfRecord(id), id);

/** The id of the record that a stream belongs to; undefined where it belongs to none, as for visits. */
export const recordOfStream = (stream: string): string | undefined => {
  const [, kind, id] = /^[^-]*-([a-z]+)_(.+)$/s.exec(stream) ?? [];
  const prefix = Object.entries(KINDS).find(([, name]) => name === kind)?.[0];
  return prefix && `${prefix}_${id}`;
};

/** The id of the owner's lead with this external_id: one external_id always means one lead. */
export const leadIdOf = (ownerId: string, externalId: string): string =>
  `led_${nameOf('lead', ownerId, externalId)}`;

/** Reads a link of this owner from the log; undefined for any other id, another owner's included. */
export const linkOf = (deps: Log, ownerId: string, id: string): Promise<LinkState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'link', id), decider: link });

/** Reads a lead of this owner from the log, as `linkOf` does a link. */
export const leadOf = (deps: Log, ownerId: string, id: string): Promise<LeadState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'lead', id), decider: lead });

/** Reads a handoff of this owner from the log, as `linkOf` does a link. */
export const handoffOf = (
  deps: Log,
  ownerId: string,
  id: string,
): Promise<HandoffState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'handoff', id), decider: handoff });
