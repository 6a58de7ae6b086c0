/** Facts of the letters of each kind. */
import type { MailFacts } from '#src/sending/mail.ts';

const AT = Date.UTC(2026, 10, 28, 9);
const GBP = [{ amount: 16_500, currency: 'GBP' }];
const list = {
  title: 'Kitchen <b>& mugs',
  promoter: 'northwind',
  items: [
    { quantity: 1_200, title: 'Mug "blue" <i>', sku: 'MUG-1' },
    { quantity: 6, title: 'Bowl', sku: 'BOWL-9' },
  ],
  more: 3,
};
export const rfqFacts = { handoff_id: 'hnd_1', lines: 5, totals: GBP };
const waiting = { requests: 2, has_more: false, owners: 1, oldest_at: AT };

const locale = 'en-GB';

/** Facts of each kind with every optional one. */
export const LETTER_FACTS: MailFacts = {
  rfq_notice: {
    ...rfqFacts,
    owner_id: 'northwind',
    evidence: ['confirmed from the same mailbox as the one the agent named'],
  },
  rfq_confirmation: { locale, path: '/request/t1', lines: 5, totals: GBP, until: AT },
  rfq_receipt: { ...rfqFacts, locale, path: '/request/t1', list },
  rfq_quotation: {
    locale,
    path: '/quotation/t8',
    handoff_id: 'hnd_1',
    number: 2,
    values: GBP,
    until: AT,
    voids: { number: 1, agreed: true },
  },
  rfq_quotation_void: { locale, path: '/quotation/t8', handoff_id: 'hnd_1', number: 2 },
  rfq_answer: {
    locale,
    path: '/quotation/t8',
    handoff_id: 'hnd_1',
    answer: 'Lids <b> are\n\nincluded.',
  },
  rfq_reply: { owner_id: 'northwind', handoff_id: 'hnd_1', number: 2, reply: 'agreed' },
  rfq_shipped: {
    locale,
    path: '/quotation/t9',
    handoff_id: 'hnd_1',
    number: 2,
    shipped_on: '2026-12-02',
    carrier: 'Royal <i>Mail',
    reference: 'RM 4711',
    lines: [{ title: 'Mug "blue" <i>', quantity: 12 }],
  },
  rfq_cancelled: {
    locale,
    path: '/quotation/t9',
    handoff_id: 'hnd_1',
    lines: [{ title: 'Bowl', quantity: 6 }],
    reason: 'The <b>glaze failed',
    values: GBP,
  },
  rfq_confirmed: { ...rfqFacts, list },
  rfq_won: { handoff_id: 'hnd_1', values: GBP, list },
  approvals_digest: { ...waiting, access: waiting },
  contacts_stopped: { owner_id: 'northwind', agent_id: 'agt_1', contacts: 40 },
  privacy_link: { path: '/privacy/t2', until: AT },
  owner_mailbox: { path: '/mailbox/t3', until: AT },
  application: { path: '/application/t4', until: AT },
  sign_in: { path: '/signin/t6', until: AT },
  person_invitation: { path: '/invited/t7', until: AT, roles: ['staff'], owners: [] },
  access_decision: {
    agent_id: 'agt_1',
    name: 'Letter agent',
    outcome: 'granted',
    scopes: ['products:read'],
    reason: 'Known',
    key_link: { path: '/application/t5', until: AT },
  },
};
