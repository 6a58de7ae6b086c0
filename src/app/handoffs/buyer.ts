import type { z } from 'zod';
import { buyerContact, declineReason } from '#contracts/buyer/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import type { HandoffCommand, HandoffRejection } from '#src/domain/handoff.ts';
import type { RfqRejection } from '#src/domain/outcomes/rfq.ts';
import { handoff, isOpen } from '#src/domain/handoff.ts';
import { decideAndAppend, traceOf, type WithAppends } from '../events/decide-and-append.ts';
import { HANDOFF_PROBLEMS } from '../events/rejections.ts';
import { informLeads } from '../leads/observe-rfq.ts';
import { noticeOfRfq } from '../mail/staff-notices.ts';
import type { BuyerCall, Call } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { pointerOf } from '../pipeline/input-faults.ts';
import { done, type Outcome, type Refusal, refuse } from '../pipeline/outcome.ts';
import { deriveMailboxKeys } from '../privacy/mailbox-keys.ts';
import { streamOf } from '../records/streams.ts';
import type { Limiter } from '../limits/limiter.ts';
import { listCreator } from './create-list.ts';
import type { BuyerHandler, BuyerHandlers } from './buyer-handler.ts';
import {
  differencesFromCatalog,
  findHandoff,
  NO_LIST,
  type Review,
  reviewHandoff,
  makeReview,
} from './review.ts';
import { isOtherRequest, type List, withQuantities } from './entered-quantities.ts';

export const RFQ_CONSENT =
  'I ask for a quotation for this list, and agree that my contact is used to answer it.';

const REVISION_LIMITS = {
  revisions: LIMITS.HANDOFF_REVISIONS_MAX,
  lines: LIMITS.HANDOFF_REVISED_LINES_MAX,
};

type Awaitable<T> = T | Promise<T>;
type CommandFor = (
  state: HandoffState,
  call: Call,
) => Awaitable<HandoffCommand | WithAppends<HandoffCommand> | Refusal>;

/**
 * Runs one command of the buyer. Opens an unopened list first, by an append of its own; without a command it only
 * opens the list. A repeated command leaves the list as it is.
 */
const openThenRun = async (
  deps: Deps,
  call: BuyerCall,
  command?: CommandFor,
): Promise<Outcome<Review>> => {
  const row = await findHandoff(deps, call.caller.token);
  if (!row) return NO_LIST;
  const { owner: ownerId, handoff_id } = row;
  const { at } = call;
  const owned: Call = { ...call, ownerId };
  const next = () =>
    decideAndAppend(deps, owned, {
      stream: streamOf(ownerId, 'handoff', handoff_id),
      decider: handoff,
      command(current) {
        if (!current) return NO_LIST;
        if (!command || isUnopened(current, at)) return { type: 'OpenHandoff', at };
        return command(current, owned);
      },
    });
  let written = await next();
  if (command && written.ok && written.before && isUnopened(written.before, at))
    written = await next();
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  if (call.operation === 'submitRfq') await informLeads(deps, owned, handoff_id);
  return done(await makeReview(deps, { ownerId, state: written.state }), traceOf(written));
};

const isUnopened = (state: HandoffState, at: number): boolean =>
  state.status === 'awaiting_buyer' && isOpen(state, at);

/** With the rejection by name: the page has its own words for it. */
const conflictOf = (rejected: HandoffRejection): Refusal => {
  const why = (WHY as Partial<Record<HandoffRejection, string>>)[rejected];
  return why === undefined
    ? NO_LIST
    : refuse(HANDOFF_PROBLEMS[rejected], why, { extra: { rejected } });
};

/** `handoff_unknown`, and the rejections of commands that only staff give, have no text of their own. */
const WHY: Record<Exclude<HandoffRejection, 'handoff_unknown' | RfqRejection>, string> = {
  handoff_exists: 'The list exists.',
  handoff_closed: 'This list is closed; nothing was changed.',
  handoff_expired: 'This list has expired; nothing was changed.',
  list_changed: 'The list was changed in the meantime. Look at it again before you send it.',
  too_many_revisions:
    'The list was changed as often as it can be. Send it, decline it, or ask for a new one.',
  totals_changed:
    'The total of the list is not the one that was shown. Check it before you send it.',
};

/** The handoff was erased while the buyer filled in the form. */
const ERASED = refuse('state_conflict', WHY.handoff_closed);

const openHandoff: BuyerHandler<'openHandoff'> = (deps, _input, call) => openThenRun(deps, call);

