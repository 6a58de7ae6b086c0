import type { Recorder } from './recorder.ts';
import type { World } from './world.ts';

const PIA = 'pia@person.example';
const FAY = 'fay@person.example';
const PROOF = { proof: 'Ticket 4711' };

/**
 * One person refuses contact, and an agent submits it again; another one is erased; a third asks for the link to their data.
 */
export const askForPrivacy = async (recorder: Recorder, { folded }: World): Promise<void> => {
  const submit = (title: string, external_id: string, email: string) =>
    recorder.agent(title, '/leads', {
      external_id,
      company: { name: 'Person & Sons', country: 'GB' },
      contact: { name: 'A person', email },
      consent: { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' },
    });
  await submit('lead-of-pia', 'crm-pia', PIA);
  await submit('lead-of-fay', 'crm-fay', FAY);
  // The records of an address are found in the read models.
  await folded();
  await recorder.desk('privacy-find', '/privacy/find', { mailbox: PIA, ...PROOF });
  await recorder.desk('privacy-withdraw', '/privacy/withdraw', { mailbox: PIA, ...PROOF });
  await recorder.desk('privacy-erase', '/privacy/erase', { mailbox: FAY, ...PROOF });
  const profile = { name: 'Fay', postal_address: 'Leeds', mailbox: 'fay@brook.example' };
  await recorder.desk('profile-of-fay', '/owners/brook/profile', profile);
  await folded();
  const owner = { mailbox: profile.mailbox, ...PROOF };
  await recorder.desk('privacy-export', '/privacy/export', owner);
  await recorder.desk('privacy-erase-profile', '/privacy/erase', owner);
  await submit('lead-of-pia-again', 'crm-pia-again', PIA);
  await recorder.act('privacy: link', {
    method: 'POST',
    path: '/privacy',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ mailbox: PIA }).toString(),
  });
};
