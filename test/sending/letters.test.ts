/** The texts of all letters: their links, what they name, and what a letter to a stranger must not have. */
import { expect, it } from 'vitest';
import { renderLetter } from '#src/interfaces/letters.ts';
import { MAIL_KINDS, type MailFacts, type MailKind } from '#src/sending/mail.ts';
import { LETTER_FACTS, rfqFacts } from '../support/world/letters.ts';

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
  'rfq_reply',
];
const TO_STRANGERS = KINDS.filter((kind) => MAIL_KINDS[kind].isLimited);

const letter = (kind: MailKind, facts: MailFacts[MailKind] = LETTER_FACTS[kind]) =>
  renderLetter(kind, facts, { origin: 'https://t.example', house: undefined });

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
  const { text, html } = await letter('rfq_receipt', {
    ...rfqFacts,
    locale: 'en-GB',
    path: '/request/t1',
  });
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

/** The kinds whose facts have a locale. */
const TO_BUYERS = [
  'rfq_confirmation',
  'rfq_receipt',
  'rfq_quotation',
  'rfq_quotation_void',
  'rfq_answer',
  'rfq_shipped',
  'rfq_cancelled',
] as const satisfies readonly MailKind[];

it.each(TO_BUYERS)('The letter %s is in the language of the list', async (kind) => {
  const { subject, text, html } = await letter(kind, { ...LETTER_FACTS[kind], locale: 'de-AT' });
  expect(html).toContain('<html lang="de">');
  // What a person wrote is as it was written.
  const ours = text.replace('The <b>glaze failed', '');
  for (const part of [subject, ours]) expect(part).not.toMatch(/\b(?:your|you|the|staff|of)\b/i);
  expect(text).toMatch(/\b(?:Sie|Ihre|Ihr|Ihrer)\b/);
  // Money and dates are those of the locale.
  expect(text).not.toMatch(/£165\.00|November 2026 at/);
});
