import { z } from 'zod';
import { asOf, id, line, time } from './fields.ts';
import { agentOperations, type OperationId } from './index.ts';
import type { OutboundKind } from './records/outbound.ts';
import { type NeededScope, OUTBOUND_SCOPES, type Scope } from './scopes.ts';

/** What an agent can ask for over A2A. The operations do the work; a skill names them as one task. */
export type Skill = {
  id: SkillId;
  name: string;
  description: string;
  tags: readonly string[];
  /** Any one of them opens the skill; the operation itself may need a certain one. */
  scope: NeededScope;
  /** The same in words, also where it depends on what is asked. */
  needs: string;
  /** Operations behind it, and the scope that each needs. */
  operations: readonly { id: OperationId; scope: NeededScope }[];
  /** Data parts, whole: valid by the schema of their operation, and accepted by the demo as they stand. */
  examples: readonly Record<string, unknown>[];
};

export type SkillId =
  | 'coordinate_promotion'
  | 'prepare_handoff'
  | 'performance_digest'
  | 'attribution_question';

/** The operation behind each kind of outreach. */
export const PROMOTIONS = {
  social_post: 'requestSocialPost',
  message: 'requestMessage',
  agent_notification: 'requestAgentNotification',
} as const satisfies Record<OutboundKind, OperationId>;

/** What is asked about: one of the members. */
export const attributionQuestion = z
  .strictObject({
    link_id: id('lnk').optional(),
    handoff_id: id('hnd').optional(),
    lead_id: id('led').optional(),
    external_id: line(128).optional().describe('Of a lead of yours'),
    position: z.int().min(1).optional().describe('Of an event in the log, for example of a click'),
  })
  .refine((value) => Object.values(value).filter((one) => one !== undefined).length === 1, {
    error: 'name one of link_id, handoff_id, lead_id, external_id and position',
  });

export const attributionAnswer = z.object({
  subject: z.object({ kind: z.enum(['link', 'handoff', 'lead', 'click']), id: z.string() }),
  statement: z.string(),
  rule: z.object({ name: z.string(), classifier_version: z.int() }),
  chain: z.array(
    z.object({
      position: z.int(),
      at: time,
      type: z.string(),
      record: z.string(),
      facts: z.record(z.string(), z.unknown()),
    }),
  ),
  more: z.boolean().describe('The record has more events than are shown'),
  as_of: asOf,
});

export type AttributionAnswer = z.infer<typeof attributionAnswer>;

/** What a question about a lead needs beside the scope of the skill. */
export const LEAD_QUESTION_SCOPE = 'leads:read' satisfies Scope;

export const asksOfLead = (question: object): boolean =>
  'lead_id' in question || 'external_id' in question;

const behind = (...ids: OperationId[]): Skill['operations'] =>
  ids.map((name) => ({ id: name, scope: agentOperations[name].scope }));

const scopeNamed = (operation: OperationId): string =>
  [agentOperations[operation].scope ?? []].flat().join(' or ');

const exampleOf = (operation: OperationId): Record<string, unknown> => {
  const [first] = agentOperations[operation].examples;
  const { idempotency_key: _key, ...input } = first?.input ?? {};
  return input;
};

export const SKILLS: Record<SkillId, Skill> = {
  coordinate_promotion: {
    id: 'coordinate_promotion',
    name: 'Coordinate a promotion',
    description:
      'Proposes a social post, a message or a notification to another agent. Nothing is sent until ' +
      'people approved exactly this text: the task waits in TASK_STATE_AUTH_REQUIRED. When changes are ' +
      'requested it waits in TASK_STATE_INPUT_REQUIRED for a message of the same task with the new text.',
    tags: ['promotion', 'outreach', 'approval'],
    scope: OUTBOUND_SCOPES,
    needs: Object.entries(PROMOTIONS)
      .map(([kind, operation]) => `${scopeNamed(operation)} for ${kind}`)
      .join(', '),
    operations: behind(...Object.values(PROMOTIONS)),
    examples: Object.entries(PROMOTIONS).map(([kind, operation]) => ({
      skill: 'coordinate_promotion',
      kind,
      ...exampleOf(operation),
    })),
  },
  prepare_handoff: {
    id: 'prepare_handoff',
    name: 'Prepare a handoff',
    description:
      'Prepares a list of products for a buyer to review. The buyer alone decides what becomes of it; ' +
      'nothing is sent, reserved or agreed by this skill.',
    tags: ['handoff', 'buyer'],
    scope: agentOperations.createHandoff.scope,
    needs: scopeNamed('createHandoff'),
    operations: behind('createHandoff'),
    examples: [{ skill: 'prepare_handoff', ...exampleOf('createHandoff') }],
  },
  performance_digest: {
    id: 'performance_digest',
    name: 'Performance digest',
    description: "The owner's clicks, handoffs and leads by day, week or month, as of one moment.",
    tags: ['performance', 'report'],
    scope: agentOperations.getPerformance.scope,
    needs: scopeNamed('getPerformance'),
    operations: behind('getPerformance'),
    examples: [{ skill: 'performance_digest', ...exampleOf('getPerformance') }],
  },
  attribution_question: {
    id: 'attribution_question',
    name: 'Attribution question',
    description:
      'Why a click, a handoff or a lead is attributed as it is: the events that led there, in order, ' +
      'with their positions and times, and the rule. Name one of link_id, handoff_id, lead_id, external_id ' +
      `(of a lead) and position. A question about a lead needs ${LEAD_QUESTION_SCOPE}, too.`,
    tags: ['attribution', 'audit'],
    scope: agentOperations.getPerformance.scope,
    needs: `${scopeNamed('getPerformance')}, and ${LEAD_QUESTION_SCOPE} for a question about a lead`,
    operations: [],
    examples: [{ skill: 'attribution_question', external_id: 'crm-corner' }],
  },
};

export const isSkill = (name: unknown): name is SkillId =>
  typeof name === 'string' && Object.hasOwn(SKILLS, name);
