/** What staff do with an RFQ: moves, corrections, and the approval of a second person. */
import type { EventOf, EventType, HandoffEventType } from '#contracts/registries/events.ts';
import { actorOfLast, refuseDependent } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { countedLead, informLeads, leadWonAlone, readTiedLeads } from '#src/leads/observe-rfq.ts';
import { mailToOwner } from '#src/owners/profile.ts';
import type { Append, StoredEvent } from '#src/ports/event-log.ts';
import { ALL_RFQS } from '#src/ports/rows.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import type { Call, DeskCall } from '#src/shared/call.ts';
import { type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { quotationTokenOf, reviewTokenHash } from '#src/shared/signing.ts';
import { iso } from '#src/shared/time.ts';
import { type Issued, issue, changeRecord } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { streamOf } from '#src/writing/streams.ts';
import { noticesOfConfirmed } from './confirm-rfq.ts';
import { type HandoffState, handoff, type HandoffCommand, isOpen } from './handoff.decider.ts';
import { forgetDropped, listForLetter } from './render-handoff.ts';
import type { GoodsCommand } from './fulfillment.decider.ts';
import { lettersAboutGoods, mailToBuyer } from './quotation-letters.ts';
import { type RfqMove, type RfqCommand, type RfqProgress, rfqStateAt } from './rfq.decider.ts';

type RfqRef = { handoff_id: string; owner_id?: string | undefined };

const NO_HANDOFF = refuse('resource_not_found', 'There is no such handoff.');
export const ERASED_RFQ = refuse(
  'state_conflict',
  'The handoff was erased, so no text about it can be stored: move it without a reason.',
);

const NO_REASON = refuse('validation_failed', 'An RFQ is confirmed with a reason only.', {
  errors: [{ pointer: '/reason', code: 'required', detail: 'how you know the buyer' }],
});

/** Finds the owner of an RFQ; undefined unless the caller may act for that owner. */
export const rfqOwner = (
  deps: Pick<Deps, 'log' | 'readModels'>,
  call: DeskCall,
  { owner_id, handoff_id: id }: RfqRef,
): Promise<string | undefined> =>
  ownerFor(deps, call, { owner_id, listed: ['rfqs', ALL_RFQS], kind: 'handoff', id });

/** A move as it is shown, without its reason. */
export const renderMove = ({ to, values, offer, returned, is_correction }: RfqMove) => ({
  to,
  ...present({ values, valid_until: offer && iso(offer.valid_until), returned }),
  is_correction: is_correction === true,
});

type Event = EventOf<HandoffEventType>;
type Command = RfqCommand | GoodsCommand | Extract<HandoffCommand, { type: 'ConfirmByStaff' }>;

type Change = {
  ref: RfqRef;
  reason: string | undefined;
  /** The text that the buyer gets, if the command answers a question. */
  answer?: string;
  /** `sealedReason` is undefined without a reason. */
  command(
    made: {
      counted: string | undefined;
      sealedReason: string | undefined;
      state: HandoffState | undefined;
    },
    stored: readonly StoredEvent[],
  ): Issued<Command> | Refusal | Promise<Issued<Command> | Refusal>;
};

/** Runs a command on an RFQ, then gives its outcome to the leads of the handoff, also when the call is a repetition. */
export const changeRfq = async <Value = ReturnType<typeof renderState>>(
  deps: Deps,
  call: DeskCall,
  { ref, reason, answer, command }: Change,
  render: (ownerId: string, state: HandoffState) => Value = renderState as never,
): Promise<Outcome<Value>> => {
  const { handoff_id } = ref;
  const ownerId = await rfqOwner(deps, call, ref);
  if (ownerId === undefined) return NO_HANDOFF;
  const leads = await readTiedLeads(deps, ownerId, handoff_id);
  const wonAlone = leadWonAlone(leads);
  const changed = await changeRecord(deps, call, {
    ownerId,
    stream: streamOf(ownerId, 'handoff', handoff_id),
    decider: handoff,
    async command(state, stored) {
      if (state?.rfq && wonAlone) return refuseWonAlone(wonAlone.lead_id);
      const sealedReason =
        state?.rfq && reason !== undefined ? await deps.vault.seal(handoff_id, reason) : undefined;
      if (sealedReason === null) return ERASED_RFQ;
      const counted = state?.rfq && countedLead(leads, state.rfq.submitted_at);
      const made = await command({ counted, sealedReason, state }, stored);
      if (!made.ok || !state) return made;
      return issue<HandoffCommand>(made.command, {
        effects: async (events: readonly Event[]) => {
          const owned = { ...call, ownerId };
          const notices = events.map((event) =>
            noticesOfMove(deps, owned, { state, event, answer }),
          );
          const ofGoods = lettersAboutGoods(deps, owned, { state, events });
          return (await Promise.all([...notices, ofGoods])).flat();
        },
      });
    },
    refusal: (rejection) => refuseRejected(rejection, NO_HANDOFF),
    render: (state) => render(ownerId, state),
  });
  if (changed.ok) await informLeads(deps, { ...call, ownerId }, handoff_id);
  return changed;
};

/** Whether the buyer has a quotation that they can answer, or have agreed to. */
const isAnswerable = (rfq: RfqProgress, at: number): boolean => {
  const state = rfqStateAt(rfq, at);
  return state === 'quoted' || state === 'agreed';
};

/** Makes the appends of the messages about an event, to the owner and to the buyer; of most events none. */
const noticesOfMove = async (
  deps: Deps,
  call: Call,
  { state, event, answer = '' }: { state: HandoffState; event: Event; answer?: string | undefined },
): Promise<Append[]> => {
  const { handoff_id, rfq } = state;
  switch (event.type) {
    case 'RfqConfirmedByStaff':
      return noticesOfConfirmed(deps, call, { state, by: 'staff' });
    case 'RfqQuoted': {
      const { number, values, valid_until: until } = event.data;
      const voids = rfq?.quote && { number: rfq.quote.number, agreed: rfq.state === 'agreed' };
      const facts = { number, values, until, ...present({ voids }) };
      return mailToBuyer(deps, call, { state, number, kind: 'rfq_quotation', facts });
    }
    case 'RfqTakenUp': {
      const number = rfq?.quote?.number ?? 0;
      return rfq?.quote && isAnswerable(rfq, call.at)
        ? mailToBuyer(deps, call, { state, number, kind: 'rfq_quotation_void', facts: { number } })
        : [];
    }
    case 'QuotationQuestionAnswered': {
      const number = rfq?.quote?.number ?? 0;
      return mailToBuyer(deps, call, { state, number, kind: 'rfq_answer', facts: { answer } });
    }
    case 'RfqWon':
      return mailToOwner(deps, call, {
        kind: 'rfq_won',
        record: handoff_id,
        facts: {
          handoff_id,
          values: event.data.values,
          list: await listForLetter(deps, call.ownerId, state),
        },
      });
    default:
      return [];
  }
};

const refuseWonAlone = (leadId: string): Refusal =>
  refuse(
    'state_conflict',
    `The lead ${leadId} of this handoff was won by itself, and the RFQ has its outcome: correct the lead with correctLead.`,
  );

/** The newest quotation as it is named. */
export const renderQuotation = ({ quote }: RfqProgress) =>
  quote && { ...quote, valid_until: iso(quote.valid_until) };

export const renderState = (owner_id: string, { handoff_id, rfq }: HandoffState) => {
  if (!rfq) throw new Error(`${handoff_id} has no RFQ`);
  const { state, proposed, alone } = rfq;
  const shown = proposed && { number: proposed.number, ...renderMove(proposed) };
  const quotation = renderQuotation(rfq);
  return { id: handoff_id, owner_id, state, ...present({ quotation, alone, proposed: shown }) };
};

const move = (
  deps: Deps,
  call: DeskCall,
  {
    ref,
    reason,
    named,
    ...asked
  }: Omit<RfqMove, 'sealed_reason'> &
    Pick<Change, 'ref' | 'reason'> & { named?: number | undefined },
) =>
  changeRfq(deps, call, {
    ref,
    reason,
    command: ({ counted, sealedReason }) =>
      issue({
        type: 'MoveRfq',
        at: call.at,
        move: { ...asked, ...present({ sealed_reason: sealedReason }) },
        named,
        approval: deps.approval,
        countedLead: counted,
      }),
  });

export const moveRfq: DeskHandler<'moveRfq'> = async (deps, input, call) => {
  const { to, quotation, reason, ...ref } = input;
  if (to === 'confirmed')
    return reason === undefined
      ? NO_REASON
      : changeRfq(deps, call, {
          ref,
          reason,
          command: ({ sealedReason = '' }) => issue({ type: 'ConfirmByStaff', sealedReason }),
        });
  return move(deps, call, { ref, reason, to, named: quotation });
};

export const correctRfq: DeskHandler<'correctRfq'> = (deps, input, call) => {
  const { to, values, reason, ...ref } = input;
  return move(deps, call, { ref, reason, to, is_correction: true, ...present({ values }) });
};

/** The hash of the token in the link that shows the next quotation. */
export const nextTokenHash = (
  { secrets }: Pick<Deps, 'secrets'>,
  handoffId: string,
  rfq: RfqProgress | undefined,
): string => {
  const number = (rfq?.quote?.number ?? 0) + 1;
  return reviewTokenHash(quotationTokenOf(secrets, { handoffId, number }));
};

const PROPOSED = ['RfqMoveProposed'] as const satisfies readonly EventType[];

export const approveRfqMove: DeskHandler<'approveRfqMove'> = (deps, input, call) => {
  const { proposal, ...ref } = input;
  return changeRfq(deps, call, {
    ref,
    reason: undefined,
    command: async ({ counted, state }, stored) =>
      (await refuseDependent(deps, call, { askers: actorOfLast(stored, PROPOSED) })) ??
      issue({
        type: 'ApproveRfqMove',
        at: call.at,
        proposal,
        countedLead: counted,
        tokenHash: nextTokenHash(deps, ref.handoff_id, state?.rfq),
      }),
  });
};

export const refuseRfqMove: DeskHandler<'refuseRfqMove'> = (deps, input, call) => {
  const { proposal, reason, ...ref } = input;
  return changeRfq(deps, call, {
    ref,
    reason,
    command: ({ sealedReason = '' }) =>
      issue({
        type: 'RefuseRfqMove',
        at: call.at,
        proposal,
        sealedReason,
      }),
  });
};

const ERASED_HANDOFF = refuse('state_conflict', 'The handoff was erased.');

const closeHandoff =
  (
    type: 'WithdrawHandoff' | 'InvalidateHandoff',
  ): DeskHandler<'withdrawHandoff' | 'invalidateHandoff'> =>
  async (deps, { handoff_id, owner_id: ownerId, reason }, call) => {
    if (!mayActFor(call, ownerId)) return NO_HANDOFF;
    let before: HandoffState | undefined;
    const closed = await changeRecord(deps, call, {
      ownerId,
      stream: streamOf(ownerId, 'handoff', handoff_id),
      decider: handoff,
      async command(state) {
        before = state;
        const { at } = call;
        if (!state || !isOpen(state, at)) return issue({ type, at, sealedReason: '' });
        const sealedReason = await deps.vault.seal(handoff_id, reason);
        return sealedReason === null ? ERASED_HANDOFF : issue({ type, at, sealedReason });
      },
      refusal: (rejection) => refuseRejected(rejection, NO_HANDOFF),
      render: (state) => state,
    });
    if (!closed.ok) return closed;
    const { value: state } = closed;
    await forgetDropped(deps, { before, state });
    return { ...closed, value: { id: handoff_id, owner_id: ownerId, state: state.status } };
  };

export const withdrawHandoff: DeskHandler<'withdrawHandoff'> = closeHandoff('WithdrawHandoff');

export const invalidateHandoff: DeskHandler<'invalidateHandoff'> =
  closeHandoff('InvalidateHandoff');
