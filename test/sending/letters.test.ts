/** The texts of all letters: their links, what they name, and what a letter to a stranger must not have. */
import { expect, it } from 'vitest';
import { renderLetter } from '#src/interfaces/letters.ts';
import { MAIL_KINDS, type MailFacts, type MailKind } from '#src/sending/mail.ts';

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
const rfq = { handoff_id: 'hnd_1', lines: 5, totals: GBP };
const waiting = { requests: 2, has_more: false, owners: 1, oldest_at: AT };

/** Facts of each kind with every optional one. */
const FACTS: MailFacts = {
  rfq_notice: {
    ...rfq,
    owner_id: 'northwind',
    evidence: ['confirmed from the same mailbox as the one the agent named'],
  },
  rfq_confirmation: { path: '/request/t1', lines: 5, totals: GBP, until: AT },
  rfq_receipt: { ...rfq, path: '/request/t1', list },
  rfq_quotation: {
    path: '/quotation/t8',
    handoff_id: 'hnd_1',
    number: 2,
    values: GBP,
    until: AT,
    voids: { number: 1, agreed: true },
  },
  rfq_quotation_void: { path: '/quotation/t8', handoff_id: 'hnd_1', number: 2 },
  rfq_answer: { path: '/quotation/t8', handoff_id: 'hnd_1', answer: 'Lids <b> are\n\nincluded.' },
  rfq_reply: { owner_id: 'northwind', handoff_id: 'hnd_1', number: 2, reply: 'agreed' },
  rfq_shipped: {
    path: '/quotation/t9',
    handoff_id: 'hnd_1',
    number: 2,
    shipped_on: '2026-12-02',
    carrier: 'Royal <i>Mail',
    reference: 'RM 4711',
    lines: [{ title: 'Mug "blue" <i>', quantity: 12 }],
  },
  rfq_cancelled: {
    path: '/quotation/t9',
    handoff_id: 'hnd_1',
    lines: [{ title: 'Bowl', quantity: 6 }],
    reason: 'The <b>glaze failed',
    values: GBP,
  },
  rfq_confirmed: { ...rfq, list },
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
const KINDS = Object.keys(MAIL_KINDS) as MailKind[];
/** A letter of each kind whose recipient acts by opening a page. */
const LEADS_ON: readonly MailKind[] = [
  'rfq_confirmation',
  'rfq_receipt',
  'rfq_quotation',
  'rfq_quotation_void',
  'rfq_answer',
  'rfq_shipped',
  'rfq_cancelled',
  'privacy_link',
  'owner_mailbox',
  'application',
  'sign_in',
  'person_invitation',
  'access_decision',
  'rfq_notice',
];
const TO_STRANGERS = KINDS.filter((kind) => MAIL_KINDS[kind].isLimited);

const letter = (kind: MailKind, facts: MailFacts[MailKind] = FACTS[kind]) =>
  renderLetter(kind, facts, { origin: 'https://t.example' });

it.each(KINDS)('Each address in the letter %s is a link in its HTML part', async (kind) => {
  const { text, html } = await letter(kind);
  const addresses = text.match(/https:\/\/\S+/g) ?? [];
  expect(addresses.length > 0).toBe(LEADS_ON.includes(kind));
  expect(
    [...html.matchAll(/<a href="([^"]+)">([^<]+)<\/a>/g)].map(([, to, shown]) => [to, shown]),
  ).toEqual(addresses.map((address) => [address, address]));
});

it.each(['rfq_receipt', 'rfq_confirmed', 'rfq_won'] as const)(
  'The letter %s has a title and names the promoter, the list and its lines',
  async (kind) => {
    const { text, html } = await letter(kind);
    for (const named of [
      'Kitchen <b>& mugs, from the promoter northwind',
      '1,200 × Mug "blue" <i> (MUG-1)',
      '6 × Bowl (BOWL-9)',
      'and 3 lines more',
    ])
      expect(text).toContain(named);
    expect(html).toMatch(/<h1>[^<]+<\/h1>/);
    expect(html).toContain('<h2>Kitchen &lt;b&gt;&amp; mugs, from the promoter northwind</h2>');
    expect(html).toContain('<li>1,200 × Mug &quot;blue&quot; &lt;i&gt; (MUG-1)</li>');
  },
);

it('The receipt of an RFQ that staff confirmed has no list, because its mailbox may be a stranger’s', async () => {
  const { text, html } = await letter('rfq_receipt', { ...rfq, path: '/request/t1' });
  for (const part of [text, html]) expect(part).not.toMatch(/northwind|Mug/);
});

it.each(TO_STRANGERS)(
  'The letter %s, which anybody can cause, has our own words only',
  async (kind) => {
    const { subject, text, html } = await letter(kind);
    for (const part of [subject, text, html])
      expect(part).not.toMatch(/northwind|Letter agent|Mug|Known/);
    expect(html).not.toContain('<h1>');
  },
);
