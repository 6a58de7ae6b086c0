import type { ProblemCode } from '#contracts/problems.ts';
import type { TaskRow } from '#src/domain/task.ts';
import { isTerminal } from '#src/domain/task.ts';
import type { TaskRef } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { note } from '../pipeline/agent-dispatch.ts';
import { guarded } from '../pipeline/failure.ts';
import type { Outcome, Refusal } from '../pipeline/outcome.ts';
import { done, forbidden } from '../pipeline/outcome.ts';
import type { Ask } from './ask.ts';
import { askOf } from './ask.ts';
import { ARTIFACT_BYTES_MAX, digestOf } from './digest.ts';
import { answerQuestion } from './question.ts';
import type { Sending } from './put.ts';
import { put, received, SEND } from './put.ts';
import { rowIfReady, rowOf, viewOfRow } from './read.ts';
import { contextUnknown, messageIdTaken, taskEnded, taskNotFound } from './refusals.ts';
import { isContextOf, keyFor, recordFor, refFor, taskIdFor } from './refs.ts';
import { makeRecord } from './records.ts';
import { revision } from './revise.ts';
import type { TaskView } from './view.ts';

/** What ends a task that has made no record: asking again changes nothing. */
const REJECTING: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'boundary_forbidden',
  'scope_missing',
  'channel_not_verified',
  'approver_missing',
]);

/**
 * Takes a message: begins a task or goes on with one. Every outcome is on record: what became a
 * record by its events, everything else by a note.
 */
const sendMessage = (all: Deps, sending: Sending): Promise<Outcome<TaskView>> =>
  guarded(all, async (deps) => {
    const { caller, message } = sending;
    const { taskId, contextId } = message;
    if (contextId !== undefined && !isContextOf(deps, caller, contextId))
      return noted(deps, sending, contextUnknown());
    if (taskId === undefined) return begin(deps, sending);
    const row = await rowOf(deps, caller, taskId);
    if (!row) return noted(deps, sending, taskNotFound());
    if (contextId !== undefined && contextId !== row.context_id)
      return noted(deps, sending, contextUnknown());
    return goOn(deps, sending, row);
  });

const begin = async (deps: Deps, sending: Sending): Promise<Outcome<TaskView>> => {
  const { caller, message } = sending;
  const ref = refFor(deps, caller, message);
  const ask = askOf(message);
  const row = await rowIfReady(deps, caller, ref.task_id);
  if (row && row.record !== expectedRecord(sending, ask)) {
    const again = await received(deps, sending, ref.task_id);
    return noted(deps, sending, again ?? messageIdTaken(), ask);
  }
  return act(deps, sending, ask, ref);
};

const goOn = async (deps: Deps, sending: Sending, row: TaskRow): Promise<Outcome<TaskView>> => {
  const again = await received(deps, sending, row.task_id);
  if (again && row.record === undefined) return noted(deps, sending, again);
  const { record } = row;
  if (record === undefined) {
    if (isTerminal(row.status)) return noted(deps, sending, taskEnded());
    return act(deps, sending, askOf(sending.message, { skill: row.skill }), row);
  }
  const asked = askOf(sending.message, { skill: row.skill });
  // The message that made the record, once more.
  if (record === expectedRecord(sending, asked)) return act(deps, sending, asked, row);
  if (again) return noted(deps, sending, again);
  if (!record.startsWith('out_')) return noted(deps, sending, taskEnded());
  return withRequest(deps, sending, { ...row, record });
};

/** A message to a task that is an outreach request: new content, or nothing. */
const withRequest = async (
  deps: Deps,
  sending: Sending,
  row: TaskRow & { record: string },
): Promise<Outcome<TaskView>> => {
  const { message, caller } = sending;
  const found = await revision(deps, sending, row.record);
  if (!found) return noted(deps, sending, taskNotFound());
  const { ask } = found;
  if (ask.kind === 'forbidden') return noted(deps, sending, forbidden(ask.boundary));
  if (message.data && (ask.kind !== 'operation' || ask.skill !== 'coordinate_promotion'))
    return noted(deps, sending, taskEnded());
  if (ask.kind === 'operation') return makeRecord(deps, sending, ask, row);
  // Words alone change nothing, least of all do they approve: the task as it stands.
  const view = await viewOfRow(deps, caller, row);
  if (!view || isTerminal(view.status)) return noted(deps, sending, taskEnded());
  return noted(deps, sending, done(view));
};

/** Which record the message makes, or has made. */
const expectedRecord = ({ caller, message }: Sending, ask: Ask): string | undefined => {
  if (ask.kind !== 'operation' || ask.operation === 'getPerformance') return undefined;
  const given = ask.input['idempotency_key'];
  return recordFor(
    caller,
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
  const { caller, requestId, consistencyToken } = sending;
  const incoming = { caller, surface: 'a2a' as const, requestId, consistencyToken };
  switch (ask.kind) {
    case 'forbidden': {
      const refusal = forbidden(ask.boundary);
      note(deps, SEND, incoming, refusal);
      return rejected(deps, sending, ref, { refusal, boundary: ask.boundary });
    }
    case 'incomplete': {
      const { skill, missing } = ask;
      const received = { ...named(sending, ref), ...(skill && { skill }), missing };
      const outcome = await put(deps, sending, ref.task_id, { type: 'Receive', task: received });
      return noted(deps, sending, outcome);
    }
    case 'question': {
      const answer = await answerQuestion(deps, incoming, ask.input);
      return answer.ok
        ? completed(deps, sending, ref, { ...ask, name: 'attribution', answer: answer.value })
        : refused(deps, sending, ref, { ...ask, refusal: answer });
    }
    case 'operation': {
      if (ask.operation !== 'getPerformance') {
        const made = await makeRecord(deps, sending, ask, ref);
        return made.ok ? made : refused(deps, sending, ref, { ...ask, refusal: made });
      }
      const digest = await digestOf(deps, { ...incoming, input: ask.input });
      return digest.ok
        ? completed(deps, sending, ref, { ...ask, name: 'digest', ...digest.value })
        : refused(deps, sending, ref, { ...ask, refusal: digest });
    }
  }
};

const named = ({ caller }: Sending, { task_id, context_id }: TaskRef) => ({
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

const noted = (
  deps: Deps,
  { caller, requestId }: Sending,
  outcome: Outcome<TaskView>,
  ask?: Ask,
): Outcome<TaskView> => {
  const id = ask?.kind === 'operation' ? ask.operation : SEND;
  // What stands on a task's own stream is no business event: the note is the record of the call.
  const told = outcome.ok
    ? done(null, outcome.replayOf === undefined ? {} : { replayOf: outcome.replayOf })
    : outcome;
  note(deps, id, { caller, surface: 'a2a', requestId }, told);
  return outcome;
};

/** Lets the messages of one task pass one by one, so that two at once cannot both be its first. */
export const taskIntake = (deps: Deps) => {
  const waiting = new Map<string, Promise<unknown>>();
  return (sending: Sending): Promise<Outcome<TaskView>> => {
    const { caller, message } = sending;
    const key = `${caller.ownerId}/${message.taskId ?? taskIdFor(caller, message.messageId)}`;
    const turn = (waiting.get(key) ?? Promise.resolve()).then(() => sendMessage(deps, sending));
    const over = turn
      .catch(() => undefined)
      .finally(() => {
        if (waiting.get(key) === over) waiting.delete(key);
      });
    waiting.set(key, over);
    return turn;
  };
};
