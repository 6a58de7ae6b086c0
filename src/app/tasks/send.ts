import type { ProblemCode } from '#contracts/problems.ts';
import { isTerminal, type TaskRow } from '#src/domain/task.ts';
import type { TaskRef } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, forbidden, type Outcome, type Refusal } from '../pipeline/outcome.ts';
import { type Ask, askOf } from './ask.ts';
import { ARTIFACT_BYTES_MAX, digestOf } from './digest.ts';
import { put, received, type Sending } from './put.ts';
import { rowIfReady, rowOf, viewOfRow } from './read.ts';
import { contextUnknown, messageIdTaken, taskEnded, taskNotFound } from './refusals.ts';
import { isContextOf, keyFor, recordFor, refFor, taskIdFor } from './refs.ts';
import { makeRecord } from './records.ts';
import { revision } from './revise.ts';
import type { TaskHandler } from './task-handler.ts';
import type { TaskView } from './view.ts';

/** What ends a task that has made no record: asking again changes nothing. */
const REJECTING: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'boundary_forbidden',
  'scope_missing',
  'channel_not_verified',
  'approver_missing',
]);

/** Takes a message: begins a task or continues one. */
const takeMessage = async (deps: Deps, sending: Sending): Promise<Outcome<TaskView>> => {
  const { call, message } = sending;
  const { taskId, contextId } = message;
  if (contextId !== undefined && !isContextOf(deps, call.caller, contextId))
    return contextUnknown();
  if (taskId === undefined) return begin(deps, sending);
  const row = await rowOf(deps, call.caller, taskId);
  if (!row) return taskNotFound();
  if (contextId !== undefined && contextId !== row.context_id) return contextUnknown();
  return continueTask(deps, sending, row);
};

const begin = async (deps: Deps, sending: Sending): Promise<Outcome<TaskView>> => {
  const { call, message } = sending;
  const { caller } = call;
  const ref = refFor(deps, caller, message);
  const ask = askOf(message);
  const row = await rowIfReady(deps, caller, ref.task_id);
  if (row && row.record !== expectedRecord(sending, ask)) {
    const again = await received(deps, sending, ref.task_id);
    if (ask.kind === 'operation') call.auditAs(ask.operation);
    return again ?? messageIdTaken();
  }
  return act(deps, sending, ask, ref);
};

const continueTask = async (
  deps: Deps,
  sending: Sending,
  row: TaskRow,
): Promise<Outcome<TaskView>> => {
  const again = await received(deps, sending, row.task_id);
  if (again && row.record === undefined) return again;
  const { record } = row;
  if (record === undefined) {
    if (isTerminal(row.status)) return taskEnded();
    return act(deps, sending, askOf(sending.message, { skill: row.skill }), row);
  }
  const asked = askOf(sending.message, { skill: row.skill });
  // The message that made the record, once more.
  if (record === expectedRecord(sending, asked)) return act(deps, sending, asked, row);
  if (again) return again;
  if (!record.startsWith('out_')) return taskEnded();
  return withRequest(deps, sending, { ...row, record });
};

/** A message to a task that is an outreach request: new content, or nothing. */
const withRequest = async (
  deps: Deps,
  sending: Sending,
  row: TaskRow & { record: string },
): Promise<Outcome<TaskView>> => {
  const { message, call } = sending;
  const found = await revision(deps, sending, row.record);
  if (!found) return taskNotFound();
  const { ask } = found;
  if (ask.kind === 'forbidden') return forbidden(ask.boundary);
  if (message.data && (ask.kind !== 'operation' || ask.skill !== 'coordinate_promotion'))
    return taskEnded();
  if (ask.kind === 'operation') return makeRecord(deps, sending, ask, row);
  // Words alone change nothing, least of all do they approve: the task as it stands.
  const view = await viewOfRow(deps, call.caller, row);
  if (!view || isTerminal(view.status)) return taskEnded();
  return done(view);
};

/** Which record the message makes, or has made. */
const expectedRecord = ({ call, message }: Sending, ask: Ask): string | undefined => {
  if (ask.kind !== 'operation' || ask.operation === 'getPerformance') return undefined;
  const given = ask.input['idempotency_key'];
  return recordFor(
    call.caller,
    ask.operation,
    typeof given === 'string' ? given : keyFor(message.messageId),
  );
};

