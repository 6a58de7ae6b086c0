/** A handoff: its list, the buyer's changes, and the RFQ from sending to confirmation. */
import type {
  EventData,
  EventOf,
  GoodsEventType,
  RfqEventType,
  Happened,
  HandoffEventType,
} from '#contracts/registries/events.ts';
import {
  accept,
  type Decision,
  reject,
  nextVersion,
  type Decider,
  firstVersion,
  type RecordVersion,
  asStored,
} from '#src/shared/decider.ts';
import { present } from '#src/shared/json.ts';
import {
  eraseRfq,
  isRfqOutcome,
  isUnconfirmed,
  foldRfq,
  isConfirmed,
  RFQ_EVENTS_SHOWN,
  sentRfq,
  decideRfq,
  isRfqCommand,
  type RfqCommand,
  type RfqRejection,
  isOfRfq,
  type RfqProgress,
} from './rfq.decider.ts';
import {
  decideApprovedReturn,
  decideGoods,
  eraseGoods,
  foldGoods,
  type Goods,
  goodsAfter,
  type GoodsCommand,
  type GoodsRejection,
  isGoodsCommand,
  isOfGoods,
  rejectWithGoodsOut,
} from './fulfillment.decider.ts';
import { offerIn, type Quotation } from './quotation.decider.ts';
import { foldWorth, pinLines, valuedLines, type Worth } from './worth.decider.ts';

type Lines = EventData<'HandoffCreated'>['lines'];
type Totals = EventData<'HandoffCreated'>['totals'];
type ListChange = Omit<EventData<'HandoffListRevisedByBuyer'>, 'totals'>;
type LineNews = NonNullable<EventData<'RfqSubmittedByBuyer'>['news']>[number];

/** How often a list can be changed, and how many lines all changes together can contain. */
type RevisionLimits = { revisions: number; lines: number };

/** The difference between two lists. Lines of `before` have the same order in `after`. */
const differenceOf = (
  before: Lines,
  after: Lines,
): Pick<ListChange, 'changed' | 'removed' | 'added'> => {
  const linesBefore = new Map(before.map((line) => [line.line_id, line]));
  const idsAfter = new Set(after.map(({ line_id }) => line_id));
  const added = after.filter(({ line_id }) => !linesBefore.has(line_id));
  const changed = after.filter((line) => {
    const other = linesBefore.get(line.line_id);
    return other && !isSameLine(line, other);
  });
  const removed = before.flatMap(({ line_id }) => (idsAfter.has(line_id) ? [] : [line_id]));
  return {
    ...(changed.length > 0 && { changed }),
    ...(removed.length > 0 && { removed }),
    ...(added.length > 0 && { added }),
  };
};

/** Applies a change to the list. A line that is put back gets its earlier place. */
const applyChange = (state: HandoffState, change: ListChange): Partial<HandoffState> => {
  const { changed = [], removed, added = [] } = change;
  const removedIds = new Set(removed);
  const changedLines = new Map(changed.map((line) => [line.line_id, line]));
  const kept = state.lines
    .filter(({ line_id }) => !removedIds.has(line_id))
    .map((line) => changedLines.get(line.line_id) ?? line);
  return {
    lines:
      added.length === 0
        ? kept
        : [...kept, ...added].sort((a, b) => Number(a.line_id) - Number(b.line_id)),
    list_revision: state.list_revision + 1,
    lines_revised: (state.lines_revised ?? 0) + changed.length + added.length,
  };
};

/** Whether the list has reached its limits. They bound the cost of reading it, which reads all its changes. */
const isRevisionLimitReached = (
  { list_revision, lines_revised = 0 }: HandoffState,
  limits: RevisionLimits,
): boolean => list_revision > limits.revisions || lines_revised >= limits.lines;

