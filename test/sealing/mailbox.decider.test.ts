import { describe, expect, it } from 'vitest';
import { addressIn } from '#src/sealing/mailbox.decider.ts';

describe('The address in a stored contact', () => {
  it.each(['HandoffCreated', 'PersonInvited', 'PersonRecognized'] as const)(
    'The address in a stored contact is all that %s stores',
    (type) => {
      expect(addressIn(type, 'ada@buyer.example')).toBe('ada@buyer.example');
    },
  );

  it.each(['LeadSubmitted', 'LeadAmended', 'RfqSubmittedByBuyer'] as const)(
    'The address in a stored contact is the e-mail address in the JSON that %s stores',
    (type) => {
      const contact = JSON.stringify({ name: 'Ada', email: 'ada@buyer.example' });
      expect(addressIn(type, contact)).toBe('ada@buyer.example');
    },
  );

  it.each(['OwnerProfileSet', 'ApplicationReceived'] as const)(
    'The address in a stored contact is the mailbox in the JSON that %s stores',
    (type) => {
      const profile = JSON.stringify({ name: 'Acme', mailbox: 'sales@acme.example' });
      expect(addressIn(type, profile)).toBe('sales@acme.example');
    },
  );

  it('The address in a stored contact is its mailbox if it also has an e-mail address', () => {
    const both = JSON.stringify({ email: 'ada@buyer.example', mailbox: 'sales@acme.example' });
    expect(addressIn('OwnerProfileSet', both)).toBe('sales@acme.example');
  });

  it('The address in a stored contact is empty if the contact has none', () => {
    expect(addressIn('LeadSubmitted', JSON.stringify({ phone: '+49 30 1' }))).toBe('');
  });
});
