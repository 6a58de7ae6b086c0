import { z } from 'zod';
import { id, line, money, ownerSpace } from '../fields.ts';
import { LEAD_STATES } from '../records/lead.ts';
import { recordState } from './close.ts';
import { deskCommand } from './define.ts';

const LEAD = 'led_3c4d5e6f7g8h9j0k1m2n3p4q';

export const moveLead = deskCommand({
  roles: ['staff'],
  path: '/leads/{lead_id}/move',
  summary: 'Move a lead to its next state',
  guidance:
    'submitted to accepted, rejected or duplicate; accepted to contacted; contacted to qualified or ' +
    'unqualified; rfq_submitted to won or lost. A won lead may have a value. If the buyer has already sent the RFQ ' +
    "of the lead's handoff, accepting the lead moves it to rfq_submitted. A lead that is rejected, duplicate, " +
    'unqualified or lost releases the claim on its contact.',
  fields: {
    lead_id: id('led'),
    owner_id: ownerSpace,
    to: z
      .enum(LEAD_STATES)
      .exclude(['submitted', 'rfq_submitted', 'withdrawn', 'lapsed'])
      .describe('The next state'),
    reason: line(500).optional().describe('Stored in the history of the lead'),
    value: z.strictObject(money.shape).optional().describe('Value of a won lead'),
  },
  output: recordState,
  example: {
    name: 'accepted',
    input: {
      idempotency_key: 'lead-4711-accept',
      lead_id: LEAD,
      owner_id: 'acme',
      to: 'accepted',
    },
    output: { id: LEAD, owner_id: 'acme', state: 'accepted' },
  },
});

export const eraseSubject = deskCommand({
  roles: ['operator'],
  path: '/subjects/{subject}/erase',
  summary: 'Destroy the encryption key of the personal data of a lead or a handoff',
  guidance:
    'Cannot be undone. The events stay and can still be verified, but the personal data in them (contacts, notes, ' +
    'reasons) can no longer be read. Early versions stored reasons and the notes of handoffs unencrypted: those ' +
    'texts stay in the log, in as many events as in_clear says, and no interface shows them. The reason of the ' +
    'erasure is stored unencrypted: do not name a person in it.',
  fields: {
    subject: z
      .string()
      .regex(/^(led|hnd)_[0-9a-z]{24}$/, { error: 'must be a lead or handoff id' }),
    owner_id: ownerSpace.optional().describe('Owner of the record, if known'),
    reason: line(500).describe('Stored in clear permanently: name nobody in it'),
  },
  output: z.object({
    subject: z.string(),
    key: z.enum(['destroyed', 'never']),
    erased_from: z.array(z.string()),
    in_clear: z
      .int()
      .describe('Number of older events that hold unencrypted text; no interface shows it'),
  }),
  example: {
    name: 'on request',
    input: {
      idempotency_key: 'erase-1',
      subject: LEAD,
      owner_id: 'acme',
      reason: 'Art. 17 request',
    },
    output: {
      subject: LEAD,
      key: 'destroyed',
      erased_from: ['acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q'],
      in_clear: 0,
    },
  },
});
