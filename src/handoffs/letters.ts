/** The texts of letters about RFQs: to buyers, to the owner of the list, and to staff. */
import { DESK_BASE } from '#contracts/places.ts';
import type { MailFacts } from '#src/sending/mail.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

const money = (totals: MailFacts['rfq_notice']['totals']): string =>
  totals.map(({ amount, currency }) => writerFor(HOUSE_LOCALE).money(amount, currency)).join(' + ');

const count = (lines: number): string => `${lines} ${lines === 1 ? 'line' : 'lines'}`;

export const rfqLetters: LetterTexts<
  'rfq_confirmation' | 'rfq_receipt' | 'rfq_confirmed' | 'rfq_won' | 'rfq_notice'
> = {
  // Somebody else can have typed the address, so the message contains no text that a person typed.
  rfq_confirmation: ({ path, lines, totals, until }, { origin }) => ({
    subject: 'Confirm your request for a quotation',
    paragraphs: [
      `Somebody entered this address and asked for a quotation: ${count(lines)}, indicative total ${money(totals)}.`,
      {
        text: 'If that was you, open this page and confirm the request. Staff receive it then:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Nothing is ordered, reserved or paid.`,
      'If it was not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
  rfq_receipt: ({ path, handoff_id, lines, totals, list }, { origin }) => ({
    subject: `Your request ${handoff_id}`,
    title: 'Your request for a quotation',
    list,
    paragraphs: [
      `Staff have your request for a quotation: ${count(lines)}, indicative total ${money(totals)}. Its reference is ${handoff_id}.`,
      'They answer you at this address, with binding prices. Nothing is ordered, reserved or paid.',
      { text: 'See the request, or withdraw it:', link: `${origin}${path}` },
    ],
  }),
  rfq_confirmed: ({ handoff_id, lines, totals, list }) => ({
    subject: `RFQ confirmed: ${handoff_id}`,
    title: 'A buyer asked for a quotation',
    list,
    paragraphs: [
      `The buyer of the list ${handoff_id} asked for a quotation: ${count(lines)}, indicative total ${money(totals)}.`,
      'Staff answer the buyer. Your performance counts it in rfqs_submitted and rfq_value.',
    ],
  }),
  rfq_won: ({ handoff_id, values, list }) => ({
    subject: `RFQ won: ${handoff_id}`,
    title: 'An RFQ was won',
    list,
    paragraphs: [
      `Staff recorded that the RFQ of the list ${handoff_id} was won, for ${money(values)}.`,
      'Your performance counts it in rfqs_won and won_value. Staff can correct it.',
    ],
  }),
  rfq_notice: ({ owner_id, handoff_id, lines, totals }, { origin }) => ({
    subject: `New RFQ ${handoff_id}`,
    paragraphs: [
      `A buyer sent an RFQ and confirmed it: ${count(lines)}, in total ${money(totals)}. ` +
        `The list is ${handoff_id} of the promoter ${owner_id}.`,
      `Staff read it, with the contact of the buyer, by: tributary rfq show ${handoff_id}`,
      {
        text: 'Over HTTP with a desk token of the role staff: GET',
        link: `${origin}${DESK_BASE}/handoffs/${handoff_id}/rfq`,
      },
    ],
  }),
};