/** The list with the warnings and prices that the catalog had when the RFQ was sent. */
export const withNews = (lines: HandoffLine[], news: readonly LineNews[]): HandoffLine[] => {
  const newsByLine = new Map(news.map((one) => [one.line_id, one]));
  return lines.map((line) => {
    const lineNews = newsByLine.get(line.line_id);
    if (!lineNews) return line;
    const { price, warnings } = lineNews;
    const isOtherPrice = price?.amount !== line.unit_price || price.currency !== line.currency;
    return { ...line, warnings, ...(price && isOtherPrice && { price_when_sent: price }) };
  });
};

/** Whether two totals are equal, in whatever order. Each contains a currency once. */
export const isSameTotals = (a: Totals, b: Totals): boolean =>
  a.length === b.length &&
  a.every(({ amount, currency }) =>
    b.some((other) => other.currency === currency && other.amount === amount),
  );

export const isSameQuantities = (a: Lines, b: Lines): boolean =>
  a.length === b.length &&
  a.every((line, i) => line.line_id === b[i]?.line_id && line.quantity === b[i]?.quantity);

const COMPARED_MEMBERS = [
  'product_id',
  'sku',
  'title',
  'product_revision',
  'category',
  'quantity',
  'unit_price',
  'tier_min_quantity',
  'currency',
] as const satisfies readonly (keyof Lines[number])[];

const isSameLine = (line: Lines[number], other: Lines[number]): boolean =>
  COMPARED_MEMBERS.every((name) => line[name] === other[name]) &&
  (line.warnings ?? []).join() === (other.warnings ?? []).join();

/** Removes every text about a person from the state, and ends an open review or RFQ. */
const eraseHandoff = (state: HandoffState, at: number): Partial<HandoffState> => {
  const { email: _erased, ...buyer } = state.buyer;
  const isUndecided = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    buyer,
    erased: true,
    sealed_line_notes: undefined,
    ...(state.sealed_note_to_buyer && { sealed_note_to_buyer: '' }),
    ...(state.sealed_reason && { sealed_reason: '' }),
    ...(isUndecided && { status: 'withdrawn', status_reason: 'erased' }),
    ...(state.rfq && { rfq: erasedRfq(state.rfq, at) }),
    ...(state.goods && { goods: eraseGoods(state.goods) }),
  };
};

/** An RFQ that was not confirmed is none. */
const erasedRfq = (rfq: NonNullable<HandoffState['rfq']>, at: number): HandoffState['rfq'] =>
  rfq.confirmation
    ? undefined
    : {
        ...eraseRfq(rfq, at),
        contact: '',
        contact_subject: rfq.contact_subject,
        submitted_at: rfq.submitted_at,
        ...(rfq.quotation && { quotation: withoutTexts(rfq.quotation) }),
      };

const withoutTexts = ({ sealed_texts, ...quotation }: Quotation): Quotation =>
  sealed_texts === undefined ? quotation : { ...quotation, sealed_texts: '' };

type RfqEvent = EventOf<RfqEventType>;

/** The reason of a withdrawal, as staff see it. */
const WITHDRAWN_BY_BUYER = 'withdrawn_by_buyer';

/** `number` is that of the sending whose link was opened; `listRevision` is the list that its page showed. */
type ConfirmationCommand =
  | { type: 'ConfirmByStaff'; sealedReason: string }
  | { type: 'ConfirmRfq'; at: number; number: number; listRevision: number; byProgram?: boolean }
  | { type: 'DisownRfq'; at: number; number: number }
  | { type: 'WithdrawRfq'; at: number; number: number }
  | { type: 'ExpireConfirmation'; at: number };

const isConfirmationCommand = (command: { type: string }): command is ConfirmationCommand =>
  command.type === 'ConfirmByStaff' ||
  command.type === 'ConfirmRfq' ||
  command.type === 'DisownRfq' ||
  command.type === 'WithdrawRfq' ||
  command.type === 'ExpireConfirmation';

type ConfirmationRejection =
  | 'rfq_unsent'
  | 'rfq_move_not_allowed'
  | 'link_replaced'
  | 'confirmation_over'
  | 'list_changed';

type DroppedReference = Omit<
  Extract<RfqEvent, { type: 'RfqDropped' }>['data'],
  'contact_subject' | 'reason'
