import { z } from 'zod';
import { handoffExample, leadExample, linkExample } from '../examples/records.ts';
import { id, line, ownerSpace } from '../fields.ts';
import type { DeskRole } from '../scopes.ts';
import { deskCommand, recordState } from './define.ts';

/* What people do with single handoffs and links, and the erasure of a person. */

/** Defines a command that ends a record. `record` maps the input field to its schema. */
const close = <Field extends string>({
  record,
  exampleId,
  state,
  ...operation
}: {
  roles: readonly DeskRole[];
  path: string;
  summary: string;
  record: Record<Field, z.ZodString>;
  exampleId: string;
  /** The state of the record afterwards. */
  state: string;
}) =>
  deskCommand({
    ...operation,
    guidance:
      'Final. The record stays in the history with its reason. The reason for a handoff is shown to its buyer ' +
      'and encrypted with its personal data.',
    fields: {
      ...record,
      owner_id: ownerSpace,
      reason: line(500).describe('Stored in the history of the record'),
    },
    output: recordState,
    example: {
      name: state,
      input: {
        idempotency_key: 'close-1',
        ...Object.fromEntries(Object.keys(record).map((field) => [field, exampleId])),
        owner_id: 'acme',
        reason: 'Recalled',
      },
      output: { id: exampleId, owner_id: 'acme', state },
    },
  });

const handoff = { record: { handoff_id: id('hnd') }, exampleId: handoffExample.id };

export const withdrawHandoff = close({
  ...handoff,
  roles: ['owner', 'staff'],
  path: '/handoffs/{handoff_id}/withdraw',
  summary: 'Withdraw a handoff that the buyer has not answered',
  state: 'withdrawn',
});

export const invalidateHandoff = close({
  ...handoff,
  roles: ['staff'],
  path: '/handoffs/{handoff_id}/invalidate',
  summary: 'Invalidate a handoff: a product was withdrawn, or a rule forbids it',
  state: 'invalidated',
});

export const disableLink = close({
  roles: ['owner', 'staff'],
  path: '/links/{link_id}/disable',
  summary: 'Disable a link: requests for it are no longer redirected',
  record: { link_id: id('lnk') },
  exampleId: linkExample.id,
  state: 'disabled',
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
    reason: line(500).describe('Stored unencrypted and never erased: do not name a person in it'),
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
      subject: leadExample.id,
      owner_id: 'acme',
      reason: 'Art. 17 request',
    },
    output: {
      subject: leadExample.id,
      key: 'destroyed',
      erased_from: ['acme-lead_3c4d5e6f7g8h9j0k1m2n3p4q'],
      in_clear: 0,
    },
  },
});
