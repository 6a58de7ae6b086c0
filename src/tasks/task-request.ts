import { z } from 'zod';
import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import type { OutboundKind } from '#contracts/outreach/outbound.records.ts';
import type { SkillId } from '#contracts/tasks/skills.ts';
import { attributionQuestion, isSkill, PROMOTIONS, SKILLS } from '#contracts/tasks/skills.ts';
import type { taskOperations } from '#contracts/tasks/tasks.operations.ts';

/** A message as an interface passes it on. Only its data part can ask for anything. */
export type TaskMessage = Omit<z.output<typeof taskOperations.sendMessage.input>, 'push'>;

export type OperationRequest = {
  kind: 'operation';
  skill: SkillId;
  operation: OperationId;
  input: Record<string, unknown>;
};

/** What a message asks for. */
export type TaskRequest =
  | OperationRequest
  | { kind: 'question'; skill: SkillId; input: Record<string, unknown> }
  | { kind: 'incomplete'; skill?: SkillId; missing: string[] }
  | { kind: 'forbidden'; boundary: BoundaryId };

/** Reads what a message asks for. `known` is what earlier messages of the task said, which it need not repeat. */
export const requestOf = (
  { data }: Pick<TaskMessage, 'data'>,
  known: { skill?: string | undefined; kind?: string | undefined } = {},
): TaskRequest => {
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
      // A query has no key; one that is sent is ignored.
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

/** What the caller should send: examples of the whole data part, and a schema of the missing fields. */
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
