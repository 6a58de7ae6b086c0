import type { z } from 'zod';
import type { TaskOperation } from '#contracts/operation.ts';
import type { TaskOperationId, TaskOperations } from '#contracts/tasks/tasks.operations.ts';
import type { AttributionAnswer } from '#contracts/tasks/skills.ts';
import type { Deps } from '#src/calls/call.ts';
import type { AgentCaller, TaskCall } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import type { TaskPage } from './list-tasks.ts';
import type { TaskView } from './task-view.ts';

/** What each operation answers, before the protocol gives it its form. */
type Answers = {
  sendMessage: TaskView;
  getTask: TaskView;
  subscribeToTask: TaskView;
  listTasks: TaskPage;
  cancelTask: TaskView;
  createPushConfig: PushConfig;
  getPushConfig: PushConfig;
  listPushConfigs: { configs: PushConfig[]; nextPageToken: string };
  deletePushConfig: object;
  answerAttributionQuestion: AttributionAnswer;
};

/** A push notification configuration, in the form of A2A and without its secrets. */
export type PushConfig = {
  taskId: string;
  id: string;
  url: string;
  authentication?: { scheme: string };
};

export type TaskInput<Id extends TaskOperationId> = z.output<TaskOperations[Id]['input']>;

export type TaskHandler<Id extends TaskOperationId> = (
  deps: Deps,
  input: TaskInput<Id>,
  call: TaskCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
export type TaskHandlers = { [Id in TaskOperationId]: TaskHandler<Id> };

export type TaskActor = {
  caller: AgentCaller;
  operation: TaskOperation;
  call: TaskCall;
  deps: Deps;
};

export type TaskPipeline = Pipeline<SignaturesOf<TaskHandlers>, TaskActor>;