>;
type ConfirmationDecision = Decision<RfqEvent, ConfirmationRejection>;

const dropRfq = (
  { rfq }: HandoffState,
  reference: DroppedReference,
  reason: Extract<RfqEvent, { type: 'RfqDropped' }>['data']['reason'],
): RfqEvent[] =>
  rfq?.confirmation
    ? [{ type: 'RfqDropped', data: { ...reference, contact_subject: rfq.contact_subject, reason } }]
    : [];

type Sent = NonNullable<HandoffState['rfq']>;

const confirmed = (
  { totals, lines }: HandoffState,
  { submitted_at }: Sent,
  reference: DroppedReference,
) => ({ ...reference, totals, lines: valuedLines(lines), submitted_at });

/** Decides on a confirmation, on what the holder of the mailbox does otherwise, and on the end of the time for it. */
const decideConfirmation = (
  state: HandoffState,
  command: ConfirmationCommand,
  reference: DroppedReference,
): ConfirmationDecision => {
  const { rfq } = state;
  if (command.type === 'ExpireConfirmation')
    return rfq?.confirmation && command.at >= rfq.confirmation.until
      ? accept({
          type: 'RfqConfirmationExpired',
          data: { ...reference, contact_subject: rfq.contact_subject },
        })
      : accept();
  if (command.type === 'ConfirmByStaff')
    return confirmByStaff(state, command.sealedReason, reference);
  const { at, number } = command;
  if (number !== state.rfqs_sent)
    return reject('link_replaced', 'the list was sent again, with another link');
  if (command.type === 'DisownRfq')
    return rfq?.confirmation || !rfq
      ? accept(...dropRfq(state, reference, 'disowned'))
      : reject('confirmation_over', `the RFQ is ${rfq.state}`);
  if (command.type === 'WithdrawRfq') return withdraw(state, reference);
  if (rfq && !rfq.confirmation) return accept();
  if (!rfq || !isUnconfirmed(rfq, at))
    return reject('confirmation_over', 'the request was not confirmed in time, or has ended');
  return command.listRevision === state.list_revision
    ? accept({
        type: 'RfqConfirmedByBuyer',
        data: {
          ...confirmed(state, rfq, reference),
          mailbox: rfq.seen.mailbox,
          ...(command.byProgram && { by_program: true as const }),
        },
      })
    : reject('list_changed', `the list is now at revision ${state.list_revision}`);
};

const confirmByStaff = (
  state: HandoffState,
  sealed_reason: string,
  reference: DroppedReference,
): ConfirmationDecision => {
  const { rfq } = state;
  if (!rfq) return reject('rfq_unsent', 'the buyer has sent no RFQ of this handoff');
  if (rfq.confirmation)
    return accept({
      type: 'RfqConfirmedByStaff',
      data: { ...confirmed(state, rfq, reference), sealed_reason },
    });
  return rfq.state === 'confirmed'
    ? accept()
    : reject('rfq_move_not_allowed', `an RFQ that is ${rfq.state} cannot become confirmed`);
};

/** By the buyer; without the limits of what staff may do. */
const withdraw = ({ rfq }: HandoffState, reference: DroppedReference): ConfirmationDecision => {
  if (!rfq || rfq.confirmation)
    return reject('confirmation_over', 'there is no confirmed request to withdraw');
  if (rfq.state === 'withdrawn') return accept();
  return isRfqOutcome(rfq.state)
    ? reject('rfq_move_not_allowed', `the RFQ is ${rfq.state}`)
    : accept({ type: 'RfqWithdrawn', data: { ...reference, reason: WITHDRAWN_BY_BUYER } });
};

type Submitted = EventData<'RfqSubmittedByBuyer'>;
type PricedList = Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'>;

type SubmitRfq = PricedList & {
  type: 'SubmitRfq';
  at: number;
  listRevision: number;
  contact: string;
  contactSubject: string;
  mailboxKeys: Submitted['mailbox_keys'];
  /** The hash of the secret in the link that confirms it, and when that link ends, in epoch milliseconds. */
  confirmation: { tokenHash: string; until: number };
  consentText: string;
  /** The totals that the buyer's page showed. */
  shown: PricedList['totals'];
  news: NonNullable<Submitted['news']>;
  seen: Pick<Submitted['seen'], 'named' | 'is_promoters' | 'by_program'>;
};

