import { z } from 'zod';
import { attributionDims, moneyAmount, sealed, why } from './shared.ts';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

const content = {
  company: z.object({ name: z.string(), country: z.string(), website: z.string().optional() }),
  contact: sealed.optional(),
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
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
};

const source = z.object({
  kind: z.enum(['link', 'handoff', 'manual', 'agent']),
  ref: z.string().optional(),
});

const cameThrough = {
  source,
  link_id: z.string().optional(),
  handoff_id: z.string().optional(),
  dims: attributionDims,
};

export const LeadSubmitted = z.object({
  lead_id: z.string(),
  agent_id: z.string(),
  external_id: z.string(),
  ...cameThrough,
  claim_expires_at: z.number(),
  ...content,
});

export const LeadAmended = z.object({
  lead_id: z.string(),
  ...content,
  /** What the lead had said and says no more. Older events have none: what they leave out stays. */
  left_out: z.array(z.enum(['contact', 'consent', 'interest', 'metadata'])).optional(),
  /** Where the lead came from, when only now somebody says so. */
  ...z.object(cameThrough).partial().shape,
});

const named = {
  lead_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
  handoff_id: z.string().optional(),
  ...why,
};

const moved = z.object(named);

export const LeadAccepted = moved;
export const LeadRejected = moved;
export const LeadMarkedDuplicate = moved;
export const LeadContacted = moved;
export const LeadQualified = moved;
export const LeadUnqualified = moved;
export const LeadRfqObserved = moved;
export const LeadWon = z.object({ ...named, value: moneyAmount.optional() });
export const LeadLost = moved;
export const LeadWithdrawn = moved;

/** Stands on the stream claims-lead_{keyed hash of the contact}: who may claim this contact, and until when. */
export const LeadClaimed = z.object({
  owner_id: z.string(),
  lead_id: z.string(),
  expires_at: z.number(),
});
export const LeadClaimReleased = z.object({ owner_id: z.string(), lead_id: z.string() });
