/** The buyer sends an RFQ; a link by mail asks to confirm it. */
import { type BuyerContact, buyerContact } from '#contracts/handoffs/operations.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import {
  isSameQuantities,
  type HandoffState,
  isOpen,
  type ReviewState,
} from './handoff.decider.ts';
import { type Limiter, networkOf } from '#src/calls/limits.ts';
import { queueMail } from '#src/sending/mail.ts';
import { pointerOf } from '#src/calls/input.ts';
import type { Call } from '#src/shared/call.ts';
import { writerOf } from '#src/shared/money.ts';
import { refuse } from '#src/shared/outcome.ts';
import { deriveMailboxKeys } from '#src/sealing/suppression.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { DAY_MS, MINUTE_MS } from '#src/shared/time.ts';
import {
  actOnList,
  ERASED_LIST,
  isOtherRequest,
  type EnteredList,
  withQuantities,
  differencesFromCatalog,
  type Review,
} from './review.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { relateContact } from './evidence.ts';
import { contactSubjectOf } from './render-handoff.ts';
import { confirmationTokenOf, requestPath, reviewTokenHash } from '#src/shared/signing.ts';
import { issue } from '#src/writing/decide-and-append.ts';

const CONFIRMATION_MS = LIMITS.CONFIRMATION_DAYS * DAY_MS;
/** Within this time, the same form again is a repetition: a double click, or an impatient one. */
const REPETITION_MS = LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS;

const TOO_MANY = 'The network has sent as many requests as it can in a day.';

/** Of a command that appends nothing. */
const UNSTORED = {
  mailboxKeys: { address: '', mailbox: '' },
  seen: { named: 'nobody' as const },
  news: [],
};

/**
 * Makes a handler that sends the list that the buyer saw, with the entered quantities, within a limit for each network
 * address: another revision is refused, and so is another total than was shown. The contact is sealed before anything is
 * stored. The RFQ waits for its confirmation, and whatever the mailbox is, a message to it is queued: its limits are
 * checked when the message is sent, so that neither the page nor its delay depends on the mailbox.
 */
export const rfqSubmitter =
  (limit: Pick<Limiter, 'take'>): HolderHandler<'submitRfq', Review> =>
  (deps, input, call) => {
    const commandFor = async (state: ReviewState, owned: Call) => {
      const { at } = owned;
      const { handoff_id } = state;
      const { list_revision: listRevision, quantities, shown = state.totals } = input;
      if (state.status === 'rfq_submitted' && isOtherRequest(state, quantities))
        return refuse('state_conflict', 'The request was sent already, with other quantities.');
      const { token, until, ...sending } = nextSending(deps, state, at);
      const command = { type: 'SubmitRfq' as const, at, listRevision, ...sending, shown };
      const form = readForm(deps, state, input);
      const repeated =
        'errors' in form ? undefined : await repeatedContact(deps, state, { ...form, at });
      // A list that is closed, or not the one that was seen, is refused before its form is checked.
      if (repeated || !isOpen(state, at) || listRevision !== state.list_revision) {
        const { lines, totals } = state;
        return issue({ ...command, ...UNSTORED, contact: repeated ?? '', lines, totals });
      }
      if ('errors' in form)
        return refuse('validation_failed', 'Some fields are not valid; nothing was sent.', form);
      const { contact, list } = form;
      const verdict = limit.take(networkOf(input.address));
      if (!verdict.allowed)
        return refuse('rate_limited', TOO_MANY, {
          retryAfterS: verdict.retryAfterS,
          extra: { rejected: 'network_full' },
        });
      const sealed = await deps.vault.seal(sending.contactSubject, JSON.stringify(contact));
      if (sealed === null) return ERASED_LIST;
      const { lines, totals } = list;
      const related = await relateContact(deps, owned.ownerId, { state, email: contact.email });
      const letter = {
        kind: 'rfq_confirmation' as const,
        sealedFor: sending.contactSubject,
        record: handoff_id,
        to: contact.email,
        facts: {
          path: requestPath(token),
          lines: lines.length,
          totals,
          until,
          locale: writerOf(state).locale,
        },
      };
      return issue(
        {
          ...command,
          contact: sealed,
          mailboxKeys: deriveMailboxKeys(deps.secrets, contact.email),
          ...list,
          news: newsOf(deps, list),
          seen: { ...related, ...(input.client === 'program' && { by_program: true as const }) },
        },
        { effects: () => queueMail(deps, owned, letter) },
      );
    };
    return actOnList(deps, call, commandFor, input.client);
  };

/** The parts of the next sending of a list that its number and its time decide, with the token of its mailed link. */
const nextSending = ({ secrets }: Pick<Deps, 'secrets'>, state: HandoffState, at: number) => {
  const { handoff_id: handoffId, rfqs_sent = 0, expires_at } = state;
  const number = rfqs_sent + 1;
  const token = confirmationTokenOf(secrets, { handoffId, number });
  const until = Math.min(at, expires_at) + CONFIRMATION_MS;
  return {
    token,
    until,
    contactSubject: contactSubjectOf(handoffId, number),
    confirmation: { tokenHash: reviewTokenHash(token), until },
    // In the language in which the page shows it.
    consentText: writerOf(state).say('consent'),
  };
};

/** The sealed contact, if the same list was sent a moment ago with the same contact; otherwise undefined. */
const repeatedContact = async (
  { vault }: Pick<Deps, 'vault'>,
  { rfq, sent_at = 0, lines }: ReviewState,
  { contact, list, at }: { contact: BuyerContact; list: EnteredList; at: number },
): Promise<string | undefined> => {
  if (!rfq?.confirmation || !isSameQuantities(list.lines, lines)) return undefined;
  if (at >= sent_at + REPETITION_MS) return undefined;
  const before = await openOne(vault, rfq.contact);
  return before === JSON.stringify(contact) ? rfq.contact : undefined;
};

type RfqInput = Parameters<HolderHandler<'submitRfq', Review>>[1];

/** The list and the contact of a form that can be sent, or every fault of it. */
const readForm = (
  { catalog }: Pick<Deps, 'catalog'>,
  state: HandoffState,
  { quantities, contact: entered, consent }: RfqInput,
): { list: EnteredList; contact: BuyerContact } | { errors: InputFault[] } => {
  const list = withQuantities(catalog, state, { entered: quantities });
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

const newsOf = ({ catalog }: Pick<Deps, 'catalog'>, { lines }: EnteredList) =>
  [...differencesFromCatalog(catalog, lines)].map(([line_id, now]) =>
    'withdrawn' in now
      ? { line_id, warnings: ['withdrawn'] }
      : {
          line_id,
          price: { amount: now.unit_price, currency: now.currency },
          warnings: now.warnings,
        },
  );