type Reference = Pick<Submitted, 'handoff_id' | 'agent_id' | 'dims' | 'link_id'>;

/** `isSaved`: the sent quantities are those of the list; otherwise an event before this one saves them. */
const rfqSubmitted = (
  state: HandoffState,
  command: SubmitRfq,
  { isSaved, ...reference }: Reference & { isSaved: boolean },
): EventOf<'RfqSubmittedByBuyer'> => {
  const { contact, contactSubject, confirmation, consentText, news, listRevision } = command;
  return {
    type: 'RfqSubmittedByBuyer',
    data: {
      ...reference,
      contact,
      contact_subject: contactSubject,
      mailbox_keys: command.mailboxKeys,
      confirmation: {
        number: (state.rfqs_sent ?? 0) + 1,
        token_hash: confirmation.tokenHash,
        until: confirmation.until,
        ...(state.rfq && { first_at: state.rfq.submitted_at }),
      },
      consent_text: consentText,
      ...(news.length > 0 && { news }),
      seen: seenOf(state, command.seen),
      list_revision: isSaved ? listRevision : listRevision + 1,
      totals: isSaved ? state.totals : command.totals,
    },
  };
};

/** A list that a browser opened was not sent by a program alone. */
const seenOf = (
  { created_at, delivered_at, opened_by_program }: HandoffState,
  { by_program, ...seen }: SubmitRfq['seen'],
): Submitted['seen'] => ({
  ...seen,
  ...(delivered_at !== undefined && { is_delivered: true }),
  created_at,
  ...(by_program && opened_by_program && { by_program }),
});

/** The members that the sending sets. Until the RFQ is confirmed, the list stays in review. */
const submittedRfq = (
  { lines }: HandoffState,
  { data, at }: Happened<'RfqSubmittedByBuyer'>,
): Partial<HandoffState> => {
  const { contact, contact_subject, confirmation, news = [] } = data;
  return {
    status: 'in_review',
    lines: withNews(
      lines.map(({ price_when_sent: _before, ...line }) => line),
      news,
    ),
    rfqs_sent: confirmation.number,
    rfq: {
      ...sentRfq(data, at),
      contact,
      contact_subject,
      submitted_at: confirmation.first_at ?? at,
    },
  };
};

const evolveRfq = (state: HandoffState, event: Happened<RfqEventType>): HandoffState => {
  const { rfq: before, ...list } = state;
  if (!before) throw new Error(`${event.type} on a handoff without an RFQ`);
  const { contact, contact_subject, submitted_at } = before;
  const rfq = foldRfq(before, event);
  if (!rfq) return list;
  const quotation =
    event.type === 'RfqQuoted'
      ? { ...offerIn(event.data), number: event.data.number, hash: event.data.hash }
      : before.quotation;
  return asStored({
    ...list,
    ...(isConfirmed(event) && { status: 'rfq_submitted' }),
    rfq: { ...rfq, contact, contact_subject, submitted_at, ...(quotation && { quotation }) },
    worth: foldWorth(list.worth, event),
    goods: goodsAfter(list.goods, event, before.quotation?.lines ?? list.lines),
    ...(RFQ_EVENTS_SHOWN[event.type] && nextVersion(state, event.at)),
  });
};

type Event = EventOf<HandoffEventType>;

/** What an agent changes of a list that its buyer has not seen. */
export type Revision = Pick<
  EventData<'HandoffRevisedByAgent'>,
  'title' | 'sealed_note_to_buyer' | 'expires_at' | 'list'
>;

