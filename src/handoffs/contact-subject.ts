/** The contact of an RFQ is a subject of its own, so that its key can be destroyed without that of the handoff. */
import type { BuyerContact } from '#contracts/registries/holders.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { releaseAfterWrite } from '#src/writing/decide-and-append.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import type { Deps } from '#src/calls/call.ts';

/** The subject of the contact of a sending. `number` is that of the sending, from 1. */
export const contactSubjectOf = (handoffId: string, number: number): string =>
  `con_${handoffId.replace(/^hnd_/, '')}n${number}`;

/** Opens the contact of an RFQ; undefined if its key is destroyed or lost. */
export const contactOf = async (
  { vault }: Pick<Deps, 'vault'>,
  rfq: HandoffState['rfq'],
): Promise<BuyerContact | undefined> => {
  const opened = rfq && (await openOne(vault, rfq.contact));
  return typeof opened === 'string' ? (JSON.parse(opened) as BuyerContact) : undefined;
};

type Change = { before?: HandoffState | undefined; state: HandoffState };

/** Destroys the key of a contact whose RFQ a command ended unconfirmed. The next start does it after a failure. */
export const forgetDropped = async (
  { vault }: Pick<Deps, 'vault'>,
  { before, state }: Change,
): Promise<void> => {
  const subject = before?.rfq?.confirmation && before.rfq.contact_subject;
  if (subject === undefined || subject === state.rfq?.contact_subject) return;
  await releaseAfterWrite(async () => {
    await vault.destroy(subject);
  });
};
