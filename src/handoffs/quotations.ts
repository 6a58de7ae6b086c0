/** What staff offer for an RFQ: quotations, and answers to the questions about them. */
import type { z } from 'zod';
import type { handoffsDeskOperations } from '#contracts/handoffs/operations.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { priceLine } from '#src/catalog/products.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { openOne, openTexts, type OpeningVault, shownText } from '#src/sealing/sealed-texts.ts';
import type { Call } from '#src/shared/call.ts';
import { moneyText } from '#src/shared/cells.ts';
import { isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { epoch, iso } from '#src/shared/time.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import type { HandoffLine, HandoffState } from './handoff.decider.ts';
import { changeRfq, ERASED_RFQ, nextTokenHash } from './move-rfq.ts';
import { differences, type Offer, type Quotation, valuesOf } from './quotation.decider.ts';

type QuoteInput = z.output<(typeof handoffsDeskOperations)['quoteRfq']['input']>;
type QuoteLine = QuoteInput['lines'][number];
type OfferLine = Offer['lines'][number];

/** What staff wrote to the buyer beside the prices; `reasons` are by line id. */
export type QuotationTexts = { terms?: string; reasons?: Record<string, string> };

/** Opens the texts of a quotation; the placeholder of an erased or lost one is its terms. */
export const textsOfQuotation = async (
  vault: OpeningVault,
  { sealed_texts: sealed }: Pick<Quotation, 'sealed_texts'>,
): Promise<QuotationTexts> => {
  if (sealed === undefined || sealed === '') return {};
  const opened = await openOne(vault, sealed);
  return typeof opened === 'string' ? (JSON.parse(opened) as QuotationTexts) : {};
};

const nameOf = ({ line_id, sku }: Pick<HandoffLine, 'line_id' | 'sku'>): string =>
  `line ${line_id} (${sku})`;

/** A line of the list, what staff entered for it, and the product that they offer; undefined if it is not published. */
type Asked = {
  line: HandoffLine;
  entered: QuoteLine | undefined;
  pointer: string;
  product: CatalogProduct | undefined;
};

/** Prices a line, or reports why it has no price. The currency is that of the list, so that each total is answered. */
const quoteLine = ({ line, entered, pointer, product }: Asked): OfferLine | InputFault => {
  const { line_id, currency } = line;
  const quantity = entered?.quantity ?? line.quantity;
  const given = entered?.unit_price;
  if (entered?.sku !== undefined && !product)
    return {
      pointer: `${pointer}/sku`,
      code: 'not_published',
      detail: `no published product has the sku "${entered.sku}"`,
    };
  if (given && given.currency !== currency)
    return {
      pointer: `${pointer}/unit_price/currency`,
      code: 'other_currency',
      detail: `${nameOf(line)} is listed in ${currency}, not in ${given.currency}: quote it in ${currency} or leave it out`,
    };
  if (!given && product?.currency !== currency)
    return {
      pointer: `${pointer}/unit_price`,
      code: 'required',
      detail: product
        ? `the catalog has ${product.sku} in ${product.currency}, and ${nameOf(line)} is listed in ${currency}: give a unit_price in ${currency}, or leave it out`
        : `${nameOf(line)} is no longer offered: give a unit_price, the sku of another product, or leave it out`,
    };
  const offered = product ?? line;
  const isOther = product !== undefined && product.product_id !== line.product_id;
  return {
    line_id,
    product_id: offered.product_id,
    product_revision: product?.revision ?? line.product_revision,
    sku: offered.sku,
    title: offered.title,
    category: offered.category,
    quantity,
    unit_price:
      given?.amount ??
      (product ? priceLine(product, { line_id, quantity }, new Map()).unit_price : line.unit_price),
    currency,
    ...(isOther && {
      replaces: { product_id: line.product_id, sku: line.sku, title: line.title },
    }),
  };
};

const isFault = (one: OfferLine | InputFault): one is InputFault => 'pointer' in one;

/** Makes the offer of the list's lines; reports every line that cannot be offered as it was entered. */
const offerLines = (
  { catalog }: Pick<Deps, 'catalog'>,
  { lines }: HandoffState,
  entered: readonly QuoteLine[],
): Pick<Offer, 'lines' | 'left_out'> | InputFault[] => {
  const ids = new Set(lines.map(({ line_id }) => line_id));
  const places = new Map(entered.map((one, index) => [one.line_id, { one, index }]));
  const byId = catalog.byId(lines.map(({ product_id }) => product_id));
  const bySku = catalog.bySku(entered.flatMap(({ sku }) => sku ?? []));
  const faults: InputFault[] = entered.flatMap(({ line_id }, index) =>
    ids.has(line_id)
      ? []
      : [
          {
            pointer: `/lines/${index}/line_id`,
            code: 'unknown',
            detail: `the RFQ has no line ${line_id}; it has ${[...ids].slice(0, 20).join(', ')}`,
          },
        ],
  );
  const left_out = lines.flatMap(({ line_id }) =>
    places.get(line_id)?.one.leave_out ? [{ line_id }] : [],
  );
  const quoted = lines.flatMap((line) => {
    const place = places.get(line.line_id);
    if (place?.one.leave_out) return [];
    const other = place?.one.sku;
    const product = other === undefined ? byId.get(line.product_id) : bySku.get(other);
    const pointer = place ? `/lines/${place.index}` : '/lines';
    return [quoteLine({ line, entered: place?.one, pointer, product })];
  });
  faults.push(...quoted.filter(isFault));
  if (faults.length === 0 && quoted.length === 0)
    faults.push({
      pointer: '/lines',
      code: 'empty',
      detail: 'at least one line must be offered; an RFQ that cannot be answered is moved to lost',
    });
  return faults.length > 0
    ? faults
    : { lines: quoted.filter((one): one is OfferLine => !isFault(one)), left_out };
};

/** Faults of what lines and charges come to. */
const faultsOfTotals = (
  offer: Offer,
  input: QuoteInput,
  { totals }: HandoffState,
): InputFault[] => {
  const currencies = new Set(offer.lines.map(({ currency }) => currency));
  const charged = input.charges.flatMap(({ currency }, index) =>
    currencies.has(currency)
      ? []
      : [
          {
            pointer: `/charges/${index}/currency`,
            code: 'other_currency',
            detail: `no line is quoted in ${currency}; the lines are quoted in ${[...currencies].join(' and ')}`,
          },
        ],
  );
  if (offer.values.some(({ amount }) => !Number.isSafeInteger(amount)))
    return [
      ...charged,
      { pointer: '/lines', code: 'too_large', detail: 'the total exceeds 2^53 - 1' },
    ];
  const different = differences(offer.values, totals);
  if (charged.length > 0 || different.length === 0) return charged;
  const said = different
    .map(
      ({ currency, quoted, listed }) =>
        `${moneyText({ amount: quoted, currency })} is quoted, and the list came to ${moneyText({ amount: listed, currency })}`,
    )
    .join('; ');
  return [
    ...(input.accept_difference
      ? []
      : [
          {
            pointer: '/accept_difference',
            code: 'required',
            detail: `must be true, because a total differs by more than a quarter: ${said}`,
          },
        ]),
    ...(input.reason === undefined
      ? [
          {
            pointer: '/reason',
            code: 'required',
            detail: `is required, because a total differs by more than a quarter: ${said}`,
          },
        ]
      : []),
  ];
};

/** Makes what staff offer, with its texts sealed, or refuses it. */
const makeOffer = async (
  deps: Deps,
  { at }: Pick<Call, 'at'>,
  { state, input }: { state: HandoffState; input: QuoteInput },
): Promise<Offer | Refusal> => {
  const refuseFaults = (errors: InputFault[]) =>
    refuse('validation_failed', 'The quotation cannot be made so.', { errors });
  const valid_until = epoch(input.valid_until);
  if (valid_until <= at)
    return refuseFaults([
      {
        pointer: '/valid_until',
        code: 'past',
        detail: `must be in the future, and is ${iso(valid_until)}`,
      },
    ]);
  const offered = offerLines(deps, state, input.lines);
  if (Array.isArray(offered)) return refuseFaults(offered);
  const { charges, terms } = input;
  const values = valuesOf({ ...offered, charges });
  const offer: Offer = { ...offered, charges, values, valid_until };
  const faults = faultsOfTotals(offer, input, state);
  if (faults.length > 0) return refuseFaults(faults);
  const reasons = Object.fromEntries(
    input.lines.flatMap(({ line_id, reason }) => (reason === undefined ? [] : [[line_id, reason]])),
  );
  const texts: QuotationTexts = {
    ...present({ terms }),
    ...(Object.keys(reasons).length > 0 && { reasons }),
  };
  if (Object.keys(texts).length === 0) return offer;
  const sealed_texts = await deps.vault.seal(state.handoff_id, JSON.stringify(texts));
  return sealed_texts === null ? ERASED_RFQ : { ...offer, sealed_texts };
};

export const quoteRfq: DeskHandler<'quoteRfq'> = (deps, input, call) => {
  const { handoff_id, owner_id, reason, replaces } = input;
  return changeRfq(deps, call, {
    ref: { handoff_id, owner_id },
    reason,
    async command({ sealedReason, state }) {
      const offer = state?.rfq && (await makeOffer(deps, call, { state, input }));
      if (offer && isRefusal(offer)) return offer;
      return issue({
        type: 'QuoteRfq',
        at: call.at,
        // Without an RFQ it is rejected.
        offer: offer ?? NO_OFFER,
        sealedReason,
        replaces,
        approval: deps.approval,
        tokenHash: nextTokenHash(deps, handoff_id, state?.rfq),
      });
    },
  });
};

const NO_OFFER: Offer = { lines: [], left_out: [], charges: [], values: [], valid_until: 0 };

export const answerQuestion: DeskHandler<'answerQuestion'> = (deps, input, call) => {
  const { handoff_id, owner_id, question, answer } = input;
  return changeRfq(deps, call, {
    ref: { handoff_id, owner_id },
    reason: answer,
    answer,
    command: async ({ sealedReason = '' }) =>
      issue({ type: 'AnswerQuestion', at: call.at, question, sealedAnswer: sealedReason }),
  });
};

/** A question of the buyer, as its events have it. */
export type Question = {
  number: number;
  quotation: number;
  asked_at: number;
  question: string;
  answer?: string;
};

/** Reads the questions about an RFQ from the events of its handoff, the first one first. */
export const questionsIn = async (
  vault: OpeningVault,
  stored: readonly StoredEvent[],
): Promise<Question[]> => {
  const answers = new Map<number, string>();
  const asked: { at: number; data: EventData<'QuotationQuestionAsked'> }[] = [];
  for (const { type, data, meta } of stored) {
    if (type === 'QuotationQuestionAsked')
      asked.push({ at: meta.at, data: data as EventData<'QuotationQuestionAsked'> });
    if (type !== 'QuotationQuestionAnswered') continue;
    const { question, sealed_answer } = data as EventData<'QuotationQuestionAnswered'>;
    answers.set(question, sealed_answer);
  }
  const opened = await openTexts(vault, [
    ...asked.map(({ data }) => data.sealed_question),
    ...answers.values(),
  ]);
  return asked.map(({ at, data: { question: number, number: quotation, sealed_question } }) => {
    const answer = answers.get(number);
    return {
      number,
      quotation,
      asked_at: at,
      question: shownText(opened(sealed_question)),
      ...(answer !== undefined && { answer: shownText(opened(answer)) }),
    };
  });
};

/** What a buyer wrote about quotations: questions with their answers, and reasons to decline. */
export const writtenByBuyer = async (vault: OpeningVault, stored: readonly StoredEvent[]) => {
  const declined = stored.flatMap(({ type, data, meta: { at } }) => {
    const { sealed_reason } = data as EventData<'QuotationDeclined'>;
    return type === 'QuotationDeclined' && sealed_reason !== undefined
      ? [{ at, sealed_reason }]
      : [];
  });
  const opened = await openTexts(
    vault,
    declined.map(({ sealed_reason }) => sealed_reason),
  );
  return {
    questions: (await questionsIn(vault, stored)).map(({ asked_at, question, answer }) => ({
      asked_at: iso(asked_at),
      question,
      ...present({ answer }),
    })),
    declined: declined.map(({ at, sealed_reason }) => ({
      at: iso(at),
      reason: shownText(opened(sealed_reason)),
    })),
  };
};
