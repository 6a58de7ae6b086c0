import type { Position, StoredEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';
import { streamOfKey, streamOfToken } from '../records/streams.ts';
import { tokenOf } from './independence.ts';

type Parts = Pick<Deps, 'log' | 'credentials'>;

/** The stream of the credential that an event was written with, if that credential is revoked now. */
const revokedStreamOf = (
  { credentials }: Parts,
  { actor, key: keyId }: StoredEvent['meta'],
): string | undefined => {
  const key = keyId === undefined ? undefined : credentials.key(keyId);
  if (key) return key.status === 'revoked' ? streamOfKey(key.owner, key.key_id) : undefined;
  const tokenId = tokenOf(actor);
  const token = tokenId === undefined ? undefined : credentials.deskToken(tokenId);
  return token?.status === 'revoked' ? streamOfToken(token.token_id) : undefined;
};

const REVOCATIONS: ReadonlySet<string> = new Set(['KeyRevoked', 'DeskTokenRevoked']);

/**
 * Returns the positions of the events that were written with an API key or a desk token after its revocation. A log on
 * a server accepts such an append for up to a second, because it cannot check another stream. Reads one stream for
 * each revoked credential.
 */
export const findLateEvents = async (
  parts: Parts,
  events: readonly StoredEvent[],
): Promise<ReadonlySet<Position>> => {
  const revokedAt = new Map<string, Position>();
  const late = new Set<Position>();
  for (const { meta, position } of events) {
    const stream = revokedStreamOf(parts, meta);
    if (stream === undefined) continue;
    const known = revokedAt.get(stream) ?? (await revocationIn(parts, stream));
    revokedAt.set(stream, known);
    if (position > known) late.add(position);
  }
  return late;
};

const revocationIn = async ({ log }: Parts, stream: string): Promise<Position> =>
  (await log.readStream(stream)).find(({ type }) => REVOCATIONS.has(type))?.position ?? Infinity;
