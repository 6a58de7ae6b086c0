/** The texts of letters about RFQs: to buyers, to the owner of the list, and to staff. */
import { referenceOf } from '#src/ports/reference.ts';
import type { MailFacts } from '#src/sending/mail.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { type House, sellerOf } from '#src/shared/house.ts';
import { HOUSE_LOCALE, type Writer, writerFor } from '#src/shared/money.ts';

type Totals = MailFacts['rfq_notice']['totals'];

/** Totals of currencies, which are never added up. */
const sumsOf = (totals: Totals, { money }: Writer): string =>
  totals.map(({ amount, currency }) => money(amount, currency)).join(' + ');

const HOUSE = writerFor(HOUSE_LOCALE);
const money = (totals: Totals): string => sumsOf(totals, HOUSE);
const count = (lines: number): string => HOUSE.say('line_count', { count: lines });

/** A message lists so many lines; the page has all of them. */
const GOODS_LISTED_MAX = 20;

const goodsText = (lines: MailFacts['rfq_shipped']['lines'], { say, count: written }: Writer) => {
  const more = lines.length - GOODS_LISTED_MAX;
  return [
    ...lines
      .slice(0, GOODS_LISTED_MAX)
      .map(({ title, quantity }) => `${written(quantity)} × ${title}`),
    ...(more > 0 ? [say('more_lines', { count: more })] : []),
  ].join('; ');
};

const REPLIES: Record<
  MailFacts['rfq_reply']['reply'],
  { subject: string; text(number: number): string; next: string }
> = {
  agreed: {
    subject: 'the buyer wants it',
    text: (number) => `wants quotation ${number}. It is the word of the buyer, and not an order.`,
    next: 'One of you wins it:',
  },
  declined: {
    subject: 'the buyer does not want it',
    text: (number) => `does not want quotation ${number}.`,
    next: 'Quote again, or record the outcome:',
  },
  asked: {
    subject: 'a question',
    text: (number) => `asked about quotation ${number}.`,
    next: 'Answer it:',
  },
};

/** The page on which staff work on a list. */
const deskPage = (origin: string, handoffId: string): string => `${origin}/desk/r/${handoffId}`;

/** Stands for the review link in the letter that people approve: the link is made when the letter is sent. */
export const REVIEW_LINK = '{review_link}';

/**
 * The letter that delivers a review link, as people approve it. Its mailbox has confirmed nothing, so that it contains no
 * text that an agent wrote.
 */
export const deliveryLetter = (
  facts: Omit<MailFacts['rfq_confirmation'], 'path'>,
  house: House | undefined,
): { subject: string; text: string } => {
  const writer = writerFor(facts.locale);
  const { say, moment } = writer;
  const lines = say('line_count', { count: facts.lines });
  return {
    subject: say('letter_delivery'),
    text: [
      say('letter_delivery_list', { lines, total: sumsOf(facts.totals, writer) }),
      `${say('letter_delivery_link')} ${REVIEW_LINK}`,
      say('letter_delivery_until', { until: moment(facts.until) }),
      say('letter_delivery_disown'),
      ...(house ? [sellerOf(house, writer)] : []),
    ].join('\n\n'),
  };
};

type Kind =
  | 'rfq_confirmation'
  | 'rfq_receipt'
  | 'rfq_quotation'
  | 'rfq_quotation_void'
  | 'rfq_answer'
  | 'rfq_shipped'
  | 'rfq_cancelled';