const act = async (
  deps: Deps,
  sending: Sending,
  ask: Ask,
  ref: TaskRef,
): Promise<Outcome<TaskView>> => {
  const { call } = sending;
  switch (ask.kind) {
    case 'forbidden': {
      const refusal = forbidden(ask.boundary);
      // The task is made, and what was asked for is refused.
      call.auditAs(call.operation, refusal);
      return rejected(deps, sending, ref, { refusal, boundary: ask.boundary });
    }
    case 'incomplete': {
      const { skill, missing } = ask;
      const received = { ...named(sending, ref), ...(skill && { skill }), missing };
      return put(deps, sending, ref.task_id, { type: 'Receive', task: received });
    }
    case 'question': {
      const answer = await call.within('answerAttributionQuestion', ask.input);
      return answer.ok
        ? completed(deps, sending, ref, {
            ...ask,
            name: 'attribution',
            answer: answer.value as object,
          })
        : refused(deps, sending, ref, { ...ask, refusal: answer });
    }
    case 'operation': {
      if (ask.operation !== 'getPerformance') {
        const made = await makeRecord(deps, sending, ask, ref);
        return made.ok ? made : refused(deps, sending, ref, { ...ask, refusal: made });
      }
      const digest = await digestOf(call, ask.input);
      return digest.ok
        ? completed(deps, sending, ref, { ...ask, name: 'digest', ...digest.value })
        : refused(deps, sending, ref, { ...ask, refusal: digest });
    }
  }
};

const named = ({ call: { caller } }: Sending, { task_id, context_id }: TaskRef) => ({
  task_id,
  context_id,
  agent_id: caller.agentId,
});

type Refused = { skill?: string; refusal: Refusal; boundary?: string };

const rejected = (deps: Deps, sending: Sending, ref: TaskRef, told: Refused) => {
  const { skill, refusal, boundary } = told;
  return put(deps, sending, ref.task_id, {
    type: 'Reject',
    task: {
      ...named(sending, ref),
      ...(skill !== undefined && { skill }),
      code: refusal.code,
      ...(boundary !== undefined && { boundary }),
    },
  });
};

/** A refusal as a task, where the standard has a state for it. */
const refused = async (
  deps: Deps,
  sending: Sending,
  ref: TaskRef,
  { skill, refusal }: Refused,
): Promise<Outcome<TaskView>> => {
  if (REJECTING.has(refusal.code))
    return rejected(deps, sending, ref, { refusal, ...(skill !== undefined && { skill }) });
  const { errors = [] } = refusal;
  const isIncomplete = errors.length > 0 && errors.every(({ code }) => code === 'required');
  if (!isIncomplete) return refusal;
  const missing = [...new Set(errors.map(({ pointer }) => pointer.split('/')[1] ?? ''))];
  const task = { ...named(sending, ref), ...(skill !== undefined && { skill }), missing };
  return put(deps, sending, ref.task_id, { type: 'Receive', task });
};

type Answered = { skill: string; name: string; answer: object; cut?: boolean };

const completed = (
  deps: Deps,
  sending: Sending,
  ref: TaskRef,
  { skill, name, answer, cut = false }: Answered,
): Promise<Outcome<TaskView>> => {
  const artifact = { name, ...(cut && { cut }), ...fitted(answer) };
  return put(deps, sending, ref.task_id, {
    type: 'Complete',
    task: { ...named(sending, ref), skill, artifact },
  });
};

/** Links of a chain go from its end until it fits; the artifact says that they did. */
const fitted = (answer: object): { content: string; cut?: boolean } => {
  const content = JSON.stringify(answer);
  if (Buffer.byteLength(content) <= ARTIFACT_BYTES_MAX) return { content };
  const { chain } = answer as { chain?: unknown };
  if (!Array.isArray(chain) || chain.length === 0)
    throw new Error('an answer is too large to be kept');
  const kept = chain.slice(0, Math.floor(chain.length * 0.75));
  return { ...fitted({ ...answer, chain: kept }), cut: true };
};

/**
 * Handles messages; those of one task one by one, so that two at once cannot both be its first. Made once for
 * a process.
 */
export const messageHandler = (): TaskHandler<'sendMessage'> => {
  const waiting = new Map<string, Promise<unknown>>();
  return (deps, message, call) => {
    const { caller } = call;
    const key = `${caller.ownerId}/${message.taskId ?? taskIdFor(caller, message.messageId)}`;
    const turn = (waiting.get(key) ?? Promise.resolve()).then(() =>
      takeMessage(deps, { call, message }),
    );
    const settled = turn
      .catch(() => undefined)
      .finally(() => {
        if (waiting.get(key) === settled) waiting.delete(key);
      });
    waiting.set(key, settled);
    return turn;
  };
};
