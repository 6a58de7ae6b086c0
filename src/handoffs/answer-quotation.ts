/** What the buyer does behind the link of the letter with a quotation. No other link leads to any of it. */
import { declineReason, quotationQuestion } from '#contracts/handoffs/operations.ts';
import type { EventType } from '#contracts/registries/events.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import type { Append, StoredEvent } from '#src/ports/event-log.ts';
import type { MailFacts } from '#src/sending/mail.ts';
import type { Call, HolderCall } from '#src/shared/call.ts';
import { done, isRefusal, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { decideAndAppend, type Issued, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { foldOf, streamOf } from '#src/writing/streams.ts';
import { type HandoffCommand, handoff, type HandoffState } from './handoff.decider.ts';
import { renderGoods } from './fulfillment.ts';
import type { Quotation } from './quotation.decider.ts';
import { replyToStaff } from './quotation-letters.ts';
import { type Question, questionsIn, type QuotationTexts, textsOfQuotation } from './quotations.ts';
import { conflictOf, findMailedLink, type MailedLink, makeReview, type Review } from './review.ts';
import { isRfqOutcome, rfqStateAt } from './rfq.decider.ts';

const NO_QUOTATION = refuse(
  'resource_not_found',
  'There is no such quotation. Check that the link is complete.',
);

/** A quotation as the holder of the mailbox sees it. */
export type BuyerQuotation = {
  review: Review;
  /**
   * `open` for an answer; `agreed` or `declined` by the buyer; `expired`; `taken_back` by staff, who work on the request
   * again; `replaced` by a later one with a link of its own; `ended` with an outcome.
   */
  phase: 'open' | 'agreed' | 'declined' | 'expired' | 'taken_back' | 'replaced' | 'ended';
  /** The newest one. */
  quotation: Quotation;
  texts: QuotationTexts;
  questions: readonly Question[];
  /** Once it is won. */
  goods: Awaited<ReturnType<typeof renderGoods>> | undefined;
  /** Whether it can still be agreed to: one that was declined can, until it expires. */
  isValid: boolean;
};

const PHASES = {
  quoted: 'open',
  agreed: 'agreed',
  declined: 'declined',
  expired: 'expired',
} as const;

const phaseOf = (
  rfq: NonNullable<HandoffState['rfq']>,
  { number }: MailedLink,
  at: number,
): BuyerQuotation['phase'] => {
  const state = rfqStateAt(rfq, at);
  if (rfq.quote?.number !== number) return 'replaced';
  if (isRfqOutcome(state)) return 'ended';
  return state in PHASES ? PHASES[state as keyof typeof PHASES] : 'taken_back';
};

const makeQuotation = async (
  deps: Deps,
  link: MailedLink,
  { stored, at }: { stored: readonly StoredEvent[]; at: number },
): Promise<BuyerQuotation | undefined> => {
  const state = foldOf(handoff, stored);
  const quotation = state?.rfq?.quotation;
  if (!state?.rfq || !quotation) return undefined;
  return {
    review: await makeReview(deps, { ownerId: link.owner, state }),
    phase: phaseOf(state.rfq, link, at),
    quotation,
    texts: await textsOfQuotation(deps.vault, quotation),
    questions: await questionsIn(deps.vault, stored),
    goods: state.goods && (await renderGoods(deps, state.goods)),
    isValid: at < quotation.valid_until,
  };
};

const showQuotation = async (
  deps: Deps,
  link: MailedLink,
  at: number,
): Promise<BuyerQuotation | undefined> => {
  const stored = await deps.log.readStream(streamOf(link.owner, 'handoff', link.handoff_id));
  return makeQuotation(deps, link, { stored, at });
};

/** Shows the quotation. It changes nothing, because mail scanners also open links. */
export const readQuotation: HolderHandler<'readQuotation', BuyerQuotation> = async (
  deps,
  _input,
  call,
) => {
  const link = await findMailedLink(deps, call.caller.token, 'quotes');
  const shown = link && (await showQuotation(deps, link, call.at));
  return shown ? done(shown) : NO_QUOTATION;
};

type Made = Issued<HandoffCommand> | Refusal;
type Reply = { event: EventType; reply: MailFacts['rfq_reply']['reply'] };

type Act = Reply & {
  command(of: {
    state: HandoffState;
    stored: readonly StoredEvent[];
    link: MailedLink;
    at: number;
  }): Promise<Made> | Made;
};

/** Runs one command of the buyer, and tells staff. A repeated command leaves everything as it is. */
const actOnQuotation = async (
  deps: Deps,
  holderCall: HolderCall,
  { command, event, reply }: Act,
): Promise<Outcome<BuyerQuotation>> => {
  const link = await findMailedLink(deps, holderCall.caller.token, 'quotes');
  if (!link) return NO_QUOTATION;
  const { owner, handoff_id } = link;
  const call: Call = { ...holderCall, ownerId: owner };
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(owner, 'handoff', handoff_id),
    decider: handoff,
    async command(state, stored) {
      if (!state) return NO_QUOTATION;
      const made = await command({ state, stored, link, at: call.at });
      return made.ok ? { ...made, effects: noticeOf(deps, call, link, { event, reply }) } : made;
    },
  });
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  const shown = await showQuotation(deps, link, call.at);
  return shown ? done(shown, traceOf(written)) : NO_QUOTATION;
};

