/** An RFQ as its buyer sends it, and how its later events change the handoff. */
import type { EventData, EventOf, Happened, RfqEventType } from '#contracts/registries/events.ts';
import { nextVersion } from '#src/shared/decider.ts';
import { withNews } from './handoff-list.decider.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { foldRfq, isConfirmed, RFQ_EVENTS_SHOWN, sentRfq } from './rfq-state.decider.ts';

type Submitted = EventData<'RfqSubmittedByBuyer'>;
type PricedList = Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'>;

export type SubmitRfq = PricedList & {
  type: 'SubmitRfq';
  at: number;
  listRevision: number;
  contact: string;
  contactSubject: string;
  mailboxKeys?: Submitted['mailbox_keys'];
  /** The hash of the secret in the link that confirms it, and when that link ends, in epoch milliseconds. */
  confirmation: { tokenHash: string; until: number };
  consentText: string;
  /** The totals that the buyer's page showed. */
  shown: PricedList['totals'];
  news: NonNullable<Submitted['news']>;
};

type Reference = Pick<Submitted, 'handoff_id' | 'agent_id' | 'dims' | 'link_id'>;

/** `isSaved`: the sent quantities are those of the list; otherwise an event before this one saves them. */
export const rfqSubmitted = (
  state: HandoffState,
  command: SubmitRfq,
  { isSaved, ...reference }: Reference & { isSaved: boolean },
): EventOf<'RfqSubmittedByBuyer'> => {
  const { at, contact, contactSubject, confirmation, consentText, news, listRevision } = command;
  return {
    type: 'RfqSubmittedByBuyer',
    data: {
      ...reference,
      contact,
      contact_subject: contactSubject,
      ...(command.mailboxKeys && { mailbox_keys: command.mailboxKeys }),
      confirmation: {
        number: (state.rfqs_sent ?? 0) + 1,
        token_hash: confirmation.tokenHash,
        until: confirmation.until,
        ...(state.rfq && { first_at: state.rfq.submitted_at }),
      },
      consent_text: consentText,
      consented_at: at,
      ...(news.length > 0 && { news }),
      list_revision: isSaved ? listRevision : listRevision + 1,
      totals: isSaved ? state.totals : command.totals,
    },
  };
};

/** The members that the sending sets. Until the RFQ is confirmed, the list stays in review. */
export const submittedRfq = (
  { lines }: HandoffState,
  { data, at }: Happened<'RfqSubmittedByBuyer'>,
): Partial<HandoffState> => {
  const { contact, contact_subject, confirmation, news = [] } = data;
  return {
    status: confirmation ? 'in_review' : 'rfq_submitted',
    lines: withNews(
      lines.map(({ price_when_sent: _before, ...line }) => line),
      news,
    ),
    ...(confirmation && { rfqs_sent: confirmation.number }),
    rfq: {
      ...sentRfq(data),
      contact,
      ...(contact_subject && { contact_subject }),
      submitted_at: confirmation?.first_at ?? at,
    },
  };
};

export const evolveRfq = (state: HandoffState, event: Happened<RfqEventType>): HandoffState => {
  const { rfq: before, ...list } = state;
  if (!before) throw new Error(`${event.type} on a handoff without an RFQ`);
  const { contact, contact_subject, submitted_at } = before;
  const rfq = foldRfq(before, event);
  if (!rfq) return list;
  return {
    ...list,
    ...(isConfirmed(event) && { status: 'rfq_submitted' }),
    rfq: { ...rfq, contact, submitted_at, ...(contact_subject && { contact_subject }) },
    ...(RFQ_EVENTS_SHOWN[event.type] && nextVersion(state, event.at)),
  };
};
