import { digestOf } from '../hash.ts';

const ID_CHARS = 12;

/** The public part of a credential: a function of who asks and the idempotency key, as every name. */
export const keyIdOf = (idem: string): string =>
  digestOf('credential', idem).replaceAll('-', 'a').replaceAll('_', 'b').slice(0, ID_CHARS);
