import { type OutboundState, statusAt } from '#src/outreach/outbound-state.decider.ts';
import { TASK_STATUS_OF, type TaskRow, tasksScope, type TaskStatus } from './task.decider.ts';
import type { Deps } from '#src/calls/call.ts';
import type { AgentCaller } from '#src/shared/call.ts';
import { readCursor, writeCursor } from '#src/reading/cursor.ts';
import { listing } from '#src/reading/listing.ts';
import { done } from '#src/shared/outcome.ts';
import { viewOfRow } from './read-task.ts';
import type { TaskHandler, TaskInput } from './task-handler.ts';
import type { TaskView } from './task-view.ts';

type TaskQuery = TaskInput<'listTasks'>;

export type TaskPage = {
  tasks: TaskView[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
};

/** Limit of the tasks read for one answer, the newest; older ones are still found by their id. */
const ROWS_SCANNED_MAX = 10_000;
const ROWS_PAGE = 1_000;

/**
 * Lists the caller's tasks, the last changed first. The read model sorts them by creation, which never changes, so
 * they are sorted here: O(n log n) for at most ROWS_SCANNED_MAX rows.
 */
export const listTasks: TaskHandler<'listTasks'> = async (deps, query, { caller }) => {
  const { ownerId, agentId } = caller;
  const { contextId = '', status = '', changedAfter = 0, pageToken = '' } = query;
  const binding = [ownerId, agentId, 'a2a:ListTasks', contextId, status, String(changedAfter)];
  let before = Infinity;
  if (pageToken !== '') {
    const read = readCursor(deps, binding, pageToken);
    if (!read.ok) return read;
    before = read.place;
  }
  const rows = await matchingRows(deps, caller, query);
  const rest = rows.filter(({ changed }) => changed < before);
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
    totalSize: rows.length,
  });
};

const matchingRows = async (
  deps: Deps,
  { ownerId, agentId }: AgentCaller,
  { contextId, status, changedAfter }: TaskQuery,
): Promise<TaskRow[]> => {
  const pages = listing<TaskRow>(deps.readModels, 'tasks', {
    scope: tasksScope(ownerId, agentId),
    limit: ROWS_PAGE,
  });
  const rows: TaskRow[] = [];
  let scanned = 0;
  for await (const page of pages) {
    for (const { row } of page)
      if (
        (contextId === undefined || row.context_id === contextId) &&
        (changedAfter === undefined || row.changed_at > changedAfter) &&
        (status === undefined || (await statusOf(deps, ownerId, row)) === status)
      )
        rows.push(row);
    scanned += page.length;
    if (scanned >= ROWS_SCANNED_MAX) break;
  }
  return rows.sort((a, b) => b.changed - a.changed);
};

const statusOf = async (deps: Deps, ownerId: string, row: TaskRow): Promise<TaskStatus> => {
  const { record, status } = row;
  if (record === undefined) return status;
  if (record.startsWith('hnd_')) return 'COMPLETED';
  const state = await deps.readModels.get<OutboundState>('outbound', ownerId, record);
  return state ? TASK_STATUS_OF[statusAt(state, deps.clock.now())] : status;
};
