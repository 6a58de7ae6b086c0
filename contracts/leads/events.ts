/** Events of a lead. */
import { z } from 'zod';
import {
  attributionDims,
  mailboxKeys,
  moneyAmount,
  reasonFields,
  sealed,
  storedMetadata,
  storedWarnings,
} from '#contracts/event-fields.ts';

const content = {
  company: z.object({ name: z.string(), country: z.string(), website: z.string().optional() }),
  contact: sealed.optional(),
  /** Of the contact, with it. */
  mailbox_keys: mailboxKeys.optional(),
  /** Of the telephone and of the domains that tell the company; absent if there is neither. */
  hint_keys: z.object({ phone: z.string().optional(), domains: z.array(z.string()) }).optional(),
  consent: z
    .object({
      basis: z.enum(['consent', 'legitimate_interest', 'contract']),
      obtained_at: z.string(),
      text_version: z.string().optional(),
      evidence_url: z.string().optional(),
    })
    .optional(),
  interest: z
    .object({
      product_ids: z.array(z.string()).optional(),
      categories: z.array(z.string()).optional(),
      quantity_hint: z.number().optional(),
      note: sealed.optional(),
    })
    .optional(),
  metadata: storedMetadata,
};

const source = z.object({
  kind: z.enum(['link', 'handoff', 'manual', 'agent']),
  ref: z.string().optional(),
});

const origin = {
  source,
  link_id: z.string().optional(),
  handoff_id: z.string().optional(),
  dims: attributionDims,
  warnings: storedWarnings,
};

const LeadSubmitted = z.object({
  lead_id: z.string(),
  agent_id: z.string(),
  external_id: z.string(),
  ...origin,
  claim_expires_at: z.number(),
  ...content,
});

const LeadAmended = z.object({
  lead_id: z.string(),
  ...content,
  /** The parts that the amendment removes; absent if it removes nothing. */
  left_out: z.array(z.enum(['contact', 'consent', 'interest', 'metadata'])).optional(),
  /** Where the lead came from, if the amendment names it first. */
  ...z.object(origin).partial().shape,
});

const subject = {
  lead_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
  handoff_id: z.string().optional(),
  ...reasonFields,
};

const moved = z.object(subject);

const LeadAccepted = moved;
const LeadRejected = moved;
const LeadMarkedDuplicate = moved;
const LeadContacted = moved;
const LeadQualified = moved;
const LeadUnqualified = moved;
const LeadRfqObserved = moved;
/** The lead took the outcome of the RFQ of its handoff, which has the value. */
const follows = { from_rfq: z.literal(true).optional() };
/** One person did it where two must: SECOND_PERSON was none. */
const alone = z.literal(true).optional();
/** Another lead counts for the same RFQ. */
const uncounted = z.literal(true).optional();

const LeadWon = z.object({
  ...subject,
  ...follows,
  value: moneyAmount.optional(),
  uncounted,
  alone,
});
const LeadLost = z.object({ ...subject, ...follows });
const LeadOutcomeCorrected = z.object({
  ...subject,
  ...follows,
  from: z.object({ state: z.enum(['won', 'lost']), value: moneyAmount.optional() }),
  to: z.object({
    state: z.enum(['won', 'lost', 'qualified', 'rfq_submitted']),
    value: moneyAmount.optional(),
  }),
  /** When the lead got the outcome that is corrected, in epoch milliseconds: numbers change on that day. */
  outcome_at: z.number(),
  uncounted,
  alone,
});
const LeadWithdrawn = moved;

/** A win or a correction that another person must approve. */
const LeadMoveProposed = moved.extend({
  to: z.enum(['won', 'lost', 'qualified']),
  value: moneyAmount.optional(),
  is_correction: z.literal(true).optional(),
});

const LeadMoveRefused = moved.extend({ sealed_reason: sealed });

export const leadEvents = {
  LeadAccepted,
  LeadAmended,
  LeadContacted,
  LeadLost,
  LeadMarkedDuplicate,
  LeadMoveProposed,
  LeadMoveRefused,
  LeadOutcomeCorrected,
  LeadQualified,
  LeadRejected,
  LeadRfqObserved,
  LeadSubmitted,
  LeadUnqualified,
  LeadWithdrawn,
  LeadWon,
};
