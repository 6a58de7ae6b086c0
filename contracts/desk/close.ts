import { z } from 'zod';
import { id, line, ownerSpace } from '../fields.ts';
import type { DeskRole } from '../scopes.ts';
import { deskCommand } from './define.ts';

/** The answer of a command that changes the state of a record. */
export const recordState = z.object({ id: z.string(), owner_id: z.string(), state: z.string() });

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

const handoff = { record: { handoff_id: id('hnd') }, exampleId: 'hnd_2b3c4d5e6f7g8h9j0k1m2n3p' };

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
  exampleId: 'lnk_1a2b3c4d5e6f7g8h9j0k1m2n',
  state: 'disabled',
});
