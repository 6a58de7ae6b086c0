/** What the holder of a mailbox does behind the link that confirms an RFQ. The review link leads to none of it. */
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { informLeads } from '#src/leads/observe-rfq.ts';
import { mailToOwner } from '#src/owners/profile.ts';
import type { Append } from '#src/ports/event-log.ts';
import { ALL_RFQS, listBy, type RfqRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { liftRefusal } from '#src/sealing/suppression.ts';
import { noticeOfRfq, queueMail, blockMailbox } from '#src/sending/mail.ts';
import type { Call, HolderCall, SystemCall } from '#src/shared/call.ts';
import { writerOf } from '#src/shared/money.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { confirmationTokenOf, requestPath } from '#src/shared/signing.ts';
import { decideAndAppend, type Issued, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { handoffOf, streamOf } from '#src/writing/streams.ts';
import { type HandoffState, handoff, type HandoffCommand } from './handoff.decider.ts';
import { evidenceOf } from './evidence.ts';
import { contactOf, forgetDropped, listForLetter } from './render-handoff.ts';
import { conflictOf, findMailedLink, type MailedLink, makeReview, type Review } from './review.ts';
import {
  isRfqOutcome,
  isUnconfirmed,
  rfqConfirmedAt,
  rfqStateAt,
  type RfqProgress,
} from './rfq.decider.ts';

type NoticeDeps = Pick<Deps, 'log' | 'ids' | 'vault' | 'secrets' | 'staffMail' | 'readModels'>;

type Confirmed = { state: HandoffState; by: 'buyer' | 'staff'; byProgram?: boolean };

/**
 * Makes the appends of the messages about an RFQ that is confirmed now, by the buyer or by staff: to staff, to the owner, and
 * the buyer's receipt. Without a readable contact there is no receipt.
 */
export const noticesOfConfirmed = async (
  deps: NoticeDeps,
  call: Call,
  { state, by, byProgram = false }: Confirmed,
): Promise<Append[]> => {
  const { handoff_id, totals, rfq, rfqs_sent: number = 0 } = state;
  const facts = { handoff_id, lines: state.lines.length, totals };
  const evidence = rfq
    ? await evidenceOf(deps, {
        ownerId: call.ownerId,
        handoffId: handoff_id,
        rfq: by === 'buyer' ? rfqConfirmedAt(rfq, { at: call.at, byProgram }) : rfq,
        at: call.at,
      })
    : [];
  const toStaff = await noticeOfRfq(deps, call, { ...facts, evidence });
  const list = await listForLetter(deps, call.ownerId, state);
  const toOwner = await mailToOwner(deps, call, {
    kind: 'rfq_confirmed',
    record: handoff_id,
    facts: { ...facts, list },
  });
  const contact = await contactOf(deps, rfq);
  if (typeof contact !== 'object' || !rfq) return [...toStaff, ...toOwner];
  const token = confirmationTokenOf(deps.secrets, { handoffId: handoff_id, number });
  const toBuyer = await queueMail(deps, call, {
    kind: 'rfq_receipt',
    sealedFor: rfq.contact_subject,
    record: handoff_id,
    to: contact.email,
    facts: {
      ...facts,
      path: requestPath(token),
      locale: writerOf(state).locale,
      ...(by === 'buyer' && { list }),
    },
  });
  return [...toStaff, ...toOwner, ...toBuyer];
};

/** A sent RFQ as the holder of its mailbox sees it. */
export type BuyerRequest = {
  review: Review;
  /**
   * `waiting` for the confirmation; `over`, because it was not confirmed in time, was not sent by the holder of the mailbox,
   * or the list was closed; `replaced` by a later sending with a link of its own; `sent` to staff; `ended` with an outcome.
   */
  phase: 'waiting' | 'over' | 'replaced' | 'sent' | 'ended';
  /** The contact of the sending this link belongs to; undefined if that ended or was replaced, or its key is destroyed. */
  contact: Awaited<ReturnType<typeof contactOf>>;
};

const NO_REQUEST = refuse(
  'resource_not_found',
  'There is no such request. Check that the link is complete.',
);

const phaseOf = ({ rfq, rfqs_sent }: HandoffState, { number }: MailedLink, at: number) => {
  if (rfqs_sent !== number) return 'replaced';
  if (!rfq || (rfq.confirmation && !isUnconfirmed(rfq, at))) return 'over';
  if (rfq.confirmation) return 'waiting';
  return isRfqOutcome(rfqStateAt(rfq, at)) ? 'ended' : 'sent';
};

const makeRequest = async (
  deps: Deps,
  row: MailedLink,
  { state, at }: { state: HandoffState; at: number },
): Promise<BuyerRequest> => {
  const phase = phaseOf(state, row, at);
  const isOfLink = phase !== 'over' && phase !== 'replaced';
  return {
    review: await makeReview(deps, { ownerId: row.owner, state }),
    phase,
    contact: isOfLink ? await contactOf(deps, state.rfq) : undefined,
  };
};

/** Shows the request. It changes nothing, because mail scanners also open links. */
export const readRequest: HolderHandler<'readRequest', BuyerRequest> = async (
  deps,
  _input,
  call,
) => {
  const row = await findMailedLink(deps, call.caller.token, 'confirms');
  const state = row && (await handoffOf(deps, row.owner, row.handoff_id));
  return row && state ? done(await makeRequest(deps, row, { state, at: call.at })) : NO_REQUEST;
};

type Made = Issued<HandoffCommand> | Refusal;
type CommandFor = (
  state: HandoffState,
  of: { row: MailedLink; call: Call },
) => Made | Promise<Made>;

/** Runs one command of the mailbox's holder. A repeated command leaves the request as it is. */
const actOnRequest = async (
  deps: Deps,
  holderCall: HolderCall,
  command: CommandFor,
): Promise<Outcome<BuyerRequest>> => {
  const row = await findMailedLink(deps, holderCall.caller.token, 'confirms');
  if (!row) return NO_REQUEST;
  const { owner, handoff_id } = row;
  const call: Call = { ...holderCall, ownerId: owner };
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(owner, 'handoff', handoff_id),
    decider: handoff,
    command: (state) => (state ? command(state, { row, call }) : NO_REQUEST),
  });
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  await forgetDropped(deps, written);
  await informLeads(deps, call, handoff_id);
  return done(
    await makeRequest(deps, row, { state: written.state, at: call.at }),
    traceOf(written),
  );
};

