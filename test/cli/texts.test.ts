/** Answers of the desk as texts that people read. */
import { expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { shownRfqText } from '#src/cli/texts.ts';

const GBP = (amount: number) => ({ amount, currency: 'GBP' });
const { readRfq } = deskOperations;
const confirmed = readRfq.output.parse(readRfq.examples[0]?.output);

/** Without the spaces that align it. */
const lines = (rfq: typeof confirmed): string[] =>
  shownRfqText(rfq)
    .split('\n')
    .map((line) => line.replaceAll(/ {2,}/g, ' ').trim());

it('An RFQ is shown with its contact and evidence in words, and with the lines of its list', () => {
  const shown = lines(confirmed);
  expect(shown).toContain('state confirmed; confirmed by the buyer');
  expect(shown).toContain('email bea@cornershop.example');
  expect(shown).toContain(`evidence ${confirmed.evidence.join('; ')}`);
  const [line] = confirmed.line_items;
  expect(shown.some((one) => one.startsWith(`1 ${line?.sku} ${line?.title}`))).toBe(true);
});

it('An RFQ is shown with its quotation, its questions, what waits for another person, and where the goods are', () => {
  const [line] = confirmed.line_items;
  const shown = lines({
    ...confirmed,
    state: 'won',
    won_value: [GBP(9_000)],
    won_with: { number: 2, agreed: true },
    quotation: {
      number: 2,
      hash: 'a'.repeat(64),
      values: [GBP(9_000)],
      valid_until: '2026-12-20T17:00:00.000Z',
      lines: [
        {
          line_id: '1',
          product_id: line?.product_id ?? '',
          sku: 'TRAY-1',
          title: 'Tray \u202eevil',
          quantity: 48,
          unit_price: GBP(170),
          replaces: { sku: 'MUG-1', title: 'Mug' },
          reason: 'Sold out',
        },
      ],
      left_out: [{ line_id: '2', reason: 'No longer made' }],
      charges: [{ label: 'Shipping', ...GBP(840) }],
      terms: '30 days net',
    },
    questions: [{ number: 1, quotation: 2, asked_at: confirmed.submitted_at, question: 'Lids?' }],
    proposed: {
      number: 3,
      to: 'won',
      values: [GBP(8_830)],
      is_correction: true,
      by: 'desk:1',
      by_name: 'Mara Lind',
      at: confirmed.submitted_at,
    },
    goods: {
      state: 'shipped',
      lines: [{ line_id: '1', sku: 'TRAY-1', title: 'Tray', quantity: 48, shipped: 48 }],
      shipments: [{ number: 1, shipped_on: '2026-12-02', carrier: 'Royal Mail', lines: [] }],
    },
  });
  for (const one of [
    'won value 90.00 GBP',
    'waits proposal 3, to won 88.30 GBP, of Mara Lind: another person approves it',
    'Quotation 2: 90.00 GBP, valid until 2026-12-20 17:00:00Z, which the buyer agreed to',
    '1 TRAY-1 Tray ⟨U+202E⟩evil 48 1.70 GBP MUG-1: Sold out',
    'Shipping 8.40 GBP',
    'Line 2 is left out. No longer made',
    'Terms: 30 days net',
    'Question 1: Lids?',
    'No answer yet.',
    'The goods are shipped.',
    'Shipment 1: shipped 2026-12-02 Royal Mail',
  ])
    expect(shown).toContain(one);
});