const noticeOf =
  (deps: Deps, call: Call, { handoff_id, number }: MailedLink, { event, reply }: Reply) =>
  async (events: readonly { type: string }[]): Promise<Append[]> =>
    events.some(({ type }) => type === event)
      ? replyToStaff(deps, call, { handoff_id, number, reply })
      : [];

/** Records that the buyer wants exactly the quotation that the page showed. */
export const agreeToQuotation: HolderHandler<'agreeToQuotation', BuyerQuotation> = (
  deps,
  { hash },
  holderCall,
) =>
  actOnQuotation(deps, holderCall, {
    event: 'QuotationAgreed',
    reply: 'agreed',
    command: ({ at, link: { number } }) =>
      issue({
        type: 'AnswerQuotation',
        at,
        number,
        hash,
        answer: 'agreed',
        sealedReason: undefined,
      }),
  });

const ERASED = refuse('state_conflict', 'The request was erased.', {
  extra: { rejected: 'rfq_move_not_allowed' },
});

const refuseText = (name: string, detail: string): Refusal =>
  refuse('validation_failed', 'The text cannot be sent so.', {
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  });

/** Seals a text of the buyer. */
const sealText = async (
  { vault }: Pick<Deps, 'vault'>,
  handoffId: string,
  text: string,
): Promise<string | Refusal> => (await vault.seal(handoffId, text)) ?? ERASED;

export const declineQuotation: HolderHandler<'declineQuotation', BuyerQuotation> = (
  deps,
  { hash, reason },
  holderCall,
) =>
  actOnQuotation(deps, holderCall, {
    event: 'QuotationDeclined',
    reply: 'declined',
    async command({ at, link: { number, handoff_id } }) {
      const entered = reason.trim() === '' ? undefined : declineReason.safeParse(reason);
      if (entered?.success === false)
        return refuseText('reason', 'must be one line of plain text of at most 500 characters');
      const sealed = entered && (await sealText(deps, handoff_id, entered.data));
      if (isRefusal(sealed)) return sealed;
      return issue({
        type: 'AnswerQuotation',
        at,
        number,
        hash,
        answer: 'declined',
        sealedReason: sealed,
      });
    },
  });

/** Whether the buyer asked the same last: a double click, or an impatient one. */
const isAskedAlready = async (
  { vault }: Pick<Deps, 'vault'>,
  stored: readonly StoredEvent[],
  { question, text }: { question: number; text: string },
): Promise<boolean> => {
  const asked = await questionsIn(vault, stored);
  return asked.some((one) => one.number === question && one.question === text);
};

/** Asks staff. A question with a number that was given, and another text, is a new one. */
export const askAboutQuotation: HolderHandler<'askAboutQuotation', BuyerQuotation> = (
  deps,
  { question: entered, text },
  holderCall,
) =>
  actOnQuotation(deps, holderCall, {
    event: 'QuotationQuestionAsked',
    reply: 'asked',
    async command({ at, state, stored, link: { number, handoff_id } }) {
      const read = quotationQuestion.safeParse(text);
      if (!read.success) return refuseText('text', 'must be plain text of 1 to 2,000 characters');
      const isRepeated = await isAskedAlready(deps, stored, { question: entered, text: read.data });
      const sealedQuestion = await sealText(deps, handoff_id, read.data);
      if (isRefusal(sealedQuestion)) return sealedQuestion;
      const question = isRepeated ? entered : (state.rfq?.questions ?? 0) + 1;
      return issue({ type: 'AskQuestion', at, number, question, sealedQuestion });
    },
  });
