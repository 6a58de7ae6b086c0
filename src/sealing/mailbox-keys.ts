import { addressKey, mailboxOf } from '#src/shared/mailbox.ts';
import type { Secrets } from '#src/ports/system.ts';

const KEY_CHARS = 32;

type Keys = Pick<Secrets, 'mac' | 'mailboxGeneration'>;

const keyOf = ({ mac }: Keys, generation: number, value: string): string =>
  `${generation}.${mac('privacy', value, generation).slice(0, KEY_CHARS)}`;

/** Keyed hash of the mailbox of an address, which is equal for all spellings of one mailbox. */
export const deriveMailboxKey = (
  secrets: Keys,
  email: string,
  generation = secrets.mailboxGeneration,
): string => keyOf(secrets, generation, `mailbox:${mailboxOf(email)}`);

/**
 * Keyed hashes by which the records of a person are found: of the address, and of its mailbox. The generation of the key
 * is in both, so that hashes of another key are never mistaken for these.
 */
export const deriveMailboxKeys = (
  secrets: Keys,
  email: string,
  generation = secrets.mailboxGeneration,
) => ({
  address: keyOf(secrets, generation, `address:${addressKey(email)}`),
  mailbox: deriveMailboxKey(secrets, email, generation),
});

/** The generations of the key, the newest first. Hashes of earlier ones stay in the log. */
export const generationsOf = ({ mailboxGeneration }: Keys): number[] =>
  Array.from({ length: mailboxGeneration }, (_, older) => mailboxGeneration - older);
