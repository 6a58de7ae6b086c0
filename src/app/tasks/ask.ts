import { z } from 'zod';
import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import { agentOperations, type OperationId } from '#contracts/index.ts';
import type { OutboundKind } from '#contracts/records/outbound.ts';
import type { SkillId } from '#contracts/skills.ts';
import { attributionQuestion, isSkill, PROMOTIONS, SKILLS } from '#contracts/skills.ts';

/** A message as an interface hands it over: what can be acted on is in its data part. */
export type TaskMessage = {
  messageId: string;
  taskId?: string | undefined;
  contextId?: string | undefined;
  data?: Record<string, unknown> | undefined;
  /** Hash of what its other parts say: kept in place of the words. */
  otherParts: string;
};

/** What a message asks for. */
export type Ask =
  | { kind: 'operation'; skill: SkillId; operation: OperationId; input: Record<string, unknown> }
  | { kind: 'question'; skill: SkillId; input: Record<string, unknown> }
  | { kind: 'incomplete'; skill?: SkillId; missing: string[] }
  | { kind: 'forbidden'; boundary: BoundaryId };

/** `known` is what the task was asked for before: a message that continues it need not repeat it. */
export const askOf = (
  { data }: Pick<TaskMessage, 'data'>,
  known: { skill?: string | undefined; kind?: string | undefined } = {},
): Ask => {
  const { skill = known.skill, action, ...fields } = data ?? {};
  const named = [isSkill(skill) ? undefined : skill, action];
  const boundary = boundaryOf(named.filter((name) => typeof name === 'string').join(' '));
  if (boundary) return { kind: 'forbidden', boundary };
  if (!isSkill(skill)) return { kind: 'incomplete', missing: ['skill'] };
  if (!data) return { kind: 'incomplete', skill, missing: requiredOf(skill) };
  const input = action === undefined ? fields : { ...fields, action };
  switch (skill) {
    case 'attribution_question':
      return { kind: 'question', skill, input };
    case 'prepare_handoff':
      return { kind: 'operation', skill, operation: 'createHandoff', input };
    case 'performance_digest': {
      // A read has no key; in a message it does no harm.
      const { idempotency_key: _key, ...query } = input;
      return { kind: 'operation', skill, operation: 'getPerformance', input: query };
    }
    case 'coordinate_promotion': {
      const { kind = known.kind, ...rest } = input;
      return isKind(kind)
        ? { kind: 'operation', skill, operation: PROMOTIONS[kind], input: rest }
        : { kind: 'incomplete', skill, missing: ['kind'] };
    }
  }
};

const isKind = (kind: unknown): kind is OutboundKind =>
  typeof kind === 'string' && Object.hasOwn(PROMOTIONS, kind);

type Schema = { properties?: Record<string, unknown>; required?: string[] };

const KIND_SCHEMA = { type: 'string', enum: Object.keys(PROMOTIONS) };
const SKILL_SCHEMA = { type: 'string', enum: Object.keys(SKILLS) };

const schemaOf = (skill: SkillId): Schema => {
  const [operation] = SKILLS[skill].operations;
  const shape = operation ? agentOperations[operation.id].input : attributionQuestion;
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
};

const requiredOf = (skill: SkillId): string[] => {
  const needed = (schemaOf(skill).required ?? []).filter((name) => name !== 'idempotency_key');
  return skill === 'coordinate_promotion' ? ['kind', ...needed] : needed;
};

/** What a caller should send instead: an example of the whole data part, and what is missing in it. */
export const guideTo = (
  skill: SkillId | undefined,
  missing: readonly string[],
): { examples: readonly object[]; schema: object } => {
  const known: Record<string, unknown> = {
    ...(skill && schemaOf(skill).properties),
    kind: KIND_SCHEMA,
    skill: SKILL_SCHEMA,
  };
  const names = missing.filter((name) => known[name] !== undefined);
  return {
    examples: skill
      ? SKILLS[skill].examples
      : Object.values(SKILLS).flatMap(({ examples }) => examples.slice(0, 1)),
    schema: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, known[name]])),
      required: names,
    },
  };
};