export type HandoffCommand =
  | { type: 'CreateHandoff'; handoff: EventData<'HandoffCreated'> }
  | { type: 'CreateBuyerList'; list: EventData<'BuyerListCreated'> }
  | { type: 'DeliverHandoff'; at: number; outboundId: string; listSha256: string }
  | { type: 'OpenHandoff'; at: number; byProgram?: boolean }
  | ({ type: 'ReviseList'; at: number; listRevision: number; limits: RevisionLimits } & PricedList)
  | { type: 'DeclineHandoff'; at: number; sealedReason?: string }
  | SubmitRfq
  | { type: 'ReviseUnseen'; at: number; limits: RevisionLimits; revision: Revision }
  | { type: 'WithdrawUnseen'; at: number; sealedReason: string }
  | { type: 'WithdrawHandoff'; at: number; sealedReason: string }
  | { type: 'InvalidateHandoff'; at: number; sealedReason: string }
  | RfqCommand
  | GoodsCommand
  | ConfirmationCommand
  | { type: 'EraseSubject'; subject: string; reason: string; onlyContact?: string };

export type HandoffRejection =
  | 'handoff_exists'
  | 'handoff_unknown'
  | 'handoff_closed'
  | 'handoff_expired'
  | 'list_changed'
  | 'too_many_revisions'
  | 'handoff_seen'
  | 'totals_changed'
  | ConfirmationRejection
  | RfqRejection
  | GoodsRejection;

const isUndecided = ({ status }: HandoffState): boolean =>
  status === 'awaiting_buyer' || status === 'in_review';

/**
 * Whether the buyer can act at `at`, in epoch milliseconds. Expiry has no event: it follows from the time. A list whose RFQ
 * waits for its confirmation stays open for it.
 */
export const isOpen = (state: HandoffState, at: number): boolean =>
  isUndecided(state) && at < Math.max(state.expires_at, state.rfq?.confirmation?.until ?? 0);

/** The status as it is shown at `at`, in epoch milliseconds. */
export const shownStatus = (state: HandoffState, at: number): HandoffStatus | 'expired' =>
  isUndecided(state) && !isOpen(state, at) ? 'expired' : state.status;

export const handoff: Decider<HandoffState, HandoffCommand, Event, HandoffRejection> = {
  evolve(state, event) {
    if (event.type === 'HandoffCreated') {
      return {
        ...event.data,
        status: 'awaiting_buyer',
        list_revision: 1,
        erased: false,
        ...firstVersion(event.at),
      };
    }
    if (event.type === 'BuyerListCreated') return buyerList(event);
    if (!state) throw new Error(`${event.type} on a handoff that was never created`);
    if (isOfRfq(event)) return evolveRfq(state, event);
    if (isOfGoods(event))
      return asStored({ ...state, goods: state.goods && foldGoods(state.goods, event) });
    return asStored({ ...state, ...changesOf(state, event), ...nextVersion(state, event.at) });
  },

  decide(state, command) {
    if (command.type === 'CreateHandoff') {
      return state
        ? reject('handoff_exists', `handoff ${state.handoff_id} exists`)
        : accept({ type: 'HandoffCreated', data: command.handoff });
    }
    if (command.type === 'CreateBuyerList') {
      return state
        ? reject('handoff_exists', `handoff ${state.handoff_id} exists`)
        : accept({ type: 'BuyerListCreated', data: command.list });
    }
    if (!state) return reject('handoff_unknown', 'no such handoff');
    if (command.type === 'EraseSubject') return erase(state, command);
    if (isRfqCommand(command)) return decideOnRfq(state, command);
    if (isGoodsCommand(command))
      return pinned(state, decideGoods(state, command, referenceTo(state)));
    if (isConfirmationCommand(command))
      return pinned(state, decideConfirmation(state, command, referenceTo(state)));
    if (!isOpen(state, command.at)) return decideClosed(state, command.type);
    switch (command.type) {
      case 'DeliverHandoff':
        return deliver(state, command);
      case 'OpenHandoff':
        return state.status === 'in_review'
          ? accept()
          : accept({
              type: 'HandoffOpenedByBuyer',
              data: { ...referenceTo(state), ...(command.byProgram && { by_program: true }) },
            });
      case 'ReviseList':
        return revise(state, command);
      case 'DeclineHandoff': {
        const data = { ...referenceTo(state), sealed_reason: command.sealedReason };
        return close(state, { type: 'HandoffDeclinedByBuyer', data });
      }
      case 'SubmitRfq':
        return submitRfq(state, command);
      case 'ReviseUnseen':
        return isUnseen(state) ? reviseUnseen(state, command) : rejectSeen(state);
      case 'WithdrawUnseen':
        return isUnseen(state)
          ? close(state, {
              type: 'HandoffWithdrawn',
              data: { handoff_id: state.handoff_id, sealed_reason: command.sealedReason },
            })
          : rejectSeen(state);
      case 'WithdrawHandoff':
      case 'InvalidateHandoff': {
        const type = command.type === 'WithdrawHandoff' ? 'HandoffWithdrawn' : 'HandoffInvalidated';
        const data = { handoff_id: state.handoff_id, sealed_reason: command.sealedReason };
        return close(state, { type, data });
      }
    }
  },
};

