/** The key vault on EventStoreDB, with a cache of opened keys. */
import { type KeyObject, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { jsonEvent } from '@eventstore/db-client';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { subjectOf } from '#src/ports/sealed-text.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type {
  KeyringStore,
  KeyVault,
  MovableKeys,
  SubjectKey,
  Unsealed,
} from '#src/ports/system.ts';
import type { EncodedEvent } from '#src/stores/event-codec.ts';
import {
  freshKey,
  KeyDamaged,
  openText,
  sealText,
  unwrapKey,
  type Wrapping,
  wrapKey,
} from '#src/system/crypto-seal.ts';
import type { Appends } from './appends.ts';
import { isDeleted } from './failures.ts';
import { isReplaced } from './identity.ts';
import type { Reads } from './reads.ts';

export type SubjectKeyState = KeyObject | 'destroyed' | 'never';

/**
 * An erased subject must be unreadable on every process within one second, and processes do not
 * notify each other. So entries are valid for half of it, counted from before the server was asked.
 */
const TTL_MS = 500;
const ENTRIES_MAX = 10_000;

type Entry = { since: number; state: Promise<SubjectKeyState> };

const isExpired = ({ since }: Entry): boolean => performance.now() - since >= TTL_MS;

/** Recently read keys, so that a page of leads reads each key once. Failures are not cached. */
export class KeyCache {
  readonly #load: (subject: string) => Promise<SubjectKeyState>;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry>();
  #eviction: NodeJS.Timeout | undefined;

  constructor(load: (subject: string) => Promise<SubjectKeyState>) {
    this.#load = load;
  }

