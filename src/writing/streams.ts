/** Streams: their names, how an event stream is folded into the state of its record, and hashes. */
import { hash } from 'node:crypto';
import { type HandoffState, handoff } from '#src/handoffs/handoff.decider.ts';
import { type LeadState, lead } from '#src/leads/lead.decider.ts';
import { link, type LinkState } from '#src/links/link.decider.ts';
import type { EventLog, StoredEvent, Position } from '#src/ports/event-log.ts';
import type { Secrets } from '#src/ports/system.ts';
import type { Call } from '#src/shared/call.ts';
import type { Decider } from '#src/shared/decider.ts';
import { canonicalJson } from '#src/shared/json.ts';

export type DomainEvent = { type: string; data: object };

/** Folds events that happened at `at`, in epoch milliseconds, into `state`. */
export const foldAt = <State, Command, E extends DomainEvent, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  events: readonly E[],
  { at, state }: { at: number; state?: State | undefined },
): State | undefined =>
  events.reduce<State | undefined>((now, event) => decider.evolve(now, { ...event, at }), state);

/** Folds the first events of one stream; undefined if there are none. */
export const foldOf = <State, Command, E extends DomainEvent, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
): State | undefined =>
  stored.reduce<State | undefined>(
    // The log validates each event when it reads it, so its data has the shape of its type.
    (state, { type, data, meta }) =>
      decider.evolve(state, { type, data, at: meta.at } as unknown as E & { at: number }),
    undefined,
  );

/** Reads a stream and folds it; undefined if the stream does not exist. */
export const stateOf = async <State, Command, E extends DomainEvent, Reason extends string>(
  { log }: { log: Pick<EventLog, 'readStream'> },
  { stream, decider }: { stream: string; decider: Decider<State, Command, E, Reason> },
): Promise<State | undefined> => foldOf(decider, await log.readStream(stream));

/**
 * Names the stream of a value that its name has only as a keyed hash: under the generation of the key in which it began,
 * otherwise the newest. Reads the log only after a new generation.
 */
export const findKeyedStream = async (
  {
    log,
    secrets: { mac, generations },
  }: { log: Pick<EventLog, 'readStream'>; secrets: Pick<Secrets, 'mac' | 'generations'> },
  prefix: string,
  { purpose, value }: { purpose: 'claim' | 'mailbox'; value: string },
): Promise<string> => {
  const [newest, ...earlier] = generations(purpose);
  const nameOfGeneration = (generation: number): string =>
    `${prefix}_${mac(purpose, value, generation)}`;
  for (const name of earlier.map(nameOfGeneration))
    if ((await log.readStream(name, 0, 1)).length > 0) return name;
  return nameOfGeneration(newest);
};

/**
 * Returns position and time of the last event; 0 and null for a log without events. The head of the log
 * can be a record of another application, beyond which this reads back.
 */
export const readLastEvent = async (
  log: Pick<EventLog, 'head' | 'readBack'>,
): Promise<{ position: Position; at: number | null }> => {
  const { position: upTo } = await log.head();
  const [last] = await log.readBack({ upTo, limit: 1 });
  return { position: last?.position ?? 0, at: last?.meta.at ?? null };
};

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_CHARS = 24;

/** SHA-256 of the parts as a JSON array, so that different lists of parts have different digests. */
export const digestOf = (...parts: readonly string[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url');

/** Derives a name from parts: 120 bits as 24 characters in base 32. A retry derives the same name. */
export const nameOf = (...parts: readonly string[]): string => {
  const bytes = Buffer.from(digestOf(...parts), 'base64url');
  let out = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5 && out.length < ID_CHARS) {
      bits -= 5;
      out += BASE32[(value >> bits) & 31];
    }
  }
  return out;
};

/** One hash for each generation of the key, the newest first. Each begins with its generation, like `1.3f…`. */
type Fingerprints = NonNullable<Call['fingerprints']>;

/**
 * Hashes a request after validation and defaults, so that white space, the order of members and the surface do not
 * count: HMAC-SHA-256 of its JCS (RFC 8785). The hash is keyed because an input has addresses that the log must not
 * confirm. Events have the first one; a retry is recognized by any of them.
 */
export const fingerprintsOf = (
  { mac, generations }: Pick<Secrets, 'mac' | 'generations'>,
  operation: string,
  input: object,
): Fingerprints => {
  const text = canonicalJson({ operation, input });
  const hashOf = (generation: number): string =>
    `${generation}.${mac('fingerprint', text, generation)}`;
  const [newest, ...earlier] = generations('fingerprint');
  return [hashOf(newest), ...earlier.map(hashOf)];
};

type Log = { log: Pick<EventLog, 'readStream'> };

/** The stream of a record: owner, kind and the id without its prefix. */
export const streamOf = (ownerId: string, kind: string, id: string): string =>
  `${ownerId}-${kind}_${id.slice(id.indexOf('_') + 1)}`;

export const streamOfKey = (ownerId: string, keyId: string): string => `${ownerId}-key_${keyId}`;

export const streamOfToken = (tokenId: string): string => `desk-token_${tokenId}`;

export const streamOfPerson = (personId: string): string => streamOf('desk', 'person', personId);

export const streamOfSession = (sessionId: string): string => `desk-session_${sessionId}`;

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