/** A proposed return is a correction whose goods are known, and no other correction ends an RFQ whose goods are out. */
const decideOnRfq = (state: HandoffState, command: RfqCommand): HandoffDecision => {
  const reference = referenceTo(state);
  const proposed = state.rfq?.proposed;
  if (
    command.type === 'ApproveRfqMove' &&
    proposed?.returned &&
    proposed.number === command.proposal
  )
    return pinned(state, decideApprovedReturn(state, proposed, reference));
  const decided = decideRfq(state.rfq, command, reference);
  return (decided.accepted && rejectWithGoodsOut(state, decided.events)) || pinned(state, decided);
};

const pinned = (state: HandoffState, decided: HandoffDecision): HandoffDecision =>
  decided.accepted ? accept(...pinLines(state, decided.events)) : decided;

/** A list that its buyer made: the buyer has seen it, so it is in review from the start. */
const buyerList = ({ at, data }: Happened<'BuyerListCreated'>): HandoffState => {
  const { visit_id: _visit, alternatives: _others, ...list } = data;
  return {
    ...list,
    title: 'A list that a buyer made',
    buyer: {},
    made_by_buyer: true,
    status: 'in_review',
    list_revision: 1,
    erased: false,
    ...firstVersion(at),
  };
};

type Of<Type> = Extract<HandoffCommand, { type: Type }>;
type HandoffDecision = Decision<Event, HandoffRejection>;

/** What every event of the buyer contains, so that it can be attributed without its stream. */
const referenceTo = ({ handoff_id, agent_id, dims, link_id }: HandoffState) => ({
  handoff_id,
  agent_id,
  dims,
  link_id,
});

/** With `onlyContact`, ends the RFQ with that contact if it waits for its confirmation; an RFQ that was replaced is gone. */
const erase = (state: HandoffState, command: Of<'EraseSubject'>): HandoffDecision => {
  const { subject, reason, onlyContact } = command;
  const { confirmation, contact_subject } = state.rfq ?? {};
  if (state.erased || (onlyContact !== undefined && onlyContact !== contact_subject))
    return accept();
  if (onlyContact !== undefined && confirmation)
    return accept(...dropRfq(state, referenceTo(state), 'erased'));
  const data = { subject, reason, ...(contact_subject && { contact_subject }) };
  return accept({ type: 'SubjectErased', data });
};

/** A list that is closed ends an RFQ that waits for its confirmation. */
const close = (state: HandoffState, end: Event): HandoffDecision =>
  accept(end, ...dropRfq(state, referenceTo(state), 'closed'));

const deliver = (state: HandoffState, command: Of<'DeliverHandoff'>): HandoffDecision => {
  const { outboundId: outbound_id, listSha256: list_sha256 } = command;
  // Another attempt to send the same letter.
  if (state.delivered_at !== undefined) return accept();
  const data = { ...referenceTo(state), outbound_id, list_sha256 };
  return accept({ type: 'HandoffDelivered', data });
};

/** Whether its agent can still change the list: the buyer has not opened it, and it was not delivered. */
const isUnseen = ({ status, delivered_at }: HandoffState): boolean =>
  status === 'awaiting_buyer' && delivered_at === undefined;

