import { addressKey, mailboxOf } from '#src/domain/mailbox.ts';
import type { Secrets } from '#src/ports/system.ts';

const KEY_CHARS = 32;

/**
 * Keyed hashes by which the records of a person are found: of the address, and of its mailbox, in which the spellings of
 * one mailbox are equal. The generation of the key is in both, so that hashes of another key are never mistaken for these.
 */
export const deriveMailboxKeys = (
  secrets: Pick<Secrets, 'mac' | 'pepperVersion'>,
  email: string,
) => {
  const keyOf = (value: string): string =>
    `${secrets.pepperVersion}.${secrets.mac('privacy', value).slice(0, KEY_CHARS)}`;
  return {
    address: keyOf(`address:${addressKey(email)}`),
    mailbox: keyOf(`mailbox:${mailboxOf(email)}`),
  };
};
