import { z } from 'zod';
import { country, id, line, metadata, money, text, time, url } from '../fields.ts';

export const LEAD_STATES = [
  'submitted',
  'accepted',
  'rejected',
  'duplicate',
  'contacted',
  'qualified',
  'unqualified',
  'rfq_submitted',
  'won',
  'lost',
  'withdrawn',
  'lapsed',
] as const;

export const leadSource = z.strictObject({
  kind: z.enum(['link', 'handoff', 'manual', 'agent']),
  ref: line(128).optional().describe('Link or handoff id where the kind is one of these'),
});

export const company = z.strictObject({
  name: line(200),
  country,
  website: url.optional(),
});

export const contact = z
  .strictObject({
    name: line(200),
    email: z.email().max(254),
    phone: z.e164().optional(),
    role: line(100).optional(),
  })
  .describe('Personal data: encrypted with a key of its own, erased with it');

export const consent = z.strictObject({
  basis: z.enum(['consent', 'legitimate_interest', 'contract']),
  obtained_at: time,
  text_version: line(100).optional(),
  evidence_url: url.optional(),
});

export const interest = z.strictObject({
  product_ids: z.array(id('prd')).max(20).optional(),
  categories: z.array(line(100)).max(20).optional(),
  quantity_hint: z.int().min(1).max(100_000_000).optional(),
  note: text(2_000).optional().describe('Encrypted with the contact'),
});

export const lead = z
  .object({
    id: id('led'),
    owner_id: z.string(),
    agent_id: z.string(),
    external_id: z.string(),
    source: z.object({
      kind: z.enum(['link', 'handoff', 'manual', 'agent']),
      ref: z.string().optional(),
    }),
    company: z.object({ name: z.string(), country: z.string(), website: z.string().optional() }),
    contact: z
      .union([
        z.object({
          name: z.string(),
          email: z.string(),
          phone: z.string().optional(),
          role: z.string().optional(),
        }),
        z.literal('[erased]'),
      ])
      .optional(),
    consent: z
      .object({
        basis: z.string(),
        obtained_at: z.string(),
        text_version: z.string().optional(),
        evidence_url: z.string().optional(),
      })
      .optional(),
    interest: z
      .object({
        product_ids: z.array(z.string()).optional(),
        categories: z.array(z.string()).optional(),
        quantity_hint: z.int().optional(),
        note: z.string().optional(),
      })
      .optional(),
    state: z.enum(LEAD_STATES),
    state_reason: z.string().optional(),
    claim_expires_at: time,
    outcome_value: money.optional().describe('Set by staff only'),
    metadata: metadata.optional(),
    version: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Lead' });

export type Lead = z.infer<typeof lead>;
