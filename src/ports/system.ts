/** Time and chance, so that nothing else asks the world for them. */
export type Clock = {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds that never step back, for limits and waits. */
  monotonic(): number;
};

export type Ids = {
  /** UUIDv7: rises with time, so that indexes over it grow at one end. */
  uuid(): string;
  /** `count` characters of 0-9A-Za-z from a secure source. */
  base62(count: number): string;
};

/** The service's secrets. Never leaves the process; nothing derived here can be turned back. */
export type Secrets = {
  /** HMAC-SHA-256, hex, under a key of its own per `purpose`. */
  mac(
    purpose:
      | 'api-key'
      | 'desk-token'
      | 'root-token'
      | 'cursor'
      | 'handoff-token'
      | 'visitor'
      | 'claim'
      | 'webhook'
      | 'task-context',
    value: string,
  ): string;
  readonly pepperVersion: number;
  /** Signs what strangers are to believe is ours (Ed25519). */
  readonly signing: {
    /** RFC 7638 thumbprint of the public key. */
    readonly kid: string;
    /** The public key, 32 bytes as base64url: `x` of its JWK. */
    readonly publicKey: string;
    /** 64 bytes as base64url. */
    sign(bytes: Uint8Array): string;
  };
};

export type Unsealed = string | null | undefined;

/**
 * Keys of personal data, one per subject, in a store of their own: destroying one erases the subject.
 * Every process of a service finds the same keys. All throw LogUnavailable where the store gives no
 * answer; the same call again finds out.
 */
export type KeyVault = {
  /**
   * Seals `text` for `subject`; makes the subject's key first when there is none, and resolves when
   * that is durable. null when the key is destroyed: nothing can be sealed for the subject again.
   */
  seal(subject: string, text: string): Promise<string | null>;
  /**
   * Each of the texts, in order, in one wait; null where the key is destroyed, undefined where it was
   * never here, or is not the one that sealed the text.
   */
  unseal(sealed: readonly string[]): Promise<Unsealed[]>;
  /**
   * True when a key was there to destroy. What it sealed can be read nowhere any more, on other
   * processes within a second.
   */
  destroy(subject: string): Promise<boolean>;
  /** As it is now, whichever process did it. */
  knows(subject: string): Promise<'key' | 'destroyed' | 'never'>;
  close(): Promise<void>;
};

/** A subject's key as it is, 32 bytes; or that it was destroyed, or never made. */
export type SubjectKey = Uint8Array | 'destroyed' | 'never';

/** What a vault also does for who moves it, and for nobody else. Both throw as the vault does. */
export type MovableKeys = {
  keyOf(subject: string): Promise<SubjectKey>;
  /**
   * The subject gets this key, or is destroyed. False when it stands otherwise already: under another
   * key, or erased, which no key undoes.
   */
  adopt(subject: string, key: Uint8Array | 'destroyed'): Promise<boolean>;
};
