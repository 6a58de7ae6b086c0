/** The text in place of personal data says why it is absent: an erasure, or a key that is lost. */
import { expect, it } from 'vitest';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { readableHandoff } from '#src/handoffs/render-handoff.ts';
import { showLead } from '#src/leads/render-lead.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LeadState } from '#src/leads/lead.decider.ts';
import type { KeyVault } from '#src/ports/system.ts';

const vault = () => sqliteKeyVault(':memory:', [Buffer.alloc(32, 7)]);
const CONTACT = { name: 'Ada', email: 'ada@shop.example' };

const shownTexts = async (opening: KeyVault, lead: LeadState, handoff: HandoffState) => {
  const { contact, interest, state_reason } = await showLead({ vault: opening }, lead, {
    ownerId: 'anna',
    at: 0,
  });
  const { note_to_buyer, status_reason } = await readableHandoff({ vault: opening }, handoff);
  return { contact, note: interest?.note, state_reason, note_to_buyer, status_reason };
};

it('Personal data is shown as its text, as erased, or as missing its key', async () => {
  const [ours, older] = [vault(), vault()];
  const sealed = async (subject: string, text: string) => (await ours.seal(subject, text)) ?? '';
  const lead = {
    lead_id: 'led_1',
    contact: await sealed('led_1', JSON.stringify(CONTACT)),
    interest: { note: await sealed('led_1', 'mugs') },
    sealed_reason: await sealed('led_1', 'no time'),
    claim_expires_at: 1,
    created_at: 0,
    updated_at: 0,
  } as LeadState;
  const handoff = {
    handoff_id: 'hnd_1',
    sealed_note_to_buyer: await sealed('hnd_1', 'dear Ada'),
    sealed_reason: await sealed('hnd_1', 'too dear'),
  } as HandoffState;
  const all = (text: string) => ({
    contact: text,
    note: text,
    state_reason: text,
    note_to_buyer: text,
    status_reason: text,
  });
  expect(await shownTexts(ours, lead, handoff)).toEqual({
    contact: CONTACT,
    note: 'mugs',
    state_reason: 'no time',
    note_to_buyer: 'dear Ada',
    status_reason: 'too dear',
  });
  expect(await shownTexts(older, lead, handoff)).toEqual(all('[key missing]'));
  // A new write of the subject creates a new key, which does not open older texts.
  for (const subject of ['led_1', 'hnd_1']) await older.seal(subject, 'again');
  expect(await shownTexts(older, lead, handoff)).toEqual(all('[key missing]'));
  for (const subject of ['led_1', 'hnd_1']) await ours.destroy(subject);
  expect(await shownTexts(ours, lead, handoff)).toEqual(all('[erased]'));
});
