import { type OutboundState, statusAt } from '#src/domain/outbound-state.ts';
import { TASK_STATUS_OF, type TaskRow, tasksScope, type TaskStatus } from '#src/domain/task.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { readCursor, writeCursor } from '../read-models/cursor.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done } from '../pipeline/outcome.ts';
import { viewOfRow } from './read.ts';
import type { TaskHandler } from './task-handler.ts';
import type { TaskView } from './view.ts';

type TaskQuery = {
  contextId?: string | undefined;
  status?: TaskStatus | undefined;
  pageSize: number;
  pageToken?: string | undefined;
  /** Epoch milliseconds. */
  changedAfter?: number | undefined;
  includeArtifacts: boolean;
};

export type TaskPage = {
  tasks: TaskView[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
};

/** Tasks looked at for one answer: its newest ones; an older one is still found by its id. */
const ROWS_SCANNED_MAX = 10_000;
const ROWS_PAGE = 1_000;

/**
 * The caller's tasks, the one that changed last first. Their places in the read model are those of
 * their creation, which never change: so they are put in order here, over a bounded number.
 */
export const listTasks: TaskHandler<'listTasks'> = async (deps, input, { caller }) => {
  const { ownerId, agentId } = caller;
  const query = input as TaskQuery;
  const { contextId = '', status = '', changedAfter = 0, pageToken = '' } = query;
  const binding = [ownerId, agentId, 'a2a:ListTasks', contextId, status, String(changedAfter)];
  let before = Infinity;
  if (pageToken !== '') {
    const read = readCursor(deps, binding, pageToken);
    if (!read.ok) return read;
    before = read.place;
  }
  const found = await matching(deps, caller, query);
  const rest = found.filter(({ changed }) => changed < before);
  const shown = rest.slice(0, query.pageSize);
  const last = shown.at(-1);
  const more = rest.length > shown.length && last !== undefined;
  const views = await Promise.all(shown.map((row) => viewOfRow(deps, caller, row)));
  return done({
    tasks: views
      .filter((view) => view !== undefined)
      .map((view) => (query.includeArtifacts ? view : { ...view, artifacts: [] })),
    nextPageToken: more ? writeCursor(deps, binding, last.changed) : '',
    pageSize: query.pageSize,
    totalSize: found.length,
  });
};

const matching = async (
  deps: Deps,
  { ownerId, agentId }: AgentCaller,
  { contextId, status, changedAfter }: TaskQuery,
): Promise<TaskRow[]> => {
  const scope = tasksScope(ownerId, agentId);
  const found: TaskRow[] = [];
  let before: number | undefined;
  for (let scanned = 0; scanned < ROWS_SCANNED_MAX; scanned += ROWS_PAGE) {
    const page: { row: TaskRow; sort: number }[] = await deps.readModels.list<TaskRow>('tasks', {
      scope,
      limit: ROWS_PAGE,
      ...(before !== undefined && { before }),
    });
    for (const { row } of page)
      if (
        (contextId === undefined || row.context_id === contextId) &&
        (changedAfter === undefined || row.changed_at > changedAfter) &&
        (status === undefined || (await statusOf(deps, ownerId, row)) === status)
      )
        found.push(row);
    if (page.length < ROWS_PAGE) break;
    before = page.at(-1)?.sort;
  }
  return found.sort((a, b) => b.changed - a.changed);
};

const statusOf = async (deps: Deps, ownerId: string, row: TaskRow): Promise<TaskStatus> => {
  const { record, status } = row;
  if (record === undefined) return status;
  if (record.startsWith('hnd_')) return 'COMPLETED';
  const state = await deps.readModels.get<OutboundState>('outbound', ownerId, record);
  return state ? TASK_STATUS_OF[statusAt(state, deps.clock.now())] : status;
};
