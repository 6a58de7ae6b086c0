/** Plain texts of erased people in events that are not parsed. */
import { expect, it } from 'vitest';
import { replaceErasedJson } from '#src/sealing/plaintext-legacy-fields.ts';
import type { EventText } from '#src/ports/event-log.ts';

const event = (position: number, stream: string, data: object): EventText => ({
  position,
  stream,
  owner: 'acme',
  revision: 0,
  id: `${position}`,
  type: 'LeadRejected',
  data: JSON.stringify(data),
  meta: '{}',
});

it('Texts that an event has in plain text are replaced when their subject is erased', async () => {
  const events = [
    event(1, 'acme-lead_gone', { reason: 'Ada moved', state: 'rejected' }),
    event(2, 'acme-lead_here', { reason: 'Bea moved' }),
    event(3, 'acme-handoff_gone', { note_to_buyer: 'Ada', lines: [{ note: 'Ada', sku: '1' }] }),
    event(4, 'acme-visits_gone', { reason: 'Ada moved' }),
    event(5, 'acme-lead_gone', { state: 'won' }),
  ];
  const knows = async (subject: string) =>
    subject.endsWith('gone') ? ('destroyed' as const) : ('key' as const);
  const shown = await replaceErasedJson({ knows }, events);
  expect(shown.map(({ data }) => JSON.parse(data) as object)).toEqual([
    { reason: '[erased]', state: 'rejected' },
    { reason: 'Bea moved' },
    { note_to_buyer: '[erased]', lines: [{ note: '[erased]', sku: '1' }] },
    { reason: 'Ada moved' },
    { state: 'won' },
  ]);
});