const rejectSeen = ({ list_revision, lines }: HandoffState): HandoffDecision =>
  reject(
    'handoff_seen',
    `the buyer has opened it or got it by mail, and sees revision ${list_revision} with ${lines.length} ` +
      `${lines.length === 1 ? 'line' : 'lines'}; make another list, or ask staff to withdraw this one`,
  );

const reviseUnseen = (
  state: HandoffState,
  { limits, revision }: Of<'ReviseUnseen'>,
): HandoffDecision =>
  isRevisionLimitReached(state, limits)
    ? reject('too_many_revisions', 'the list was changed as often as it can be')
    : accept({ type: 'HandoffRevisedByAgent', data: { ...referenceTo(state), ...revision } });

/** The members that a revision of the agent sets. */
const revisedByAgent = (
  state: HandoffState,
  { title, sealed_note_to_buyer, expires_at, list }: Revision,
): Partial<HandoffState> => ({
  ...present({ title, sealed_note_to_buyer, expires_at }),
  ...(list && {
    lines: list.lines,
    sealed_line_notes: list.sealed_line_notes,
    totals: list.totals,
    lines_revised: (state.lines_revised ?? 0) + list.lines.length,
  }),
  list_revision: state.list_revision + 1,
});

const listRevised = (state: HandoffState, { lines, totals }: PricedList): Event => ({
  type: 'HandoffListRevisedByBuyer',
  data: { ...referenceTo(state), ...differenceOf(state.lines, lines), totals },
});

const revise = (state: HandoffState, command: Of<'ReviseList'>): HandoffDecision => {
  // A repeated request has its effect already, whichever revision the buyer saw.
  if (isSameQuantities(command.lines, state.lines)) return accept();
  if (command.listRevision !== state.list_revision) return rejectOldList(state);
  return isRevisionLimitReached(state, command.limits)
    ? reject('too_many_revisions', 'the list was changed as often as it can be')
    : accept(listRevised(state, command));
};

/** Entered quantities that were not saved are stored with the RFQ, in one append and beyond the revision limits. */
const submitRfq = (state: HandoffState, command: SubmitRfq): HandoffDecision => {
  const { lines, totals, shown } = command;
  const isSaved = isSameQuantities(lines, state.lines);
  // A repeated request has its effect already, whichever revision the buyer saw.
  if (isSaved && state.rfq?.contact === command.contact) return accept();
  if (command.listRevision !== state.list_revision) return rejectOldList(state);
  if (!isSameTotals(totals, shown))
    return reject('totals_changed', 'the totals of the list differ from those that were shown');
  const reference = referenceTo(state);
  return accept(
    ...(isSaved ? [] : [listRevised(state, command)]),
    ...dropRfq(state, reference, 'replaced'),
    rfqSubmitted(state, command, { ...reference, isSaved }),
  );
};

/** The members that an event sets. */
const changesOf = (
  state: HandoffState,
  event: Happened<Exclude<HandoffEventType, RfqEventType | GoodsEventType>>,
): Partial<HandoffState> => {
  switch (event.type) {
    case 'HandoffCreated':
    case 'BuyerListCreated':
      throw new Error('a handoff was created twice');
    case 'HandoffDelivered':
      return { delivered_at: event.at };
    case 'HandoffOpenedByBuyer':
      return {
        status: 'in_review',
        ...(event.data.by_program && { opened_by_program: true }),
      };
    case 'HandoffListRevisedByBuyer':
      return { status: 'in_review', ...applyChange(state, event.data), totals: event.data.totals };
    case 'HandoffRevisedByAgent':
      return revisedByAgent(state, event.data);
    case 'HandoffDeclinedByBuyer':
      return { status: 'declined', sealed_reason: event.data.sealed_reason };
    case 'RfqSubmittedByBuyer':
      return submittedRfq(state, event);
    case 'HandoffWithdrawn':
      return { status: 'withdrawn', sealed_reason: event.data.sealed_reason };
    case 'HandoffInvalidated':
      return { status: 'invalidated', sealed_reason: event.data.sealed_reason };
    case 'SubjectErased':
      return eraseHandoff(state, event.at);
  }
};

