/** The table of handlers of A2A tasks. */
import { answerAttributionQuestion } from '#src/tasks/attribution-question.ts';
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
} from '#src/tasks/push.ts';
import {
  cancelTask,
  getTask,
  listTasks,
  subscribeToTask,
  type TaskHandlers,
} from '#src/tasks/read-task.ts';
import { messageHandler } from '#src/tasks/send-message.ts';

/** The handler of each operation on tasks, one line each. Made once for a process. */
export const taskHandlers = (): TaskHandlers => ({
  sendMessage: messageHandler(),
  getTask,
  subscribeToTask,
  listTasks,
  cancelTask,
  createPushConfig,
  getPushConfig,
  listPushConfigs,
  deletePushConfig,
  answerAttributionQuestion,
});
