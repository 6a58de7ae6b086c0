import { digestOf } from '#src/writing/hash.ts';

const ID_CHARS = 12;

/** The public part of a credential, derived from its owner and the digest of the idempotency key. */
export const keyIdOf = (ownerId: string, idem: string): string =>
  digestOf('credential', ownerId, idem)
    .replaceAll('-', 'a')
    .replaceAll('_', 'b')
    .slice(0, ID_CHARS);
