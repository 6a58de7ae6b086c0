import { z } from 'zod';
import { leadExample } from '../examples/records.ts';
import { idempotencyKey, line, metadata } from '../fields.ts';
import { defineOperation } from '../operation.ts';
import { WRITE_PROBLEMS } from '../problems.ts';
import { company, consent, contact, interest, leadRecord, leadSource } from '../records/lead.ts';

export const submitLead = defineOperation({
  id: 'submitLead',
  kind: 'command',
  scope: 'leads:write',
  // A withdrawal gives up the claim on the contact.
  destructive: true,
  writes: [
    'LeadSubmitted',
    'LeadAmended',
    'LeadRejected',
    'LeadMarkedDuplicate',
    'LeadWithdrawn',
    'LeadClaimed',
    'LeadClaimReleased',
    'RequestBound',
  ],
  http: { method: 'POST', path: '/leads', status: 201 },
  summary: 'Submit a lead, amend it or withdraw it, by your own external_id',
  guidance:
    'The first call with an external_id submits; a later one, while the lead is submitted or accepted, says all of it ' +
    'anew: what it leaves out is taken back, but for the source. That may be named later, and is fixed once it is no ' +
    'longer the agent; what happens from then on counts for it. withdraw: true withdraws the lead. A contact that ' +
    'another promoter has already brought is answered with state rejected and reason already_known: that is final, so ' +
    'try again, or with another contact, under a new external_id. Agents set no commercial state.',
  next: 'listLeads shows what staff made of it.',
  input: z
    .strictObject({
      idempotency_key: idempotencyKey,
      external_id: line(128).describe(
        'Your name for the lead, which names no person and holds no address: one lead per owner and external_id',
      ),
      source: leadSource
        .default({ kind: 'agent' })
        .describe('Where it came from: fixed once it is another than the agent'),
      company: company.optional().describe('Required unless withdraw is true'),
      contact: contact.optional(),
      consent: consent.optional().describe('Required with a contact'),
      interest: interest.optional().describe('What the lead asked for'),
      withdraw: z.literal(true).optional().describe('true withdraws the lead'),
      withdraw_reason: line(200).optional().describe('Why it is withdrawn; encrypted'),
      metadata: metadata.optional(),
    })
    .meta({ dependentRequired: { contact: ['consent'], withdraw_reason: ['withdraw'] } }),
  output: leadRecord,
  problems: [
    ...WRITE_PROBLEMS,
    'scope_missing',
    'resource_not_found',
    'resource_erased',
    'consent_missing',
    'state_conflict',
  ],
  examples: [
    {
      name: 'a company whose contact consented',
      input: {
        idempotency_key: 'crm-4711:submit',
        external_id: 'crm-4711',
        company: { name: 'Corner Shop', country: 'GB' },
        contact: { name: 'Ada Byron', email: 'ada@cornershop.example' },
        consent: { basis: 'consent', obtained_at: '2026-01-20T09:00:00Z' },
      },
      output: leadExample,
    },
  ],
});
