import type { ProblemCode } from '#contracts/problems.ts';
import { isTerminal, type TaskRow } from '#src/domain/task.ts';
import type { TaskRef } from '../pipeline/call.ts';
import { done, forbidden, type Outcome, type Refusal } from '../pipeline/outcome.ts';
import { makeRecord } from './make-record.ts';
import { ARTIFACT_BYTES_MAX, performanceDigest } from './performance-digest.ts';
import { rowIfReady, rowOf, viewOfRow } from './read-task.ts';
import { contextUnknown, messageIdTaken, taskEnded, taskNotFound } from './refusals.ts';
import { revisionRequest } from './revision.ts';
import { replayMessage, type Sending, storeTask } from './stored-task.ts';
import type { TaskHandler } from './task-handler.ts';
import { isContextOf, keyFor, recordFor, refFor, taskIdFor } from './task-refs.ts';
import { requestOf, type TaskRequest } from './task-request.ts';
import type { TaskView } from './task-view.ts';

type Result = Promise<Outcome<TaskView>>;

/** Refusals that end a task without a record: the same request would be refused again. */
const REJECTING: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'boundary_forbidden',
  'scope_missing',
  'channel_not_verified',
  'approver_missing',
]);

/** Starts a task or continues one. */
const handleMessage = async (sending: Sending): Result => {
  const { deps, call, message } = sending;
  const { taskId, contextId } = message;
  if (contextId !== undefined && !isContextOf(deps, call.caller, contextId))
    return contextUnknown();
  if (taskId === undefined) return startTask(sending);
  const row = await rowOf(deps, call.caller, taskId);
  if (!row) return taskNotFound();
  if (contextId !== undefined && contextId !== row.context_id) return contextUnknown();
  return continueTask(sending, row);
};

const startTask = async (sending: Sending): Result => {
  const { deps, call, message } = sending;
  const ref = refFor(deps, call.caller, message);
  const request = requestOf(message);
  const row = await rowIfReady(deps, call.caller, ref.task_id);
  if (!row || row.record === expectedRecord(sending, request)) return fulfil(sending, request, ref);
  if (request.kind === 'operation') call.auditAs(request.operation);
  return (await replayMessage(sending, ref.task_id)) ?? messageIdTaken();
};

const continueTask = async (sending: Sending, row: TaskRow): Result => {
  const replayed = await replayMessage(sending, row.task_id);
  const { record, skill } = row;
  if (replayed && record === undefined) return replayed;
  if (record === undefined && isTerminal(row.status)) return taskEnded();
  const request = requestOf(sending.message, { skill });
  // Either the task has no record yet, or this is the message that made it, sent again.
  if (record === undefined || record === expectedRecord(sending, request))
    return fulfil(sending, request, row);
  if (replayed) return replayed;
  if (!record.startsWith('out_')) return taskEnded();
  return continueOutreach(sending, { ...row, record });
};

/** Handles a message to an outreach request: it proposes new content, or changes nothing. */
const continueOutreach = async (sending: Sending, row: TaskRow & { record: string }): Result => {
  const { deps, message, call } = sending;
  const request = await revisionRequest(sending, row.record);
  if (!request) return taskNotFound();
  if (request.kind === 'forbidden') return forbidden(request.boundary);
  const isNewContent = request.kind === 'operation' && request.skill === 'coordinate_promotion';
  if (message.data && !isNewContent) return taskEnded();
  if (request.kind === 'operation') return makeRecord(sending, request, row);
  // Text alone changes nothing; above all it approves nothing.
  const view = await viewOfRow(deps, call.caller, row);
  if (!view || isTerminal(view.status)) return taskEnded();
  return done(view);
};

/** Id of the record that the message makes, or has made; undefined when it makes none. */
const expectedRecord = ({ call, message }: Sending, request: TaskRequest): string | undefined => {
  if (request.kind !== 'operation' || request.operation === 'getPerformance') return undefined;
  const given = request.input['idempotency_key'];
  const key = typeof given === 'string' ? given : keyFor(message.messageId);
  return recordFor(call.caller, request.operation, key);
};

