/** Events of tasks and of their push notifications. */
import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

// A task stores the skill and a hash of each message, never its text.

const taskSubject = {
  task_id: z.string(),
  context_id: z.string(),
  agent_id: z.string(),
  /** The requested skill, if this service has it. */
  skill: z.string().optional(),
};

/** A message that created no record: fields are missing, or it names an existing record. */
const TaskReceived = z.object({
  ...taskSubject,
  /** Names of the missing fields. */
  missing: z.array(z.string()).optional(),
  /** The record of the task from now on, if it was created over another interface. */
  record: z.string().optional(),
});

/** The task was answered immediately. */
const TaskCompleted = z.object({
  ...taskSubject,
  /** `content` is JSON as text, so that the answer stays byte for byte. */
  artifact: z.object({ name: z.string(), content: z.string(), cut: z.boolean().optional() }),
});

/** The task was refused with a problem code; this is final. */
const TaskRejected = z.object({
  ...taskSubject,
  code: z.string(),
  /** The boundary, if the task asked for an act that no agent can do. */
  boundary: z.string().optional(),
});

const TaskCanceled = z.object(taskSubject);

export const taskEvents = { TaskCanceled, TaskCompleted, TaskReceived, TaskRejected };

// `task` and not `task_id`: these events change no task, and a follower of a task reads every event with its `task_id`.

const pushSubject = {
  push_id: z.string(),
  task: z.string(),
  agent_id: z.string(),
};

/** A registration replaces the one before. Secrets of the receiver are sealed for the subject `sealed_for`. */
const PushConfigCreated = z.object({
  ...pushSubject,
  /** The id by which the client knows it, unique in the task. */
  config_id: z.string(),
  /** The key that registered it. It ends with this key. */
  key_id: z.string(),
  url: z.string(),
  /** How many changes of the task came before it and are not sent. */
  after: z.number(),
  scheme: z.string().optional(),
  sealed_for: z.string().optional(),
  sealed_token: sealed.optional(),
  sealed_credentials: sealed.optional(),
});

/** `reason`: why the service removed it; absent if the client did. */
const PushConfigDeleted = z.object({ ...pushSubject, reason: z.string().optional() });

// `change` is the number of the task's change that the notification shows, from 1.

const attempt = { ...pushSubject, change: z.number(), attempt: z.number() };

/** Written before the request is sent. After `until` another process assumes that the sender is gone. */
const PushDispatched = z.object({ ...attempt, until: z.number() });

/** `uncertain`: an attempt may have reached the receiver. */
const PushDeferred = z.object({
  ...attempt,
  reason: z.string(),
  retry_at: z.number(),
  uncertain: z.boolean().optional(),
});

const PushDelivered = z.object({ ...attempt, evidence: z.string() });

/** The notification was certainly not accepted, and is not sent again. */
const PushFailed = z.object({ ...attempt, reason: z.string() });

/** The notification may have been accepted, and is not sent again. */
const PushOutcomeUnknown = z.object({ ...attempt, reason: z.string() });

export const pushEvents = {
  PushConfigCreated,
  PushConfigDeleted,
  PushDeferred,
  PushDelivered,
  PushDispatched,
  PushFailed,
  PushOutcomeUnknown,
};
