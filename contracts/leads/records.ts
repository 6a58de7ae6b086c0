/** A lead as operations answer it. */
import { z } from 'zod';
import {
  encrypted,
  exempt,
  homeCountry,
  id,
  identifier,
  line,
  money,
  quantity,
  recordWarnings,
  time,
  url,
  shownMetadata,
  versioned,
} from '#contracts/fields.ts';
import { mailbox } from '#contracts/mailbox.ts';
import { LEAD_STATES, RFQ_OUTCOMES } from '#contracts/moves.ts';

export const leadSource = z.strictObject({
  kind: z.enum(['link', 'handoff', 'manual', 'agent']).describe('Where the lead came from'),
  ref: identifier(128).optional().describe('Id of the link or handoff, if kind is one of these'),
});

export const company = z.strictObject({
  name: line(200).describe('Name of the company'),
  country: homeCountry,
  website: url.optional().describe('Web address of the company'),
});

export const contact = z
  .strictObject({
    name: encrypted.line(200).describe('Full name'),
    email: mailbox.describe('E-mail address'),
    phone: exempt('encrypted', z.e164()).optional().describe('Number in E.164 form'),
    role: encrypted.line(100).optional().describe('Position in the company'),
  })
  .describe('Personal data: encrypted, and erasable');

/** The value in place of personal data whose key is lost. */
export const lostKey = z.enum(['[key missing]', '[key damaged]']);

/** The value in place of a contact that is not shown. */
export const closedContact = z
  .enum(['[erased]', '[withdrawn]', ...lostKey.options])
  .describe(
    '[withdrawn]: the person refuses contact. [key missing]: its key is lost, for example after a restore without ' +
      'keys; it was not erased. [key damaged]: its key is not what was stored',
  );

export const consent = z.strictObject({
  basis: z
    .enum(['consent', 'legitimate_interest', 'contract'])
    .describe('Lawful basis of processing'),
  obtained_at: time,
  text_version: line(100).optional().describe('Version of the consent text that was shown'),
  evidence_url: url.optional().describe('URL of a record of the consent'),
});

export const interest = z.strictObject({
  product_ids: z.array(id('prd')).max(20).optional().describe('Ids of products'),
  categories: z.array(line(100)).max(20).optional().describe('Names of categories'),
  quantity_hint: quantity.optional().describe('Approximate number of pieces'),
  note: encrypted.text(2_000).optional().describe('Remark; encrypted with the contact'),
});

/** What an agent sees of an RFQ: of its handoff, and of the leads that name the handoff. */
export const shownRfq = z.object({
  state: z.enum(['open', 'expired', ...RFQ_OUTCOMES]),
  won_value: z.array(money).optional(),
});

export const leadRecord = z
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
        closedContact,
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
    state_reason: z
      .string()
      .optional()
      .describe(
        'A code of the service, or a text that a person wrote: [erased] after an erasure, ' +
          '[key missing] or [key damaged] if its key is lost',
      ),
    rfq: shownRfq.optional().describe('The RFQ of the handoff that the lead names'),
    claim_expires_at: time,
    claim_released: z
      .literal(true)
      .optional()
      .describe('In the answer to an amendment that removed the contact: others can submit it now'),
    outcome_value: money.optional().describe('Set by staff only'),
    metadata: shownMetadata.optional(),
    warnings: recordWarnings.optional(),
    ...versioned,
  })
  .meta({ id: 'Lead' });

export type Lead = z.infer<typeof leadRecord>;
