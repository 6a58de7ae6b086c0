import { z } from 'zod';
import { leadExample } from '#contracts/examples/records.ts';
import { idempotencyKey, line, metadata } from '#contracts/fields.ts';
import { defineOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { company, consent, contact, interest, leadRecord, leadSource } from './lead.records.ts';

export const submitLead = defineOperation({
  kind: 'command',
  scope: 'leads:write',
  // A withdrawal releases the claim on the contact.
  destructive: true,
  writes: [
    'LeadSubmitted',
    'LeadAmended',
    'LeadRejected',
    'LeadMarkedDuplicate',
    'LeadWithdrawn',
    'LeadClaimed',
    'LeadClaimReleased',
    'KnownContactSubmitted',
    'MailQueued',
    'RequestBound',
  ],
  http: { method: 'POST', path: '/leads', status: 201 },
  summary: 'Submit a lead, amend it or withdraw it, by your own external_id',
  guidance:
    'The first call with an external_id submits the lead. A later call, while the lead is submitted or accepted, ' +
    'replaces all of it: what it omits is removed, except the source. Without its contact the lead no longer holds it, ' +
    'and another promoter can submit it. The source may be set later, and is fixed once it is not the agent; later ' +
    'events count for it. withdraw: true withdraws the lead. If another promoter has already submitted the mailbox of ' +
    'the contact, or its person refuses contact, the answer has state rejected and reason already_known. That is final, and the lead holds nothing: ' +
    'submit it again, or with another contact, with a new external_id. After 20 such answers on a day in UTC, contacts of ' +
    'the agent are refused until midnight. Agents cannot set a commercial state.',
  brief:
    'The first call with an external_id submits the lead; a later one, while it is submitted or accepted, replaces ' +
    'all of it except its source. withdraw: true withdraws it. State rejected with already_known is final: another ' +
    'promoter has the contact. Agents cannot set a commercial state.',
  next: 'listLeads shows the state that staff set.',
  input: z
    .strictObject({
      idempotency_key: idempotencyKey,
      external_id: line(128).describe(
        'Your unique name for the lead; no name or address of a person',
      ),
      source: leadSource.default({ kind: 'agent' }).describe('Fixed once it is not the agent'),
      company: company.optional().describe('Required unless withdraw is true'),
      contact: contact.optional(),
      consent: consent.optional().describe('Required with a contact'),
      interest: interest.optional().describe('What the lead is interested in'),
      withdraw: z
        .boolean()
        .optional()
        // false is the same request as none, so both have one digest.
        .transform((value) => value || undefined)
        .describe('true withdraws the lead'),
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
