import { cancelTask, getTask, subscribeToTask } from './cancel.ts';
import { listTasks } from './list.ts';
import { answerAttributionQuestion } from './question.ts';
import { messageHandler } from './send.ts';
import type { TaskHandlers } from './task-handler.ts';

/** The handler of each operation on tasks, one line each. Made once for a process. */
export const taskHandlers = (): TaskHandlers => ({
  sendMessage: messageHandler(),
  getTask,
  subscribeToTask,
  listTasks,
  cancelTask,
  answerAttributionQuestion,
});
