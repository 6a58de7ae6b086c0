/* Moves that wait for the approval of another person: of RFQs and of leads. */
import { z } from 'zod';
import { time } from './fields.ts';

export const proposalNumber = z
  .int()
  .describe('Names the proposal in the operations that approve and refuse it');

export const proposal = z
  .int()
  .min(1)
  .describe('number of the proposal, as the operation that reads the record shows it');

/** Who proposed a move, and when. */
export const proposedBy = { by: z.string(), by_name: z.string().optional(), at: time };

export const needsApproval = z
  .literal(true)
  .optional()
  .describe('A move waits for the approval of another person');

export const needsApprovalOnly = z
  .boolean()
  .optional()
  .describe(
    'Only those with a move that waits for the approval of another person; false: only the others',
  );

export const APPROVER_RULE =
  'The person who proposed the move cannot approve it, nor can anybody whose token that person issued, or who ' +
  'issued theirs.';