const reviseList: BuyerHandler<'reviseList'> = (deps, { list_revision, quantities }, call) =>
  openThenRun(deps, call, (state, { at }) => {
    const list = withQuantities(deps.catalog, state, quantities);
    if ('faults' in list)
      return refuse('validation_failed', 'Some quantities are not valid.', { errors: list.faults });
    return {
      type: 'ReviseList',
      at,
      listRevision: list_revision,
      limits: REVISION_LIMITS,
      ...list,
    };
  });

const INVALID_REASON = refuse('validation_failed', 'The reason is not valid.', {
  errors: [{ pointer: '/reason', code: 'invalid', detail: 'one line of at most 500 characters' }],
});

const declineHandoff: BuyerHandler<'declineHandoff'> = (deps, { reason: entered }, call) =>
  openThenRun(deps, call, async (state, { at }) => {
    const reason = entered.trim();
    if (reason !== '' && !declineReason.safeParse(reason).success) return INVALID_REASON;
    if (reason === '' || !isOpen(state, at)) return { type: 'DeclineHandoff', at };
    const sealedReason = await deps.vault.seal(state.handoff_id, reason);
    return sealedReason === null ? ERASED : { type: 'DeclineHandoff', at, sealedReason };
  });

/**
 * Sends the list that the buyer saw, with the entered quantities: another revision is refused, and so is
 * another total than was shown. The contact is sealed before anything is stored.
 */
const submitRfq: BuyerHandler<'submitRfq'> = (deps, input, call) =>
  openThenRun(deps, call, async (state, owned) => {
    const { at } = owned;
    const { list_revision: listRevision, quantities, shown = state.totals } = input;
    if (state.status === 'rfq_submitted' && isOtherRequest(state, quantities))
      return refuse('state_conflict', 'The request was sent already, with other quantities.');
    const command = {
      type: 'SubmitRfq' as const,
      at,
      listRevision,
      consentText: RFQ_CONSENT,
      shown,
    };
    // A list that is closed, or not the one that was seen, is refused before its form is checked.
    if (!isOpen(state, at) || listRevision !== state.list_revision)
      return { ...command, contact: '', lines: state.lines, totals: state.totals, news: [] };
    const form = readForm(deps, state, input);
    if ('errors' in form)
      return refuse('validation_failed', 'Some fields are not valid; nothing was sent.', form);
    const { contact, list } = form;
    const sealed = await deps.vault.seal(state.handoff_id, JSON.stringify(contact));
    if (sealed === null) return ERASED;
    const { handoff_id } = state;
    const { lines, totals } = list;
    return {
      command: {
        ...command,
        contact: sealed,
        mailboxKeys: deriveMailboxKeys(deps.secrets, contact.email),
        ...list,
        news: newsOf(deps, list),
      },
      effects: await noticeOfRfq(deps, owned, { handoff_id, lines: lines.length, totals }),
    };
  });

type RfqInput = Parameters<BuyerHandler<'submitRfq'>>[1];

/** The list and the contact of a form that can be sent, or every fault of it. */
const readForm = (
  { catalog }: Pick<Deps, 'catalog'>,
  state: HandoffState,
  { quantities, contact: entered, consent }: RfqInput,
): { list: List; contact: z.output<typeof buyerContact> } | { errors: InputFault[] } => {
  const list = withQuantities(catalog, state, quantities);
  const contact = buyerContact.safeParse(entered);
  const errors: InputFault[] = 'faults' in list ? [...list.faults] : [];
  for (const { path, code, message } of contact.error?.issues ?? [])
    errors.push({ pointer: pointerOf(path), code, detail: message });
  if (!consent)
    errors.push({ pointer: '/consent', code: 'required', detail: 'tick it to send the request' });
  return 'faults' in list || !contact.success || errors.length > 0
    ? { errors }
    : { list, contact: contact.data };
};

/** The differences between the catalog and a list that is sent. */
const newsOf = ({ catalog }: Pick<Deps, 'catalog'>, { lines }: List) =>
  [...differencesFromCatalog(catalog, lines)].map(([line_id, now]) =>
    'withdrawn' in now
      ? { line_id, warnings: ['withdrawn'] }
      : {
          line_id,
          price: { amount: now.unit_price, currency: now.currency },
          warnings: now.warnings,
        },
  );

/** The handlers of buyers' operations, one line each. */
export const buyerHandlers = (lists: Limiter): BuyerHandlers => ({
  createList: listCreator(lists),
  reviewHandoff,
  openHandoff,
  reviseList,
  declineHandoff,
  submitRfq,
});
