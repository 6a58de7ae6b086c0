/** Events of the plan of staff for a record. */
import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

// In the stream {owner}-plan_{id of the record}: what staff plan for a lead, an RFQ or a request for access. Texts are
// sealed for the record, so that its erasure erases them.

const record = z.string();

const RecordAssigned = z.object({
  record,
  /** The id of the person. Absent if the record is assigned to no person any more. */
  assigned_to: z.string().optional(),
});

const RecordNoted = z.object({ record, sealed_note: sealed });

const NextStepPlanned = z.object({
  record,
  /** Epoch milliseconds. */
  due_at: z.number(),
  sealed_step: sealed.optional(),
});

const NextStepDone = z.object({ record });

export const planEvents = { NextStepDone, NextStepPlanned, RecordAssigned, RecordNoted };
