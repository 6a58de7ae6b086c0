/** What the application needs of its machine: clock, ids, secrets, key vault, waits. `src/system` implements it. */

/** Sources of time, ids and secrets; no other code may use the system's own. */
export type Clock = {
  /** Epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds, for limits and waits. */
  monotonic(): number;
};

/** Returns undefined while long work may continue in this turn of the event loop, otherwise a promise of a later turn. */
export type Pause = () => Promise<void> | undefined;

/** Milliseconds that new work waits in this process, by what it waits for. */
export type Waits = {
  eventLoop(): number;
  /** The queue of long reads. */
  reads(): number;
  /** The queue of appends to the log. */
  appends(): number;
  /** Requests that this process has received and not answered; the server counts them. */
  readonly calls: { count: number };
};

export type Ids = {
  /** Creates a UUIDv7, which ascends with time, so that indexes grow at one end. */
  uuid(): string;
  /** Creates `count` characters of 0-9A-Za-z from a secure source. */
  base62(count: number): string;
};

/** A key of Ed25519. */
export type SigningKey = {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  /** The public key, 32 bytes in base64url: `x` of its JWK. */
  readonly publicKey: string;
  /** Returns 64 bytes in base64url. */
  sign(bytes: Uint8Array): string;
};

/** What the keys of `Secrets.mac` are for. */
export const MAC_PURPOSES = [
  'api-key',
  'desk-token',
  'session',
  'sign-in',
  'root-token',
  'cursor',
  'handoff-token',
  'lead-hint',
  'rfq-confirmation',
  'rfq-quotation',
  'visitor',
  'claim',
  'fingerprint',
  'privacy',
  'mailbox',
  'mailed-link',
  'webhook',
  'task-context',
] as const;

/** The secrets of the service. They never leave the process, and derivations are one-way. */
export type Secrets = {
  /** Computes an HMAC-SHA-256 in hex, with a separate key for each `purpose` and `generation`, by default the newest. */
  mac(purpose: (typeof MAC_PURPOSES)[number], value: string, generation?: number): string;
  /** The generations of a purpose, the newest first. What earlier ones named stays in the log and must still be found. */
  generations(purpose: (typeof MAC_PURPOSES)[number]): [number, ...number[]];
  /** Signs published documents and notifications. */
  readonly signing: SigningKey;
  /** Signs only attribution tokens. */
  readonly attribution: SigningKey & {
    /** Whether `signature`, in base64url, is ours of these bytes. */
    verify(bytes: Uint8Array, signature: string): boolean;
  };
};

/**
 * A text without its key, although nobody erased it. `missing`: the vault never had the key, for example after a restore.
 * `damaged`: the stored key is not what was written.
 */
export type LostKey = { key: 'missing' | 'damaged' };

/** The text; null if its key was destroyed. */
export type Unsealed = string | null | LostKey;

/**
 * Keys of personal data, one for each subject, in a separate store. Destroying a key erases the
 * subject. All processes of a service share the keys. All methods throw LogUnavailable if the store
 * does not answer; calls can be repeated.
 */
export type KeyVault = {
  /**
   * Encrypts `text` for `subject`. Creates the subject's key if there is none, and resolves once it
   * is durable. Returns null if the key is destroyed: the subject can never get a new one. Throws LogUnavailable if the
   * key is damaged.
   */
  seal(subject: string, text: string): Promise<string | null>;
  /**
   * Decrypts the texts in one round trip, in order. A key counts as missing if there never was one, or another key
   * encrypted the text. A damaged key affects only its own texts.
   */
  unseal(sealed: readonly string[]): Promise<Unsealed[]>;
  /**
   * Destroys a key; returns false if there was none. What it encrypted is unreadable from now on, in
   * other processes within a second.
   */
  destroy(subject: string): Promise<boolean>;
  /** Returns the current state, including changes by other processes. */
  knows(subject: string): Promise<'key' | 'destroyed' | 'never'>;
  close(): Promise<void>;
};

/**
 * The wrapped secrets of the service, one text beside the keys of personal data: what copies those copies it. Both methods
 * throw LogUnavailable or StartupError.
 */
export type KeyringStore = {
  /** Undefined if the log is new; null if it is used and has lost its keyring. */
  readKeyring(): Promise<string | null | undefined>;
  /** Returns false, and changes nothing, unless `before` is stored. The text is durable when this resolves. */
  replaceKeyring(before: string | undefined, text: string): Promise<boolean>;
};

/** The 32 bytes of a subject's key, or why there is none. */
export type SubjectKey = Uint8Array | 'destroyed' | 'never';

/** Access to raw keys, only for copying a vault. Both methods throw like those of the vault. */
export type MovableKeys = {
  keyOf(subject: string): Promise<SubjectKey>;
  /**
   * Stores a subject's key, or that it is destroyed. Returns false if the subject already has another
   * key, or is erased, which is final.
   */
  adopt(subject: string, key: Uint8Array | 'destroyed'): Promise<boolean>;
};

/** Counts calls against the limits in one place for several processes. */
export type SharedCount = {
  /**
   * Adds `costMs` to the arrival time of `key` (GCRA). Returns by how many milliseconds it is now
   * ahead of the clock. Rejects when there is no answer in time; the cost may have been added.
   */
  add(key: string, costMs: number): Promise<number>;
  /** Returns how many processes count here, including this one; the last known number in an outage. */
  processes(): number;
};
