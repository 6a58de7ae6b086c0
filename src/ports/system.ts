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

/** Keys of personal data, one per subject, in a store of their own: destroying one erases the subject. */
export type KeyVault = {
  /** Seals `text` for `subject`; makes and stores the subject's key first when there is none. */
  seal(subject: string, text: string): string;
  /** null when the key is destroyed. */
  unseal(sealed: string): string | null;
  /** True when a key was there to destroy. */
  destroy(subject: string): boolean;
  knows(subject: string): 'key' | 'destroyed' | 'never';
  close(): void;
};
