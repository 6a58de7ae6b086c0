import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

// In the stream {owner}-plan_{id of the record}: what staff plan for a lead, an RFQ or a request for access. Texts are
// sealed for the record, so that its erasure erases them.

const record = z.string();

export const RecordAssigned = z.object({
  record,
  /** The id of the person. Absent if the record is assigned to no person any more. */
  assigned_to: z.string().optional(),
});

export const RecordNoted = z.object({ record, sealed_note: sealed });

export const NextStepPlanned = z.object({
  record,
  /** Epoch milliseconds. */
  due_at: z.number(),
  sealed_step: sealed.optional(),
});

export const NextStepDone = z.object({ record });

export const planEvents = { NextStepDone, NextStepPlanned, RecordAssigned, RecordNoted };
