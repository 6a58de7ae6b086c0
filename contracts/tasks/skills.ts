/** The skills of the A2A card, and the operations behind them. */
import { z } from 'zod';
import { asOf, id, identifier, time } from '#contracts/fields.ts';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import type { ChannelKind } from '#contracts/outreach/records.ts';
import { type NeededScope, OUTBOUND_SCOPES, type Scope } from '#contracts/scopes.ts';

/** A skill of the A2A interface. Its work is done by operations. */
export type Skill = {
  id: SkillId;
  name: string;
  description: string;
  tags: readonly string[];
  /** Any one of these scopes allows the skill; the operation itself may need a certain one. */
  scope: NeededScope;
  /** The same as text, also where the scope depends on the request. */
  needs: string;
  /** The operations that the skill calls, and their scopes. */
  operations: readonly { id: OperationId; scope: NeededScope }[];
  /** Complete data parts: valid by the schema of their operation, and accepted by the demo unchanged. */
  examples: readonly Record<string, unknown>[];
};

export type SkillId =
  | 'coordinate_promotion'
  | 'prepare_handoff'
  | 'performance_digest'
  | 'attribution_question';

/** The operation of each kind of outreach. */
export const PROMOTIONS = {
  social_post: 'requestSocialPost',
  message: 'requestMessage',
  agent_notification: 'requestAgentNotification',
} as const satisfies Record<ChannelKind, OperationId>;

/** The subject of a question: exactly one of the fields. */
export const attributionQuestion = z
  .strictObject({
    link_id: id('lnk').optional(),
    handoff_id: id('hnd').optional(),
    lead_id: id('led').optional(),
    external_id: identifier(128).optional().describe('external_id of one of your leads'),
    position: z
      .int()
      .min(1)
      .optional()
      .describe('Log position of an event, for example of a click'),
  })
  .refine((value) => Object.values(value).filter((one) => one !== undefined).length === 1, {
    error: 'must have exactly one of link_id, handoff_id, lead_id, external_id and position',
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
  more: z.boolean().describe('true if the record has more events than are shown'),
  as_of: asOf,
});

export type AttributionAnswer = z.infer<typeof attributionAnswer>;

/** The scope that a question about a lead needs besides that of the skill. */
export const LEAD_QUESTION_SCOPE = 'leads:read' satisfies Scope;

export const asksOfLead = (question: object): boolean =>
  'lead_id' in question || 'external_id' in question;

const scopesOf = (...ids: OperationId[]): Skill['operations'] =>
  ids.map((name) => ({ id: name, scope: agentOperations[name].scope }));

const scopeText = (operation: OperationId): string =>
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
      'Proposes a social post, a message or a notification to another agent. Nothing is sent until people have ' +
      'approved exactly this text: until then the task is in TASK_STATE_AUTH_REQUIRED. If people request changes, it ' +
      'is in TASK_STATE_INPUT_REQUIRED until a message of the same task has the new text.',
    tags: ['promotion', 'outreach', 'approval'],
    scope: OUTBOUND_SCOPES,
    needs: Object.entries(PROMOTIONS)
      .map(([kind, operation]) => `${scopeText(operation)} for ${kind}`)
      .join(', '),
    operations: scopesOf(...Object.values(PROMOTIONS)),
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
      'Prepares a list of products for a buyer to review. Only the buyer can send it as an RFQ; this skill sends, ' +
      'reserves and agrees nothing.',
    tags: ['handoff', 'buyer'],
    scope: agentOperations.createHandoff.scope,
    needs: scopeText('createHandoff'),
    operations: scopesOf('createHandoff'),
    examples: [{ skill: 'prepare_handoff', ...exampleOf('createHandoff') }],
  },
  performance_digest: {
    id: 'performance_digest',
    name: 'Performance digest',
    description:
      "Reports the owner's clicks, handoffs and leads by day, week or month, as of one log position.",
    tags: ['performance', 'report'],
    scope: agentOperations.getPerformance.scope,
    needs: scopeText('getPerformance'),
    operations: scopesOf('getPerformance'),
    examples: [{ skill: 'performance_digest', ...exampleOf('getPerformance') }],
  },
  attribution_question: {
    id: 'attribution_question',
    name: 'Attribution question',
    description:
      'Explains the attribution of a click, a handoff or a lead: the events that caused it, in order, with their ' +
      'positions and times, and the rule. Name exactly one of link_id, handoff_id, lead_id, external_id (of a lead) ' +
      `and position. A question about a lead also needs ${LEAD_QUESTION_SCOPE}.`,
    tags: ['attribution', 'audit'],
    scope: agentOperations.getPerformance.scope,
    needs: `${scopeText('getPerformance')}, and ${LEAD_QUESTION_SCOPE} for a question about a lead`,
    operations: [],
    examples: [{ skill: 'attribution_question', external_id: 'crm-corner' }],
  },
};

export const isSkill = (name: unknown): name is SkillId =>
  typeof name === 'string' && Object.hasOwn(SKILLS, name);
