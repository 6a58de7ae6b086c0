import { addressKey, mailboxOf } from '#src/domain/mailbox.ts';
import type { Secrets } from '#src/ports/system.ts';

const KEY_CHARS = 32;

/**
 * Keyed hashes by which the records of a person are found: of the address, and of its mailbox, in which the spellings of
 * one mailbox are equal. The generation of the key is in both, so that hashes of another key are never mistaken for these.
 */
export const deriveMailboxKeys = (
  secrets: Pick<Secrets, 'mac' | 'mailboxGeneration'>,
  email: string,
  generation = secrets.mailboxGeneration,
) => {
  const keyOf = (value: string): string =>
    `${generation}.${secrets.mac('privacy', value, generation).slice(0, KEY_CHARS)}`;
  return {
    address: keyOf(`address:${addressKey(email)}`),
    mailbox: keyOf(`mailbox:${mailboxOf(email)}`),
  };
};

/** The keyed hashes of an address in every generation, the newest first. Those of earlier ones stay in the log. */
export const deriveAllMailboxKeys = (
  secrets: Parameters<typeof deriveMailboxKeys>[0],
  email: string,
) =>
  Array.from({ length: secrets.mailboxGeneration }, (_, older) =>
    deriveMailboxKeys(secrets, email, secrets.mailboxGeneration - older),
  );
