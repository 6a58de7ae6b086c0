/* What staff do with leads. */
import { z } from 'zod';
import { deskQuery, movesText, recordCommands, recordState } from '#contracts/desk-operation.ts';
import { leadExample } from '#contracts/examples/records.ts';
import { id, line, money, ownerSpace } from '#contracts/fields.ts';
import { LEAD_MOVES, LEAD_STATES } from '#contracts/moves.ts';
import { APPROVER_RULE, proposal, proposalNumber, proposedBy } from '#contracts/proposals.ts';
import { leadRecord } from './lead.records.ts';

const LEAD = { lead_id: id('led'), owner_id: ownerSpace };
const CORRECTIONS = ['won', 'lost', 'qualified'] as const;

const proposedMove = z.object({
  number: proposalNumber,
  to: z.enum(CORRECTIONS),
  value: money.optional(),
  is_correction: z.boolean(),
});

const leadState = recordState.extend({
  proposed: proposedMove
    .optional()
    .describe('The move that waits for the approval of another person'),
});

const leadCommand = recordCommands({
  path: '/leads/{lead_id}',
  roles: ['staff'],
  fields: LEAD,
  output: leadState,
  example: {
    input: { lead_id: leadExample.id, owner_id: 'acme' },
    output: { id: leadExample.id, owner_id: 'acme' },
  },
});

const APPROVAL =
  'Above APPROVAL_ABOVE it is only proposed, and another person approves it with approveLeadMove.';

export const moveLead = leadCommand({
  verb: 'move',
  summary: 'Move a lead to its next state',
  guidance:
    `${movesText(LEAD_MOVES)}. A won lead may have a value. ${APPROVAL} A lead whose buyer has sent the RFQ of its ` +
    'handoff becomes rfq_submitted when it is accepted, and takes the outcome of the RFQ: move that. A lead that is ' +
    'rejected, duplicate, unqualified or lost releases the claim on its contact.',
  fields: {
    to: z
      .enum(LEAD_STATES)
      .exclude(['submitted', 'rfq_submitted', 'withdrawn', 'lapsed'])
      .describe('The next state'),
    reason: line(500).optional().describe('Stored in the history of the lead'),
    value: z.strictObject(money.shape).optional().describe('Value of a won lead'),
  },
  name: 'accepted',
  input: { to: 'accepted' },
  output: { state: 'accepted' },
});

export const correctLead = leadCommand({
  verb: 'correct',
  summary: 'Change or reverse the outcome of a lead',
  guidance:
    'For a lead that was won or lost by itself; qualified reverses the outcome. The numbers of the day of the outcome ' +
    `change. ${APPROVAL} A lead that took the outcome of an RFQ follows the corrections of the RFQ.`,
  fields: {
    to: z.enum(CORRECTIONS).describe('The right state'),
    reason: line(500).describe('Stored in the history of the lead'),
    value: z.strictObject(money.shape).optional().describe('The right value of a won lead'),
  },
  name: 'reversed',
  input: { to: 'qualified', reason: 'The order was for another shop' },
  output: { state: 'qualified' },
});

export const approveLeadMove = leadCommand({
  verb: 'approve',
  summary: 'Approve the proposed win or correction of a lead as the second person',
  guidance: APPROVER_RULE,
  fields: { proposal },
  problems: ['approver_not_independent'],
  name: 'of a win',
  input: { proposal: 1 },
  output: { state: 'won' },
});

export const refuseLeadMove = leadCommand({
  verb: 'refuse',
  summary: 'Refuse or take back the proposed win or correction of a lead',
  guidance: 'The lead keeps its state. The person who proposed the move can take it back.',
  fields: { proposal, reason: line(500).describe('Stored encrypted in the history') },
  name: 'of a win',
  input: { proposal: 1, reason: 'The value is that of another order' },
  output: { state: 'qualified' },
});

export const readLead = deskQuery({
  roles: ['staff'],
  readsPersonalData: true,
  path: '/leads/{lead_id}',
  summary: 'Read a lead with its contact',
  guidance:
    'Staff only. The lead as the log has it now, also at its end. alike are hints: leads with the same telephone or ' +
    'company domain, which need not be of one person. Each read is audited.',
  fields: { ...LEAD, owner_id: ownerSpace.optional().describe('Owner of the lead, if known') },
  output: leadRecord.extend({
    proposed: proposedMove
      .extend({ reason: z.string().optional(), ...proposedBy })
      .optional()
      .describe('The move that waits for the approval of another person'),
    alike: z
      .array(
        z.object({
          lead_id: id('led'),
          owner_id: z.string(),
          state: z.enum(LEAD_STATES),
          same: z.array(z.enum(['phone', 'domain'])),
        }),
      )
      .describe('At most 20, newest first. Leads that earlier versions stored are missing'),
  }),
  example: {
    name: 'by its id',
    input: { lead_id: leadExample.id },
    output: { ...leadExample, alike: [] },
  },
});

export const leadsDeskOperations = {
  approveLeadMove,
  correctLead,
  moveLead,
  readLead,
  refuseLeadMove,
};
