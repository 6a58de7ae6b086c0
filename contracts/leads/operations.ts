/** Operations on leads: of agents, and of staff at the desk. */
import { z } from 'zod';
import {
  deskList,
  deskQuery,
  movesText,
  recordCommands,
  recordState,
} from '#contracts/desk-operation.ts';
import { leadExample } from '#contracts/examples/records.ts';
import {
  encrypted,
  idempotencyKey,
  identifier,
  metadata,
  asOf,
  cursor,
  handoffId,
  limit,
  linkId,
  page,
  time,
  unstored,
  id,
  enteredMoney,
  money,
  ownerSpace,
} from '#contracts/fields.ts';
import { LEAD_STATES, LEAD_MOVES, OPEN_LEAD_STATES } from '#contracts/moves.ts';
import { defineOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS, PAGE_PROBLEMS } from '#contracts/problems.ts';
import {
  APPROVER_RULE,
  proposal,
  proposalNumber,
  proposedBy,
  needsApproval,
  needsApprovalOnly,
} from '#contracts/proposals.ts';
import { company, consent, contact, interest, leadRecord, leadSource } from './records.ts';
import { planned, inboxList } from '#contracts/plans/operations.ts';

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
      external_id: identifier(128).describe(
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
      withdraw_reason: encrypted.line(200).optional().describe('Why it is withdrawn; encrypted'),
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

export const listLeads = defineOperation({
  kind: 'query',
  recordsAnswers: true,
  scope: 'leads:read',
  http: { method: 'GET', path: '/leads', status: 200 },
  summary: "List the owner's leads, newest first",
  guidance:
    'Read the next page with next_cursor while has_more is true. With a narrow filter a page may have few rows or ' +
    'none although more follow. Present the Consistency-Token of a write to be sure to see it. The time of a change ' +
    'is that at which its call began, shortly before it is written: to poll for changes, set updated_since to one ' +
    'minute before your previous call.',
  brief:
    'Read the next page with next_cursor while has_more is true; a page may have few rows or none. To poll for changes, ' +
    'set updated_since to one minute before your previous call.',
  next: 'submitLead with the same external_id amends a lead.',
  input: z.strictObject({
    state: z.enum(LEAD_STATES).optional().describe('Only leads in this state'),
    source: leadSource.shape.kind.optional(),
    link_id: linkId.optional(),
    handoff_id: handoffId.optional(),
    external_id: unstored
      .identifier(128)
      .optional()
      .describe('Your own reference: answers the one lead that has it, or none'),
    created_from: time.optional().describe('Only leads submitted at this time or later'),
    created_to: time.optional().describe('Only leads submitted at this time or earlier'),
    updated_since: time.optional().describe('Only leads changed at this time or later'),
    limit,
    cursor: cursor.optional(),
  }),
  output: z.object({ data: z.array(leadRecord), page, as_of: asOf }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'leads that staff have not handled yet',
      input: { state: 'submitted', limit: 25 },
      output: {
        data: [leadExample],
        page: { next_cursor: null, has_more: false },
        as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});

/* What staff do with leads. */

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
  'A win without an RFQ, a correction that raises the value or makes a win of a loss, and any correction above ' +
  'APPROVAL_ABOVE are only proposed, and another person approves them with approveLeadMove.';

const moveLead = leadCommand({
  isSensitive: true,
  verb: 'move',
  summary: 'Move a lead to its next state',
  guidance:
    `${movesText(LEAD_MOVES)}. A won lead may have a value. ${APPROVAL} A lead whose buyer has sent the RFQ of its ` +
    'handoff becomes rfq_submitted when it is accepted, and takes the outcome of the RFQ: move that. A won RFQ accepts ' +
    'and wins every open lead of its handoff. A lead that is ' +
    'rejected, duplicate, unqualified or lost releases the claim on its contact.',
  fields: {
    to: z
      .enum(LEAD_STATES)
      .exclude(['submitted', 'rfq_submitted', 'withdrawn', 'lapsed'])
      .describe('The next state'),
    reason: encrypted.line(500).optional().describe('Stored in the history of the lead'),
    value: enteredMoney.optional().describe('Value of a won lead'),
  },
  name: 'accepted',
  input: { to: 'accepted' },
  output: { state: 'accepted' },
});

const correctLead = leadCommand({
  isSensitive: true,
  verb: 'correct',
  summary: 'Change or reverse the outcome of a lead',
  guidance:
    'For a lead that was won or lost by itself; qualified reverses the outcome. The numbers of the day of the outcome ' +
    `change. ${APPROVAL} A lead that took the outcome of an RFQ follows the corrections of the RFQ.`,
  fields: {
    to: z.enum(CORRECTIONS).describe('The right state'),
    reason: encrypted.line(500).describe('Stored in the history of the lead'),
    value: enteredMoney.optional().describe('The right value of a won lead'),
  },
  name: 'reversed',
  input: { to: 'qualified', reason: 'The order was for another shop' },
  output: { state: 'qualified' },
});

const approveLeadMove = leadCommand({
  isSensitive: true,
  verb: 'approve',
  summary: 'Approve the proposed win or correction of a lead as the second person',
  guidance: APPROVER_RULE,
  fields: { proposal },
  problems: ['approver_not_independent'],
  name: 'of a win',
  input: { proposal: 1 },
  output: { state: 'won' },
});

const refuseLeadMove = leadCommand({
  verb: 'refuse',
  summary: 'Refuse or take back the proposed win or correction of a lead',
  guidance: 'The lead keeps its state. The person who proposed the move can take it back.',
  fields: { proposal, reason: encrypted.line(500).describe('Stored encrypted in the history') },
  name: 'of a win',
  input: { proposal: 1, reason: 'The value is that of another order' },
  output: { state: 'qualified' },
});

const readLead = deskQuery({
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
      .describe('At most 20, newest first'),
  }),
  example: {
    name: 'by its id',
    input: { lead_id: leadExample.id },
    output: { ...leadExample, alike: [] },
  },
});

const openLead = leadRecord
  .omit({
    contact: true,
    consent: true,
    interest: true,
    state_reason: true,
    outcome_value: true,
    metadata: true,
  })
  .extend({ needs_approval: needsApproval, ...planned });

const listOpenLeads = inboxList({
  path: '/leads',
  summary: 'List the leads of all owners that wait for staff',
  guidance:
    'Without state: all leads that staff can move, and those whose correction waits for approval. readLead shows the ' +
    'contact of one. A lead without contact with its company by claim_expires_at has lapsed, and is listed with ' +
    'state=lapsed only.',
  what: 'Leads',
  began: 'submitted',
  row: openLead,
  fields: {
    state: z
      .enum([...OPEN_LEAD_STATES, 'lapsed'])
      .optional()
      .describe('Leads in this state only'),
    needs_approval: needsApprovalOnly,
  },
  example: openLead.parse(leadExample),
});

export const ownerLead = leadRecord.omit({
  contact: true,
  consent: true,
  interest: true,
  state_reason: true,
  metadata: true,
  rfq: true,
});

const listOwnerLeads = deskList({
  path: '/owners/{owner_id}/leads',
  summary: "List an owner's leads in all states, newest first, without their contacts",
  row: ownerLead,
  example: ownerLead.parse(leadExample),
});

export const leadsDeskOperations = {
  approveLeadMove,
  correctLead,
  listOwnerLeads,
  listOpenLeads,
  moveLead,
  readLead,
  refuseLeadMove,
};
