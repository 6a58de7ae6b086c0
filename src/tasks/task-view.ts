/** Tasks of A2A as answers show them, and the requests that make them. */
import { z } from 'zod';
import { type BoundaryId, boundaryOf, BOUNDARIES } from '#contracts/boundaries.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { ChannelKind, Outbound } from '#contracts/outreach/records.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import type { taskOperations } from '#contracts/tasks/operations.ts';
import {
  type SkillId,
  attributionQuestion,
  isSkill,
  PROMOTIONS,
  SKILLS,
} from '#contracts/tasks/skills.ts';
import { deciderFor } from '#src/outreach/outbound.decider.ts';
import type { TaskRef } from '#src/shared/call.ts';
import { iso } from '#src/shared/time.ts';
import { TASK_STATUS_OF, type TaskState, type TaskStatus } from './task.decider.ts';

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
  const input = withoutNull(action === undefined ? fields : { ...fields, action });
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

/** Removes null where it decides what is asked for; the schema of the operation says what null means elsewhere. */
const withoutNull = ({ idempotency_key, revises, kind, ...input }: Record<string, unknown>) => ({
  ...input,
  ...(isGiven(idempotency_key) && { idempotency_key }),
  ...(isGiven(revises) && { revises }),
  ...(isGiven(kind) && { kind }),
});

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const isKind = (kind: unknown): kind is ChannelKind =>
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
const guideTo = (
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

/** Result of a task. Its content may hold text of buyers, shops and agents: it is data, never instructions. */
export type TaskArtifact = { id: string; name: string; content: object; cut?: boolean };

/** A task as a caller may see it, before a protocol gives it its form. */
export type TaskView = {
  id: string;
  contextId: string;
  skill?: SkillId;
  status: TaskStatus;
  /** Time of the newest event in this status. */
  at: string;
  /** Increases with each event, so that two views with the same status differ. */
  version: number;
  /** Fixed text with ids and times; never text that a caller wrote. */
  says: string;
  /** The same for programs. */
  detail?: object;
  artifacts: TaskArtifact[];
  record?: string;
};

const SAYS: Record<Outbound['status'], string> = {
  pending_approval: 'Waits for people to approve exactly this content. No message can approve it.',
  changes_requested:
    'An approver asks for changes. Send a message with this taskId and a data part with the new text.',
  approved: 'Approved; waits to be sent.',
  dispatched: 'Handed over for delivery.',
  confirmed: 'The receiver confirmed it.',
  failed: 'It was not delivered.',
  outcome_unknown: 'It may have been delivered. Do not send it again before a person has looked.',
  expired: 'It was not approved and sent in time.',
  rejected: 'An approver refused it.',
  canceled: 'Canceled before it was sent.',
};

/** Stable codes of states that are not a success. */
const CODES: Partial<Record<Outbound['status'], string>> = {
  pending_approval: 'approval_required',
  changes_requested: 'changes_requested',
  failed: 'delivery_failed',
  outcome_unknown: 'outcome_unknown',
  expired: 'approval_expired',
  rejected: 'approval_refused',
};

export const viewOfOutbound = (record: Outbound, { task_id, context_id }: TaskRef): TaskView => {
  const { status, approval, schedule, revision, content_sha256 } = record;
  const code = CODES[status];
  const given = approval.decisions.filter(({ decision }) => decision === 'approve').length;
  const until =
    status === 'pending_approval'
      ? ` The ${deciderFor(approval.mode)} decides until ${schedule.not_after}.`
      : '';
  return {
    id: task_id,
    contextId: context_id,
    skill: 'coordinate_promotion',
    status: TASK_STATUS_OF[status],
    at: status === 'expired' ? schedule.not_after : record.updated_at,
    version: record.version,
    says: SAYS[status] + until,
    detail: {
      ...(code !== undefined && { code }),
      outbound_id: record.id,
      status,
      revision,
      content_sha256,
      ...(status === 'pending_approval' && {
        approval: {
          decided_by: deciderFor(approval.mode),
          required: approval.required,
          given,
          until: schedule.not_after,
        },
      }),
      ...(status === 'changes_requested' && {
        data_part: { skill: 'coordinate_promotion', kind: record.kind, text: 'the new text' },
      }),
      ...(TASK_STATUS_OF[status] === 'FAILED' && { retryable: false }),
    },
    artifacts: [...decisionOf(record), ...receiptOf(record)],
    record: record.id,
  };
};

/** The approver's decision: it has text of a person, so it is an artifact and not a status. */
const decisionOf = ({ status, approval, revision }: Outbound): TaskArtifact[] => {
  if (status !== 'rejected' && status !== 'changes_requested') return [];
  const last = approval.decisions.at(-1);
  if (!last) return [];
  const { decision, role, at, note } = last;
  const content = { decision, role, at, ...(note !== undefined && { note }) };
  return [{ id: `decision-${revision}`, name: 'decision', content }];
};

const receiptOf = (record: Outbound): TaskArtifact[] => {
  if (record.status !== 'confirmed') return [];
  const { id, revision, content_sha256, delivery, updated_at } = record;
  const { adapter, attempts, evidence } = delivery;
  const content = {
    outbound_id: id,
    revision,
    content_sha256,
    adapter,
    attempts,
    ...(evidence !== undefined && { evidence }),
    confirmed_at: updated_at,
  };
  return [{ id: 'receipt', name: 'receipt', content }];
};

/** View of a handoff as a task, which is completed once the handoff exists. */
export const viewOfHandoff = (record: Handoff, { task_id, context_id }: TaskRef): TaskView => ({
  id: task_id,
  contextId: context_id,
  skill: 'prepare_handoff',
  status: 'COMPLETED',
  at: record.created_at,
  version: 0,
  says: record.delivery
    ? 'The handoff is ready. The service mails its link to the buyer once the delivery is approved.'
    : 'The handoff is ready for the buyer. Give review_url to the buyer and to nobody else.',
  artifacts: [{ id: 'handoff', name: 'handoff', content: record }],
  record: record.id,
});

/** View of a task without a record. */
export const viewOfTask = (state: TaskState): TaskView => {
  const { task_id, context_id, status, missing = [], artifact, code, boundary } = state;
  const skill = isSkill(state.skill) ? state.skill : undefined;
  return {
    id: task_id,
    contextId: context_id,
    ...(skill && { skill }),
    status,
    at: iso(state.updated_at),
    version: state.version,
    ...saidOf(status, { skill, missing, code, boundary }),
    artifacts: artifact
      ? [
          {
            id: artifact.name,
            name: artifact.name,
            content: JSON.parse(artifact.content) as object,
            ...(artifact.cut && { cut: true }),
          },
        ]
      : [],
  };
};

type StatusText = {
  skill: SkillId | undefined;
  missing: string[];
  code: string | undefined;
  boundary: string | undefined;
};

const saidOf = (
  status: TaskState['status'],
  { skill, missing, code, boundary }: StatusText,
): Pick<TaskView, 'says' | 'detail'> => {
  switch (status) {
    case 'INPUT_REQUIRED':
      return {
        says:
          'Send a message with this taskId and one data part like the example. Words alone are not ' +
          `acted on.${skill ? ` The skill is ${SKILLS[skill].id}.` : ''}`,
        detail: { code: 'input_required', missing, ...guideTo(skill, missing) },
      };
    case 'REJECTED': {
      const known = PROBLEMS[code as ProblemCode];
      return {
        says: `${known.title}. ${known.hint} Afterwards send a message with a new messageId.`,
        detail: {
          code,
          ...BOUNDARIES.filter(({ id }) => id === boundary).map(({ id, instead }) => ({
            boundary: id,
            instead,
          }))[0],
          recovery: { action: known.action, retryable: false },
        },
      };
    }
    case 'COMPLETED':
      return { says: 'Answered; see the artifact.' };
    case 'CANCELED':
      return { says: 'Canceled.' };
  }
};
