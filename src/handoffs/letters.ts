/** The texts of letters about RFQs: to buyers, to the owner of the list, and to staff. */
import { DESK_BASE } from '#contracts/places.ts';
import type { MailFacts } from '#src/sending/mail.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { type House, sellerOf } from '#src/shared/house.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

const money = (totals: MailFacts['rfq_notice']['totals']): string =>
  totals.map(({ amount, currency }) => writerFor(HOUSE_LOCALE).money(amount, currency)).join(' + ');

/** A message lists so many lines; the page has all of them. */
const GOODS_LISTED_MAX = 20;

const goodsText = (lines: MailFacts['rfq_shipped']['lines']): string =>
  [
    ...lines.slice(0, GOODS_LISTED_MAX).map(({ title, quantity }) => `${quantity} × ${title}`),
    ...(lines.length > GOODS_LISTED_MAX ? [`${lines.length - GOODS_LISTED_MAX} more lines`] : []),
  ].join('; ');

const count = (lines: number): string => `${lines} ${lines === 1 ? 'line' : 'lines'}`;

const REPLIES: Record<
  MailFacts['rfq_reply']['reply'],
  {
    subject: string;
    text(number: number): string;
    next(handoffId: string, number: number): string;
  }
> = {
  agreed: {
    subject: 'the buyer wants it',
    text: (number) => `wants quotation ${number}. It is the word of the buyer, and not an order.`,
    next: (id, number) =>
      `One of you wins it: tributary rfq move ${id} --to won --quotation ${number}`,
  },
  declined: {
    subject: 'the buyer does not want it',
    text: (number) => `does not want quotation ${number}.`,
    next: (id, number) =>
      `Quote again: tributary rfq quote ${id} --replaces ${number} --valid-until TIME`,
  },
  asked: {
    subject: 'a question',
    text: (number) => `asked about quotation ${number}.`,
    next: (id) => `Answer it: tributary rfq answer ${id} --question NUMBER --answer TEXT`,
  },
};

/** Stands for the review link in the letter that people approve: the link is made when the letter is sent. */
export const REVIEW_LINK = '{review_link}';

/**
 * The letter that delivers a review link, as people approve it. Its mailbox has confirmed nothing, so that it contains no
 * text that an agent wrote.
 */
export const deliveryLetter = (
  { lines, totals, until }: Omit<MailFacts['rfq_confirmation'], 'path'>,
  house: House | undefined,
): { subject: string; text: string } => ({
  subject: 'The product list that you asked for',
  text: [
    `You asked a promoter for a product list, and here it is: ${count(lines)}, indicative total ${money(totals)}.`,
    `See it, change it, and ask staff for a quotation: ${REVIEW_LINK}`,
    `The link is for you alone, and works until ${writerFor(HOUSE_LOCALE).moment(until)}. Nothing is ordered, reserved or paid.`,
    'If you did not ask for it, say so on that page: it closes the list, and you get no more such messages.',
    ...(house ? [sellerOf(house, writerFor(HOUSE_LOCALE))] : []),
  ].join('\n\n'),
});

export const rfqLetters: LetterTexts<
  | 'rfq_confirmation'
  | 'rfq_receipt'
  | 'rfq_quotation'
  | 'rfq_quotation_void'
  | 'rfq_answer'
  | 'rfq_reply'
  | 'rfq_shipped'
  | 'rfq_cancelled'
  | 'rfq_confirmed'
  | 'rfq_won'
  | 'rfq_notice'
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
      'They answer you at this address, with a quotation that has binding prices. Nothing is ordered, reserved or paid.',
      { text: 'See the request, or withdraw it:', link: `${origin}${path}` },
    ],
  }),
  rfq_quotation: ({ path, handoff_id, number, values, until, voids }, { origin }) => ({
    subject: `Quotation ${number} for your request ${handoff_id}`,
    title: 'Your quotation',
    paragraphs: [
      `Staff answer your request for a quotation: ${money(values)}, valid until ${writerFor(HOUSE_LOCALE).moment(until)}.`,
      ...(voids
        ? [
            `It replaces quotation ${voids.number}, which is void${voids.agreed ? ', and so is your word for that' : ''}.`,
          ]
        : []),
      {
        text: 'See it line by line, print it, ask staff, and say whether you want it:',
        link: `${origin}${path}`,
      },
      'The link is for you alone. Your answer is not an order: staff confirm it. Nothing is paid.',
    ],
  }),
  rfq_quotation_void: ({ path, handoff_id, number }, { origin }) => ({
    subject: `Quotation ${number} for your request ${handoff_id} is void`,
    title: 'Your quotation is void',
    paragraphs: [
      `Staff took quotation ${number} back and work on your request again. Nothing is ordered. A new quotation comes by mail.`,
      { text: 'Ask staff:', link: `${origin}${path}` },
    ],
  }),
  rfq_answer: ({ path, handoff_id, answer }, { origin }) => ({
    subject: `Answer to your question about ${handoff_id}`,
    title: 'Staff answer your question',
    paragraphs: [
      ...answer.split('\n').filter((part) => part.trim() !== ''),
      { text: 'See the question and the quotation:', link: `${origin}${path}` },
      'Ask on that page: this mailbox reads no answers.',
    ],
  }),
  rfq_shipped: (
    { path, handoff_id, number, shipped_on, carrier, reference, lines },
    { origin },
  ) => ({
    subject: `Shipment ${number} for your request ${handoff_id}`,
    title: 'Your goods are on their way',
    paragraphs: [
      `Staff shipped on ${shipped_on}: ${goodsText(lines)}.`,
      ...(carrier || reference
        ? [`The parcel: ${[carrier, reference].filter((text) => text).join(', ')}.`]
        : []),
      { text: 'See what is shipped, and what is still to come:', link: `${origin}${path}` },
    ],
  }),
  rfq_cancelled: ({ path, handoff_id, lines, reason, values }, { origin }) => ({
    subject: `Cancelled goods of your request ${handoff_id}`,
    title: 'Some of your goods are cancelled',
    paragraphs: [
      `Staff cancelled: ${goodsText(lines)}. What is left comes to ${money(values)}.`,
      ...(reason === undefined ? [] : [`The reason: ${reason}`]),
      { text: 'See what is still to come:', link: `${origin}${path}` },
    ],
  }),
  rfq_reply: ({ owner_id, handoff_id, number, reply }) => ({
    subject: `Quotation ${number} of ${handoff_id}: ${REPLIES[reply].subject}`,
    paragraphs: [
      `The buyer of the list ${handoff_id} of the promoter ${owner_id} ${REPLIES[reply].text(number)}`,
      `Staff read it by: tributary rfq show ${handoff_id}`,
      REPLIES[reply].next(handoff_id, number),
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
  rfq_notice: ({ owner_id, handoff_id, lines, totals, evidence }, { origin }) => ({
    subject: `New RFQ ${handoff_id}`,
    paragraphs: [
      `A buyer sent an RFQ and confirmed it: ${count(lines)}, in total ${money(totals)}. ` +
        `The list is ${handoff_id} of the promoter ${owner_id}.`,
      ...(evidence.length > 0 ? [`What is known of it: ${evidence.join('; ')}.`] : []),
      `Staff read it, with the contact of the buyer, by: tributary rfq show ${handoff_id}`,
      {
        text: 'Over HTTP with a desk token of the role staff: GET',
        link: `${origin}${DESK_BASE}/handoffs/${handoff_id}/rfq`,
      },
    ],
  }),
};
