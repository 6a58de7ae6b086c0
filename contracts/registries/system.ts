/** The acts of the service itself, and the events that each may append. */
import type { EventType } from './events.ts';

/** The event types that the service may append by itself, by what it does. No interface offers these operations. */
export const systemWrites = {
  /** Does what is due for one approved request: sends it, records the result, or ends it. */
  dispatchOutbound: [
    'OutboundDispatched',
    'OutboundDeferred',
    'OutboundConfirmed',
    'OutboundFailed',
    'OutboundOutcomeUnknown',
    'OutboundExpired',
    'OutreachChannelDisabled',
    'HandoffDelivered',
    'MailboxMailed',
  ],
  /** Does what is due for one push notification configuration: notifies its receiver, records the result, or deletes it. */
  dispatchPush: [
    'PushConfigDeleted',
    'PushDispatched',
    'PushDeferred',
    'PushDelivered',
    'PushFailed',
    'PushOutcomeUnknown',
  ],
  /** Does what is due for one queued message: sends it, records the result, or ends it. */
  dispatchMail: [
    'MailDispatched',
    'MailDeferred',
    'MailSent',
    'MailFailed',
    'MailOutcomeUnknown',
    'MailboxMailed',
  ],
  /** Queues the digest for staff of the outreach and the access that wait for approval, once for each day. */
  queueDigest: ['MailQueued'],
  /** Ends the RFQs that were not confirmed in time. */
  expireConfirmations: ['RfqConfirmationExpired'],
  /** Ends the public applications that were not confirmed in time. */
  expireApplications: ['SubjectErased'],
  /** Records the RFQ of a handoff and its outcome on the leads that name it, within the call that changed the RFQ. */
  observeRfq: ['LeadAccepted', 'LeadRfqObserved', 'LeadWon', 'LeadLost', 'LeadOutcomeCorrected'],
  /** Records that a person uses a session, once in a while and for each new place. */
  noteSession: ['SessionUsed'],
  /** Makes a link to sign in as a person of the demo, which the start prints. */
  printSignIn: ['SignInStarted'],
  /** Marks the tree of the log. */
  markTree: ['TreeMarked'],
  /** Records the calls that no business event records. */
  recordActivity: ['ActivityRecorded', 'CallsAudited'],
} as const satisfies Record<string, readonly EventType[]>;

export type SystemOperationId = keyof typeof systemWrites;
