import { cancelTask, getTask, subscribeToTask } from './one-task.ts';
import { listTasks } from './list-tasks.ts';
import { answerAttributionQuestion } from './attribution-question.ts';
import { messageHandler } from './send-message.ts';
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
