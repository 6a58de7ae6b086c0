import { z } from 'zod';
import { deskCommand, recordCommands, recordState } from '#contracts/desk-operation.ts';
import { handoffExample, leadExample, linkExample } from '#contracts/examples/records.ts';
import { id, line, ownerSpace } from '#contracts/fields.ts';

/* What people do with single handoffs and links, and the erasure of a person. */

const FINAL =
  'Final. The record stays in the history with its reason. The reason for a handoff is shown to its buyer ' +
  'and encrypted with its personal data.';
const ended = {
  owner_id: ownerSpace,
  reason: line(500).describe('Stored in the history of the record'),
};

const handoffCommand = recordCommands({
  path: '/handoffs/{handoff_id}',
  roles: ['owner', 'staff'],
  fields: { handoff_id: id('hnd'), ...ended },
  output: recordState,
  example: {
    input: { handoff_id: handoffExample.id, owner_id: 'acme', reason: 'Recalled' },
    output: { id: handoffExample.id, owner_id: 'acme' },
  },
});

export const withdrawHandoff = handoffCommand({
  verb: 'withdraw',
  summary: 'Withdraw a handoff that the buyer has not answered',
  guidance: FINAL,
  fields: {},
  output: { state: 'withdrawn' },
});

export const invalidateHandoff = handoffCommand({
  verb: 'invalidate',
  roles: ['staff'],
  summary: 'Invalidate a handoff: a product was withdrawn, or a rule forbids it',
  guidance: FINAL,
  fields: {},
  output: { state: 'invalidated' },
});

export const disableLink = deskCommand({
  roles: ['owner', 'staff'],
  path: '/links/{link_id}/disable',
  summary: 'Disable a link: requests for it are no longer redirected',
  guidance: FINAL,
  fields: { link_id: id('lnk'), ...ended },
  output: recordState,
  example: {
    name: 'disabled',
    input: {
      idempotency_key: 'case-4711',
      link_id: linkExample.id,
      owner_id: 'acme',
      reason: 'Recalled',
    },
    output: { id: linkExample.id, owner_id: 'acme', state: 'disabled' },
  },
});

export const eraseSubject = deskCommand({
  roles: ['operator'],
  path: '/subjects/{subject}/erase',
  summary: 'Destroy the encryption key of the personal data of a lead or a handoff',
  guidance:
    'Cannot be undone. The events stay and can still be verified, but the personal data in them (contacts, notes, ' +
    'reasons) can no longer be read. The reason of the erasure is stored unencrypted: do not name a person in it.',
  fields: {
    subject: z
      .string()
      .regex(/^(led|hnd)_[0-9a-z]{24}$/, { error: 'must be a lead or handoff id' }),
    owner_id: ownerSpace.optional().describe('Owner of the record, if known'),
    reason: line(500).describe('Stored unencrypted and never erased: do not name a person in it'),
  },
  output: z.object({
    subject: z.string(),
    key: z.enum(['destroyed', 'never']),
    erased_from: z.array(z.string()),
  }),
  example: {
    name: 'on request',
    input: {
      idempotency_key: 'erase-1',
      subject: leadExample.id,
      owner_id: 'acme',
      reason: 'Art. 17 request',
    },
    output: {
      subject: leadExample.id,
      key: 'destroyed',
      erased_from: ['acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q'],
    },
  },
});

export const historyDeskOperations = {
  disableLink,
  eraseSubject,
  invalidateHandoff,
  withdrawHandoff,
};
