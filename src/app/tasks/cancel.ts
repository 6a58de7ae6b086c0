import type { Outbound } from '#contracts/records/outbound.ts';
import { isTerminal, task, tasksScope } from '#src/domain/task.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { awaitOwnWrite, awaitToken } from '../pipeline/consistency.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { dispatch, note } from '../pipeline/agent-dispatch.ts';
import { guarded } from '../pipeline/failure.ts';
import type { Outcome } from '../pipeline/outcome.ts';
import { done } from '../pipeline/outcome.ts';
import { callFor } from './put.ts';
import { rowOf, viewOfRow } from './read.ts';
import { notCancelable, taskEnded, taskNotFound } from './refusals.ts';
import { taskStream } from './refs.ts';
import type { TaskView } from './view.ts';
import { viewOfOutbound, viewOfTask } from './view.ts';

type Asking = { caller: AgentCaller; requestId: string; consistencyToken?: string | undefined };

const CANCEL = 'a2a:CancelTask';
const GET = 'a2a:GetTask';

/** The caller's task as it stands now; `isOpen`: refused when it has ended. */
export const getTask = (
  deps: Deps,
  asking: Asking,
  taskId: string,
  { id = GET, isOpen = false } = {},
): Promise<Outcome<TaskView>> =>
  guarded(deps, async () => {
    const read = await found(deps, asking, taskId);
    const outcome = read.ok && isOpen && isTerminal(read.value.status) ? taskEnded() : read;
    note(deps, id, { ...asking, surface: 'a2a' }, outcome);
    return outcome;
  });

const scopeOf = ({ ownerId, agentId }: AgentCaller): string => tasksScope(ownerId, agentId);

const found = async (
  deps: Deps,
  { caller, consistencyToken }: Asking,
  taskId: string,
): Promise<Outcome<TaskView>> => {
  const behind = await awaitToken(deps, consistencyToken, scopeOf(caller));
  if (behind) return behind;
  const row = await rowOf(deps, caller, taskId);
  const view = row && (await viewOfRow(deps, caller, row));
  return view ? done(view) : taskNotFound();
};

/** Cancels what has not been sent. Once more it is canceled still. */
export const cancelTask = (all: Deps, asking: Asking, taskId: string): Promise<Outcome<TaskView>> =>
  guarded(all, async (deps) => {
    const { caller, requestId, consistencyToken } = asking;
    const behind = await awaitToken(deps, consistencyToken, scopeOf(caller));
    const row = behind ? undefined : await rowOf(deps, caller, taskId);
    if (row?.record?.startsWith('out_')) {
      // The key is the task's: to cancel it is one intent, however often it is said.
      const input = { outbound_id: row.record, idempotency_key: `a2a-cancel:${row.task_id}` };
      const incoming = { caller, surface: 'a2a' as const, requestId, input };
      const outcome = await dispatch(deps, 'cancelOutboundRequest', incoming);
      if (!outcome.ok) return outcome.code === 'state_conflict' ? notCancelable() : outcome;
      return { ...outcome, value: viewOfOutbound(outcome.value as Outbound, row) };
    }
    const outcome = behind ?? (row ? await cancelOwn(deps, asking, row) : taskNotFound());
    note(deps, CANCEL, { ...asking, surface: 'a2a' }, outcome.ok ? done(null) : outcome);
    return outcome;
  });

const cancelOwn = async (
  deps: Deps,
  asking: Asking,
  row: { task_id: string; record?: string },
): Promise<Outcome<TaskView>> => {
  if (row.record !== undefined) return notCancelable();
  const written = await decideAndAppend(deps, callFor(deps, asking, CANCEL), {
    stream: taskStream(asking.caller.ownerId, row.task_id),
    decider: task,
    command: () => ({ type: 'Cancel' as const }),
  });
  if (!written.ok) return 'rejected' in written ? notCancelable() : written;
  await awaitOwnWrite(deps, written.position);
  return done(viewOfTask(written.state), traceOf(written));
};
