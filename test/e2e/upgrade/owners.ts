import { type MailedLinks, pressMailed } from './buyers.ts';
import type { Recorder } from './recorder.ts';

/** Sets a profile, whose mailbox its holder confirms. */
export const confirmMailbox = async (
  recorder: Recorder,
  mailedLinks: MailedLinks,
): Promise<void> => {
  const profile = { name: 'Brook', postal_address: '2 High Street', mailbox: 'ben@brook.example' };
  await recorder.desk('profile-brook', '/owners/brook/profile', profile);
  const path = (await mailedLinks('mailbox')).at(-1);
  await pressMailed(recorder, 'owner: confirm', { path, button: 'confirm' });
};
