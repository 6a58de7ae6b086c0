import { z } from 'zod';
import { defineSystemOperation, registryOf } from '../operation.ts';

/* The operations that the service performs by itself, without a request. No interface offers them. */

/** Does what is due for one approved request: sends it, records the result, or ends it. */
const dispatchOutbound = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({ outbound_id: z.string() }),
  output: z.object({
    /** When to look again, in epoch milliseconds; absent if the request is at its end. */
    next_at: z.number().optional(),
  }),
  problems: ['storage_unavailable', 'storage_full', 'payload_too_large'],
  writes: [
    'OutboundDispatched',
    'OutboundDeferred',
    'OutboundConfirmed',
    'OutboundFailed',
    'OutboundOutcomeUnknown',
    'OutboundExpired',
    'OutreachChannelDisabled',
  ],
});

/** Does what is due for one push notification configuration: notifies its receiver, records the result, or deletes it. */
const dispatchPush = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({ push_id: z.string() }),
  output: z.object({
    /** When to look again, in epoch milliseconds; absent if the configuration is deleted. */
    next_at: z.number().optional(),
    /** Ids of the task and of its record, whose changes are a reason to look earlier. */
    awaits: z.array(z.string()).optional(),
  }),
  problems: ['storage_unavailable', 'storage_full', 'payload_too_large'],
  writes: [
    'PushConfigDeleted',
    'PushDispatched',
    'PushDeferred',
    'PushDelivered',
    'PushFailed',
    'PushOutcomeUnknown',
  ],
});

/** Does what is due for one queued message: sends it, records the result, or ends it. */
const dispatchMail = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({ mail_id: z.string() }),
  output: z.object({
    /** When to look again, in epoch milliseconds; absent if the message is at its end. */
    next_at: z.number().optional(),
  }),
  problems: ['storage_unavailable', 'storage_full', 'payload_too_large'],
  writes: [
    'MailDispatched',
    'MailDeferred',
    'MailSent',
    'MailFailed',
    'MailOutcomeUnknown',
    'MailboxMailed',
  ],
});

/** Queues the digest for staff of the outreach and the access that wait for approval, once for each day. */
const queueDigest = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({ day: z.iso.date() }),
  output: z.object({ queued: z.boolean() }),
  problems: ['storage_unavailable', 'storage_full', 'read_model_rebuilding'],
  writes: ['MailQueued'],
});

/** Ends the RFQs that were not confirmed in time. */
const expireConfirmations = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: z.object({ expired: z.int() }),
  problems: ['storage_unavailable', 'storage_full', 'read_model_rebuilding'],
  writes: ['RfqConfirmationExpired'],
});

/** Ends the public applications that were not confirmed in time. */
const expireApplications = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: z.object({ expired: z.int() }),
  problems: ['storage_unavailable', 'storage_full', 'read_model_rebuilding'],
  writes: ['SubjectErased'],
});

/** Destroys the keys of erased subjects that an interrupted erasure left. */
const finishErasures = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({
    /** How many of the newest erasures are checked; all of them if it is absent. */
    newest: z.int().min(1).optional(),
  }),
  output: z.object({ keys: z.int() }),
  problems: ['storage_unavailable', 'storage_full'],
  writes: [],
});

/** Indexes the contacts that earlier versions stored, so that the records of a person can be found. */
const indexContacts = defineSystemOperation({
  kind: 'command',
  input: z.strictObject({}),
  output: z.object({ indexed: z.int() }),
  problems: ['storage_unavailable', 'storage_full', 'read_model_rebuilding'],
  writes: ['ContactIndexed'],
});

export const systemOperations = registryOf({
  dispatchOutbound,
  dispatchPush,
  dispatchMail,
  queueDigest,
  expireConfirmations,
  expireApplications,
  finishErasures,
  indexContacts,
});

export type SystemOperations = typeof systemOperations;