/**
 * Confirms the request for the list that the page showed; its leads take note, and staff and the owner get notices. A person
 * who refused contact by the owner allows it with that.
 */
export const confirmRequest: HolderHandler<'confirmRequest', BuyerRequest> = async (
  deps,
  input,
  holderCall,
) => {
  const confirmed = await actOnRequest(deps, holderCall, (state, { row, call }) => {
    const { at } = call;
    const { number } = row;
    const byProgram = input.client === 'program';
    return issue(
      { type: 'ConfirmRfq', at, number, listRevision: input.list_revision, byProgram },
      { effects: () => noticesOfConfirmed(deps, call, { state, by: 'buyer', byProgram }) },
    );
  });
  if (!confirmed.ok) return confirmed;
  const { contact, review } = confirmed.value;
  if (typeof contact === 'object')
    await liftRefusal(deps, { ...holderCall, ownerId: review.ownerId }, contact.email);
  return confirmed;
};

/** Withdraws a request that staff have; the leads of the handoff are lost. */
export const withdrawRequest: HolderHandler<'withdrawRequest', BuyerRequest> = (
  deps,
  _input,
  holderCall,
) =>
  actOnRequest(deps, holderCall, (_state, { row, call }) =>
    issue({ type: 'WithdrawRfq', at: call.at, number: row.number }),
  );

/**
 * Ends a request that somebody else sent with this mailbox, and blocks such messages to it. The block comes first: only the
 * contact, which is erased with the request, names the mailbox.
 */
export const disownRequest: HolderHandler<'disownRequest', BuyerRequest> = (
  deps,
  _input,
  holderCall,
) =>
  actOnRequest(deps, holderCall, async (state, { row, call }) => {
    const isOfLink = state.rfqs_sent === row.number && state.rfq?.confirmation !== undefined;
    const contact = isOfLink ? await contactOf(deps, state.rfq) : undefined;
    const refusal =
      typeof contact === 'object' ? await blockMailbox(deps, call, contact.email) : undefined;
    return refusal ?? issue({ type: 'DisownRfq', at: call.at, number: row.number });
  });

type ExpiryDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'readModels' | 'vault'>;

const PAGE_ROWS = 100;

/**
 * Ends the RFQs whose confirmation is over, and destroys the keys of their contacts; answers how many. Reads the rows of
 * all unconfirmed RFQs. The signal of the caller stops it between two of them. Throws what the log and the read model
 * throw; the next run continues.
 */
export const expireConfirmations = async (deps: ExpiryDeps, call: SystemCall): Promise<number> => {
  let expired = 0;
  const query = { scope: ALL_RFQS, list: listBy({ state: 'unconfirmed' }), limit: PAGE_ROWS };
  for await (const page of listing<RfqRow<RfqProgress>>(deps.readModels, 'rfqs', query))
    for (const { row } of page) {
      const { owner: ownerId, handoff_id, rfq } = row;
      if (call.signal.aborted) return expired;
      if ((rfq.confirmation?.until ?? Infinity) > call.at) continue;
      const written = await decideAndAppend(
        deps,
        { ...call, ownerId },
        {
          stream: streamOf(ownerId, 'handoff', handoff_id),
          decider: handoff,
          command: () => issue({ type: 'ExpireConfirmation' as const, at: call.at }),
        },
      );
      if (!written.ok || written.position === undefined) continue;
      await forgetDropped(deps, written);
      expired += 1;
    }
  return expired;
};