const fulfil = async (sending: Sending, request: TaskRequest, ref: TaskRef): Result => {
  const { call } = sending;
  const identity = {
    task_id: ref.task_id,
    context_id: ref.context_id,
    agent_id: call.caller.agentId,
  };
  const ends = { sending, identity };
  switch (request.kind) {
    case 'forbidden': {
      const { boundary } = request;
      const refusal = forbidden(boundary);
      // The task is stored, and what it asks for is audited as refused.
      call.auditAs(call.operation, refusal);
      return reject(ends, { code: refusal.code, boundary });
    }
    case 'incomplete': {
      const { skill, missing } = request;
      return requireInput(ends, { ...(skill && { skill }), missing });
    }
    case 'question': {
      const answer = await call.within('answerAttributionQuestion', request.input);
      if (!answer.ok) return refuseTask(ends, request.skill, answer);
      return complete(ends, request.skill, {
        name: 'attribution',
        answer: answer.value as object,
      });
    }
    case 'operation': {
      const { skill, operation, input } = request;
      if (operation === 'getPerformance') {
        const digest = await performanceDigest(call, input);
        if (!digest.ok) return refuseTask(ends, skill, digest);
        return complete(ends, skill, { name: 'digest', ...digest.value });
      }
      const made = await makeRecord(sending, request, ref);
      return made.ok ? made : refuseTask(ends, skill, made);
    }
  }
};

/** A task that has no record, and the message that it comes from. */
type Ends = {
  sending: Sending;
  identity: { task_id: string; context_id: string; agent_id: string };
};

const reject = (
  { sending, identity }: Ends,
  reason: { skill?: string; code: string; boundary?: string },
): Result =>
  storeTask(sending, identity.task_id, { type: 'Reject', task: { ...identity, ...reason } });

const requireInput = (
  { sending, identity }: Ends,
  input: { skill?: string; missing: string[] },
): Result =>
  storeTask(sending, identity.task_id, { type: 'Receive', task: { ...identity, ...input } });

/** Stores a refusal as a task where A2A has a state for it; answers it as an error otherwise. */
const refuseTask = async (ends: Ends, skill: string, refusal: Refusal): Result => {
  const { code, errors = [] } = refusal;
  if (REJECTING.has(code)) return reject(ends, { skill, code });
  const isIncomplete = errors.length > 0 && errors.every((fault) => fault.code === 'required');
  if (!isIncomplete) return refusal;
  const missing = [...new Set(errors.map(({ pointer }) => pointer.split('/')[1] ?? ''))];
  return requireInput(ends, { skill, missing });
};

const complete = (
  { sending, identity }: Ends,
  skill: string,
  { name, answer, cut = false }: { name: string; answer: object; cut?: boolean },
): Result => {
  const artifact = { name, ...(cut && { cut }), ...fitToArtifact(answer) };
  return storeTask(sending, identity.task_id, {
    type: 'Complete',
    task: { ...identity, skill, artifact },
  });
};

/** Serializes an answer; drops events from the end of a chain until it fits, and then says `cut`. */
const fitToArtifact = (answer: object): { content: string; cut?: boolean } => {
  const content = JSON.stringify(answer);
  if (Buffer.byteLength(content) <= ARTIFACT_BYTES_MAX) return { content };
  const { chain } = answer as { chain?: unknown };
  if (!Array.isArray(chain) || chain.length === 0)
    throw new Error('an answer is too large to be stored');
  const shorter = chain.slice(0, Math.floor(chain.length * 0.75));
  return { ...fitToArtifact({ ...answer, chain: shorter }), cut: true };
};

/**
 * Makes the handler of messages. It handles the messages of one task one after another, so that two concurrent
 * ones cannot both start it.
 */
export const messageHandler = (): TaskHandler<'sendMessage'> => {
  const lastByTask = new Map<string, Promise<unknown>>();
  return (deps, message, call) => {
    const { caller } = call;
    const key = `${caller.ownerId}/${message.taskId ?? taskIdFor(caller, message.messageId)}`;
    const handled = (lastByTask.get(key) ?? Promise.resolve()).then(() =>
      handleMessage({ deps, call, message }),
    );
    const settled = handled
      .catch(() => undefined)
      .finally(() => {
        if (lastByTask.get(key) === settled) lastByTask.delete(key);
      });
    lastByTask.set(key, settled);
    return handled;
  };
};