/** The status that each command leads to; repeating it then is no error, for example after a double click. */
const STATUS_AFTER: Partial<Record<HandoffCommand['type'], HandoffStatus>> = {
  SubmitRfq: 'rfq_submitted',
  DeclineHandoff: 'declined',
  WithdrawHandoff: 'withdrawn',
  WithdrawUnseen: 'withdrawn',
  InvalidateHandoff: 'invalidated',
};

const decideClosed = (state: HandoffState, command: HandoffCommand['type']): HandoffDecision => {
  if (STATUS_AFTER[command] === state.status) return accept();
  return isUndecided(state)
    ? reject('handoff_expired', 'the handoff has expired')
    : reject('handoff_closed', `the handoff is ${state.status}`);
};

const rejectOldList = (state: HandoffState): HandoffDecision =>
  reject('list_changed', `the list is now at revision ${state.list_revision}`);

type HandoffStatus =
  | 'awaiting_buyer'
  | 'in_review'
  | 'rfq_submitted'
  | 'declined'
  | 'withdrawn'
  | 'invalidated';

export type HandoffLine = EventData<'HandoffCreated'>['lines'][number] & {
  /** In a handoff whose texts were opened for display. */
  note?: string;
  /** The price in the catalog when the RFQ was sent, if it was another one. */
  price_when_sent?: { amount: number; currency: string };
};

export type HandoffState = RecordVersion &
  Omit<EventData<'HandoffCreated'>, 'lines'> & {
    lines: HandoffLine[];
    /** When the letter with the review link was first given to the mail server: from then on the list is the buyer's. */
    delivered_at?: number;
    /** A client without a browser's headers opened it. */
    opened_by_program?: true;
    /** The buyer made the list; its author is not an agent. */
    made_by_buyer?: true;
    status: HandoffStatus;
    /** A code of the service; a text in a handoff whose texts were opened for display. */
    status_reason?: string | undefined;
    /** In a handoff whose texts were opened for display. */
    note_to_buyer?: string;
    /** Empty after an erasure, like every sealed text. */
    sealed_reason?: string | undefined;
    /** Rises with each change of the list. The buyer sends the revision that was shown. */
    list_revision: number;
    /** Number of lines in all changes. */
    lines_revised?: number;
    rfq?:
      | (RfqProgress & {
          contact: string;
          /** The subject for which the contact is sealed. */
          contact_subject: string;
          submitted_at: number;
          /** The newest quotation, complete. */
          quotation?: Quotation;
        })
      | undefined;
    worth?: Worth | undefined;
    /** Of a won RFQ. */
    goods?: Goods | undefined;
    /** How often the list was sent with a confirmation to come; a link by mail belongs to one sending. */
    rfqs_sent?: number;
    erased: boolean;
  };

/** A handoff with what only the pages of its buyer need, so that the read model of handoffs does not have it. */
export type ReviewState = HandoffState & {
  /** When the list was last sent, in epoch milliseconds. */
  sent_at?: number;
  /** The lines that the buyer removed, as they were then, in the order of their removal. */
  removed?: HandoffLine[];
};

/** Decides as the decider of handoffs does. */
export const review: Decider<ReviewState, HandoffCommand, Event, HandoffRejection> = {
  ...handoff,
  evolve(state, event) {
    const after = handoff.evolve(state, event);
    return {
      ...after,
      ...(state &&
        event.type === 'HandoffListRevisedByBuyer' && { removed: removedAt(state, after) }),
      ...(event.type === 'RfqSubmittedByBuyer' && { sent_at: event.at }),
    };
  },
};

const removedAt = ({ lines, removed = [] }: ReviewState, after: HandoffState): HandoffLine[] => {
  const listed = new Set(after.lines.map(({ line_id }) => line_id));
  return [...removed, ...lines].filter(({ line_id }) => !listed.has(line_id));
};