/** The letters to buyers, each in the language of the list. */
const buyerLetters: LetterTexts<Kind> = {
  // Somebody else can have typed the address, so the message contains no text that a person typed.
  rfq_confirmation: (facts, { origin }) => {
    const writer = writerFor(facts.locale);
    const { say, locale, moment } = writer;
    const lines = say('line_count', { count: facts.lines });
    return {
      locale,
      subject: say('letter_confirmation'),
      paragraphs: [
        say('letter_confirmation_list', { lines, total: sumsOf(facts.totals, writer) }),
        { text: say('letter_confirmation_link'), link: origin + facts.path },
        say('letter_confirmation_until', { until: moment(facts.until) }),
        say('letter_confirmation_disown'),
      ],
    };
  },
  rfq_receipt: ({ handoff_id, path, list, ...facts }, { origin }) => {
    const writer = writerFor(facts.locale);
    const { say, locale } = writer;
    const lines = say('line_count', { count: facts.lines });
    const total = sumsOf(facts.totals, writer);
    return {
      locale,
      subject: say('letter_receipt', { reference: referenceOf(handoff_id) }),
      title: say('letter_receipt_title'),
      list,
      paragraphs: [
        say('letter_receipt_list', { lines, total, reference: referenceOf(handoff_id) }),
        say('letter_receipt_next'),
        { text: say('letter_receipt_link'), link: origin + path },
      ],
    };
  },
  rfq_quotation: ({ handoff_id, voids, ...facts }, { origin }) => {
    const writer = writerFor(facts.locale);
    const { say, locale, moment, count: written } = writer;
    const number = written(facts.number);
    return {
      locale,
      subject: say('letter_quotation', { number, reference: referenceOf(handoff_id) }),
      title: say('letter_quotation_title'),
      paragraphs: [
        say('letter_quotation_text', {
          total: sumsOf(facts.values, writer),
          until: moment(facts.until),
        }),
        ...(voids
          ? [
              say(voids.agreed ? 'letter_quotation_voids_agreed' : 'letter_quotation_voids', {
                number: written(voids.number),
              }),
            ]
          : []),
        { text: say('letter_quotation_link'), link: origin + facts.path },
        say('letter_quotation_alone'),
      ],
    };
  },
  rfq_quotation_void: ({ handoff_id, ...facts }, { origin }) => {
    const { say, locale, count: written } = writerFor(facts.locale);
    const number = written(facts.number);
    return {
      locale,
      subject: say('letter_void', { number, reference: referenceOf(handoff_id) }),
      title: say('letter_void_title'),
      paragraphs: [
        say('letter_void_text', { number }),
        { text: say('letter_void_link'), link: origin + facts.path },
      ],
    };
  },
  rfq_answer: ({ handoff_id, answer, ...facts }, { origin }) => {
    const { say, locale } = writerFor(facts.locale);
    return {
      locale,
      subject: say('letter_answer', { reference: referenceOf(handoff_id) }),
      title: say('letter_answer_title'),
      paragraphs: [
        ...answer.split('\n').filter((part) => part.trim() !== ''),
        { text: say('letter_answer_link'), link: origin + facts.path },
        say('letter_answer_again'),
      ],
    };
  },
  rfq_shipped: ({ handoff_id, ...facts }, { origin }) => {
    const writer = writerFor(facts.locale);
    const { say, locale, day, count: written } = writer;
    const parcel = [facts.carrier, facts.reference].filter((text) => text).join(', ');
    return {
      locale,
      subject: say('letter_shipped', {
        number: written(facts.number),
        reference: referenceOf(handoff_id),
      }),
      title: say('letter_shipped_title'),
      paragraphs: [
        say('letter_shipped_text', {
          day: day(Date.parse(facts.shipped_on)),
          goods: goodsText(facts.lines, writer),
        }),
        ...(parcel === '' ? [] : [say('letter_shipped_parcel', { parcel })]),
        { text: say('letter_shipped_link'), link: origin + facts.path },
      ],
    };
  },
  rfq_cancelled: ({ handoff_id, reason, ...facts }, { origin }) => {
    const writer = writerFor(facts.locale);
    const { say, locale } = writer;
    return {
      locale,
      subject: say('letter_cancelled', { reference: referenceOf(handoff_id) }),
      title: say('letter_cancelled_title'),
      paragraphs: [
        say('letter_cancelled_text', {
          goods: goodsText(facts.lines, writer),
          total: sumsOf(facts.values, writer),
        }),
        ...(reason === undefined ? [] : [say('letter_cancelled_reason', { reason })]),
        { text: say('letter_cancelled_link'), link: origin + facts.path },
      ],
    };
  },
};

export const rfqLetters: LetterTexts<
  Kind | 'rfq_reply' | 'rfq_confirmed' | 'rfq_won' | 'rfq_notice'
> = {
  ...buyerLetters,
  rfq_reply: ({ owner_id, handoff_id, number, reply }, { origin }) => ({
    subject: `Quotation ${number} of ${referenceOf(handoff_id)}: ${REPLIES[reply].subject}`,
    paragraphs: [
      `The buyer of the list ${referenceOf(handoff_id)} of the promoter ${owner_id} ${REPLIES[reply].text(number)}`,
      { text: REPLIES[reply].next, link: deskPage(origin, handoff_id) },
    ],
  }),
  rfq_confirmed: ({ handoff_id, lines, totals, list }) => ({
    subject: `RFQ confirmed: ${referenceOf(handoff_id)}`,
    title: 'A buyer asked for a quotation',
    list,
    paragraphs: [
      `The buyer of the list ${referenceOf(handoff_id)} asked for a quotation: ${count(lines)}, indicative total ${money(totals)}.`,
      'Staff answer the buyer. Your performance counts it in rfqs_submitted and rfq_value.',
    ],
  }),
  rfq_won: ({ handoff_id, values, list }) => ({
    subject: `RFQ won: ${referenceOf(handoff_id)}`,
    title: 'An RFQ was won',
    list,
    paragraphs: [
      `Staff recorded that the RFQ of the list ${referenceOf(handoff_id)} was won, for ${money(values)}.`,
      'Your performance counts it in rfqs_won and won_value. Staff can correct it.',
    ],
  }),
  rfq_notice: ({ owner_id, handoff_id, lines, totals, evidence }, { origin }) => ({
    subject: `New RFQ ${referenceOf(handoff_id)}`,
    paragraphs: [
      `A buyer sent an RFQ and confirmed it: ${count(lines)}, in total ${money(totals)}. ` +
        `The list is ${referenceOf(handoff_id)} of the promoter ${owner_id}.`,
      ...(evidence.length > 0 ? [`What is known of it: ${evidence.join('; ')}.`] : []),
      { text: 'Staff read it, with the contact of the buyer:', link: deskPage(origin, handoff_id) },
    ],
  }),
};
