/**
 * Keys of personal data beside the log, where every process finds them: a stream for each subject,
 * whose one event holds its key, wrapped. Erasing tombstones the stream: from then on the server
 * answers that it is deleted, for ever, and takes nothing for it. The bytes of the wrapped key stay
 * in the server's files, and can be read in `$all` by whoever may read that, until the next scavenge
 * takes them away; that has to be run on each node.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { jsonEvent } from '@eventstore/db-client';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { KeyVault, MovableKeys, Unsealed } from '#src/ports/system.ts';
import type { EncodedEvent } from '../event-codec.ts';
import { freshKey, openText, sealText, subjectOf, unwrapKey, wrapKey } from '../sealing.ts';
import type { appends } from './appends.ts';
import { isDeleted } from './failures.ts';
import { type Found, keptKeys } from './kept-keys.ts';
import type { Reads } from './reads.ts';
import type { tombstones } from './tombstones.ts';

/**
 * `$` begins their types, so they are no events of the log; an underscore stands in no owner's name,
 * so the streams are no owner's. The dash makes all of them one category to the server's index.
 */
const STREAMS = 'tributary_keys';
const KEY_TYPE = '$TributaryKey';
const VAULT_TYPE = '$TributaryVault';
const SUBJECT = /^[a-z0-9_]{1,64}$/;

export type VaultParts = {
  append: ReturnType<typeof appends>['append'];
  reads: Reads;
  tombstone: ReturnType<typeof tombstones>;
  /** Throws LogUnavailable once the log is closed. */
  requireOpen(): void;
};

const recordOf = (type: string, content: object): EncodedEvent => {
  const data = JSON.stringify(content);
  const { id } = jsonEvent({ type, data: {} });
  return { id, type, at: 0, data, meta: '{}', bytes: data.length + 2 };
};

/**
 * The vault on a log's own client. Throws StartupError when the keys there were wrapped with another
 * `wrappingKey`, and LogUnavailable.
 */
export const eventStoreKeyVault = async (
  { append, reads, tombstone, requireOpen }: VaultParts,
  wrappingKey: Buffer,
): Promise<KeyVault & MovableKeys> => {
  const wrapping = createSecretKey(wrappingKey);
  const streamOf = (subject: string): string => `${STREAMS}-${subject}`;

  const load = async (subject: string): Promise<Found> => {
    try {
      const [event] = await reads.stream(streamOf(subject), 0, 1);
      if (!event) return 'never';
      const { wrapped } = event.data as { wrapped: string };
      return unwrapKey(wrapping, subject, Buffer.from(wrapped, 'base64'));
    } catch (error) {
      if (isDeleted(error)) return 'destroyed';
      throw error;
    }
  };

  /** Of several that make it at once one is first, and all go on with its key. */
  const make = async (subject: string, key = freshKey()): Promise<Found> => {
    const wrapped = wrapKey(wrapping, subject, key).toString('base64');
    try {
      const event = recordOf(KEY_TYPE, { wrapped });
      const result = await append({ stream: streamOf(subject), expected: -1, events: [event] });
      return result.outcome === 'appended' ? key : await load(subject);
    } catch (error) {
      if (isDeleted(error)) return 'destroyed';
      throw error;
    }
  };

  const kept = keptKeys(load);

  const keyFor = async (subject: string): Promise<KeyObject | null> => {
    let found = await (kept.peek(subject) ?? kept.put(subject, make(subject)));
    if (found === 'never') found = await kept.put(subject, make(subject));
    if (found === 'never')
      throw new LogUnavailable('fault', 'no', `the key of ${subject} cannot be read yet`);
    return found === 'destroyed' ? null : found;
  };

  const open = async (sealed: string): Promise<Unsealed> => {
    const subject = subjectOf(sealed);
    if (subject === undefined || !SUBJECT.test(subject)) return undefined;
    const found = await kept.get(subject);
    if (found === 'never') return undefined;
    return found === 'destroyed' ? null : openText(found, subject, sealed);
  };

  const destroy = async (subject: string): Promise<boolean> => {
    requireOpen();
    requireSubject(subject);
    const had = await load(subject);
    if (had === 'destroyed') return false;
    // Also without a key: whoever was erased must not come back under a first one.
    const isOurs = await tombstone(streamOf(subject));
    await kept.put(subject, Promise.resolve('destroyed'));
    return had !== 'never' && isOurs;
  };

  await requireSameKey({ append, reads }, wrappingKey);
  return {
    async seal(subject, text) {
      requireOpen();
      requireSubject(subject);
      const key = await keyFor(subject);
      return key && sealText(key, subject, text);
    },
    async unseal(sealed) {
      requireOpen();
      return Promise.all(sealed.map(open));
    },
    destroy,
    async knows(subject) {
      requireOpen();
      if (!SUBJECT.test(subject)) return 'never';
      // What may be written is decided on it, so what was so a moment ago is not enough.
      const found = await kept.put(subject, load(subject));
      return typeof found === 'string' ? found : 'key';
    },
    async keyOf(subject) {
      requireOpen();
      requireSubject(subject);
      const found = await load(subject);
      return typeof found === 'string' ? found : found.export();
    },
    async adopt(subject, key) {
      requireOpen();
      requireSubject(subject);
      if (key === 'destroyed') {
        await destroy(subject);
        return true;
      }
      const given = createSecretKey(key);
      const found = await make(subject, given);
      return typeof found !== 'string' && found.equals(given);
    },
    close: async () => kept.clear(),
  };
};

const requireSubject = (subject: string): void => {
  if (!SUBJECT.test(subject)) throw new TypeError(`not a subject: ${JSON.stringify(subject)}`);
};

/** Another secret opens nothing that the others sealed, and would be found out by the first reader. */
const requireSameKey = async (
  { append, reads }: Pick<VaultParts, 'append' | 'reads'>,
  wrappingKey: Buffer,
): Promise<void> => {
  const mark = createHmac('sha256', wrappingKey).update(STREAMS).digest();
  const event = recordOf(VAULT_TYPE, { mark: mark.toString('base64') });
  const read = async (): Promise<Buffer | undefined> => {
    const [first] = await reads.stream(STREAMS, 0, 1);
    return first && Buffer.from((first.data as { mark: string }).mark, 'base64');
  };
  let there = await read();
  if (!there) {
    await append({ stream: STREAMS, expected: -1, events: [event] });
    there = await read();
  }
  if (!there) throw new LogUnavailable('fault', 'no', 'the mark of the key vault cannot be read');
  if (there.length !== mark.length || !timingSafeEqual(there, mark))
    throw new StartupError(
      'ROOT_KEY is not the one that this log was first used with. All processes on a log need the ' +
        'same: take it from one that runs, or from root.key where the log was copied from.',
    );
};