  get(subject: string): Promise<SubjectKeyState> {
    return this.peek(subject) ?? this.put(subject, this.#load(subject));
  }

  /** The cached state, unless it has expired. */
  peek(subject: string): Promise<SubjectKeyState> | undefined {
    const entry = this.#entries.get(subject);
    return entry && !isExpired(entry) ? entry.state : undefined;
  }

  put(subject: string, state: Promise<SubjectKeyState>): Promise<SubjectKeyState> {
    const entry = { since: performance.now(), state };
    this.#entries.delete(subject);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(subject, entry);
    this.#eviction ??= setTimeout(this.#evict, TTL_MS).unref();
    void this.#removeUnlessFinal(subject, entry);
    return state;
  }

  clear(): void {
    clearTimeout(this.#eviction);
    this.#entries.clear();
  }

  /** Does not keep failures, nor missing keys, which can be created at any time. */
  async #removeUnlessFinal(subject: string, entry: Entry): Promise<void> {
    const state = await entry.state.catch(() => 'never' as const);
    if (state === 'never' && this.#entries.get(subject) === entry) this.#entries.delete(subject);
  }

  /** Evicts expired entries on a timer, so that no key stays in memory. */
  readonly #evict = (): void => {
    this.#eviction = undefined;
    for (const [subject, entry] of this.#entries) {
      if (!isExpired(entry)) break;
      this.#entries.delete(subject);
    }
    if (this.#entries.size > 0) this.#eviction = setTimeout(this.#evict, TTL_MS).unref();
  };
}

/**
 * The types begin with `$`, so these are not events of the log; owners' names have no underscore, so
 * the streams belong to no owner. The dash puts all of them in one category of the server's index.
 */
const STREAMS = 'tributary_keys';
const KEYRING = 'tributary_keyring';
const KEYRING_TYPE = '$TributaryKeyring';
const KEY_TYPE = '$TributaryKey';
const VAULT_TYPE = '$TributaryVault';
const SUBJECT = /^[a-z0-9_]{1,64}$/;

/** Each generation of the wrapping key has streams of its own, so that those before can be deleted. */
const streamOf = (subject: string, generation: number): string => {
  if (!SUBJECT.test(subject)) throw new TypeError(`not a subject: ${JSON.stringify(subject)}`);
  return `${STREAMS}${generation === 1 ? '' : generation}-${subject}`;
};

const recordOf = (type: string, content: object): EncodedEvent => {
  const data = JSON.stringify(content);
  const { id } = jsonEvent({ type, data: {} });
  return { id, type, v: 1, at: 0, data, meta: '{}', bytes: data.length + 2 };
};

/** Evaluates `use`; a deleted stream means that the key was destroyed. */
const orDestroyed = async <T>(use: Promise<T>): Promise<T | 'destroyed'> => {
  try {
    return await use;
  } catch (error) {
    if (isDeleted(error)) return 'destroyed';
    throw error;
  }
};

/** The keyring is the last event of a stream; an append with an expected revision decides between processes. */
export const eventStoreKeyring = ({
  appends,
  stream,
}: Pick<VaultStreams, 'appends' | 'stream'>): KeyringStore => {
  const newest = async () => {
    const event = (await stream(KEYRING, 0)).at(-1);
    return { text: event && (event.data as { text: string }).text, revision: event?.revision };
  };
  return {
    async readKeyring() {
      // First: a process that is starting makes the keyring before the mark of the vault.
      const [mark] = await stream(STREAMS, 0, 1);
      return (await newest()).text ?? (mark ? null : undefined);
    },
    async replaceKeyring(before, text) {
      const { text: present, revision = NO_STREAM } = await newest();
      if (present !== (before ?? undefined)) return false;
      const events = [recordOf(KEYRING_TYPE, { text })];
      const result = await appends.append({ stream: KEYRING, expected: revision, events });
      return result.outcome === 'appended';
    },
  };
};

type VaultStreams = {
  appends: Pick<Appends, 'append'>;
  /** Reads a stream of the log's server. */
  stream: Reads['stream'];
  tombstone(stream: string): Promise<boolean>;
  /** Throws LogUnavailable once the log is closed. */
  requireOpen(): void;
};

/**
 * The key vault in EventStoreDB, so that every process finds the same keys. Each subject has a stream
 * with one event, its wrapped key. Destroying the key tombstones the stream; the server then reports
 * it as deleted and accepts no event for it. The wrapped key's bytes stay in the server's files, and
 * readable in `$all`, until the next scavenge, which must run on each node.
 */
export class EventStoreKeyVault implements KeyVault, MovableKeys {
  readonly #streams: VaultStreams;
  readonly #wrapping: Wrapping;
  readonly #cache = new KeyCache((subject) => this.#load(subject));

  private constructor(streams: VaultStreams, wrapping: Wrapping) {
    this.#streams = streams;
    this.#wrapping = wrapping;
  }

  /** Throws LogUnavailable, and StartupError when the keys were wrapped with other `wrappingKeys`. */
  static async open(
    streams: VaultStreams,
    wrappingKeys: readonly Buffer[],
  ): Promise<EventStoreKeyVault> {
    const [first] = wrappingKeys;
    if (!first) throw new TypeError('there is no wrapping key');
    await requireSameKey(streams, first);
    const wrapping = wrappingKeys.map((key) => createSecretKey(key));
    return new EventStoreKeyVault(streams, wrapping);
  }

  async seal(subject: string, text: string): Promise<string | null> {
    this.#streams.requireOpen();
    const key = await this.#loadOrCreate(subject);
    return key && sealText(key, subject, text);
  }

  async unseal(sealed: readonly string[]): Promise<Unsealed[]> {
    this.#streams.requireOpen();
    return Promise.all(sealed.map((text) => this.#open(text)));
  }

  async destroy(subject: string): Promise<boolean> {
    this.#streams.requireOpen();
    const before = await this.#load(subject);
    if (before === 'destroyed') return false;
    // Also when there is no key: an erased subject must never get one.
    await this.#destroyEarlier(subject);
    const isDoneHere = await this.#streams.tombstone(streamOf(subject, this.#wrapping.length));
    await this.#cache.put(subject, Promise.resolve('destroyed'));
    return before !== 'never' && isDoneHere;
  }

  async knows(subject: string): Promise<'key' | 'destroyed' | 'never'> {
    this.#streams.requireOpen();
    if (!SUBJECT.test(subject)) return 'never';
    // Callers decide on this what to write, so a cached state is not enough.
    const state = await this.#cache.put(subject, this.#load(subject));
    return typeof state === 'string' ? state : 'key';
  }

  async keyOf(subject: string): Promise<SubjectKey> {
    this.#streams.requireOpen();
    const state = await this.#load(subject);
    return typeof state === 'string' ? state : state.export();
  }

  async adopt(subject: string, key: Uint8Array | 'destroyed'): Promise<boolean> {
    this.#streams.requireOpen();
    if (key === 'destroyed') {
      await this.destroy(subject);
      return true;
    }
    const adopted = createSecretKey(key);
    const isSame = (state: SubjectKeyState): boolean =>
      typeof state !== 'string' && state.equals(adopted);
    const before = await this.#load(subject);
    if (before !== 'never' && !isSame(before)) return false;
    // Also if the key is stored: it may be wrapped under an earlier generation.
    if (!isSame(await this.#append(subject, adopted))) return false;
    await this.#destroyEarlier(subject);
    return true;
  }

  async close(): Promise<void> {
    this.#cache.clear();
  }

  async #load(subject: string): Promise<SubjectKeyState> {
    for (let generation = this.#wrapping.length; generation > 0; generation -= 1) {
      const stream = streamOf(subject, generation);
      const events = await orDestroyed(this.#streams.stream(stream, 0, 1));
      if (events === 'destroyed') return events;
      const [event] = events;
      if (!event) continue;
      const { wrapped } = event.data as { wrapped: string };
      return unwrapKey(this.#wrapping, subject, Buffer.from(wrapped, 'base64'));
    }
    return 'never';
  }

  async #destroyEarlier(subject: string): Promise<void> {
    for (let generation = 1; generation < this.#wrapping.length; generation += 1)
      await this.#streams.tombstone(streamOf(subject, generation));
  }

  /** Creates the key, unless an earlier generation has one. */
  async #create(subject: string): Promise<SubjectKeyState> {
    const before = this.#wrapping.length > 1 ? await this.#load(subject) : 'never';
    return before === 'never' ? this.#append(subject, freshKey()) : before;
  }

  /** Stores a key. When several processes do so at once, all use the key that was stored first. */
  async #append(subject: string, key: KeyObject): Promise<SubjectKeyState> {
    const wrapped = wrapKey(this.#wrapping, subject, key).toString('base64');
    const events = [recordOf(KEY_TYPE, { wrapped })];
    const stream = streamOf(subject, this.#wrapping.length);
    const append = { stream, expected: NO_STREAM, events };
    const result = await orDestroyed(this.#streams.appends.append(append));
    if (result === 'destroyed') return result;
    return result.outcome === 'appended' ? key : this.#load(subject);
  }

  /** Null when the key is destroyed. */
  async #loadOrCreate(subject: string): Promise<KeyObject | null> {
    const create = () => this.#cache.put(subject, this.#create(subject));
    let state = await (this.#cache.peek(subject) ?? create());
    if (state === 'never') state = await create();
    if (state === 'never')
      throw new LogUnavailable('fault', 'no', `the key of ${subject} cannot be read yet`);
    return state === 'destroyed' ? null : state;
  }

  async #open(sealed: string): Promise<Unsealed> {
    const subject = subjectOf(sealed);
    if (subject === undefined) return { key: 'missing' };
    const state = await this.#cache.get(subject).catch((error: unknown) => {
      // Reads continue without the texts: the keys are on the server that was replaced.
      if (isReplaced(error)) return 'never' as const;
      if (error instanceof KeyDamaged) return 'damaged' as const;
      throw error;
    });
    if (state === 'never') return { key: 'missing' };
    if (state === 'damaged') return { key: 'damaged' };
    return state === 'destroyed' ? null : openText(state, subject, sealed);
  }
}

/** Stores a MAC of the wrapping key at first use and compares it later: another key opens nothing. */
const requireSameKey = async (
  { appends, stream }: VaultStreams,
  wrappingKey: Buffer,
): Promise<void> => {
  const mark = createHmac('sha256', wrappingKey).update(STREAMS).digest();
  const read = async (): Promise<Buffer | undefined> => {
    const [first] = await stream(STREAMS, 0, 1);
    return first && Buffer.from((first.data as { mark: string }).mark, 'base64');
  };
  let stored = await read();
  if (!stored) {
    const events = [recordOf(VAULT_TYPE, { mark: mark.toString('base64') })];
    await appends.append({ stream: STREAMS, expected: NO_STREAM, events });
    stored = await read();
  }
  if (!stored) throw new LogUnavailable('fault', 'no', 'the mark of the key vault cannot be read');
  if (stored.length !== mark.length || !timingSafeEqual(stored, mark))
    throw new StartupError(
      'ROOT_KEY is not the one that this log was first used with, or the log lost its keyring. All processes of a log ' +
        'need the same ROOT_KEY: use the value of a running process, or root.key of the log this one was copied from.',
    );
};
