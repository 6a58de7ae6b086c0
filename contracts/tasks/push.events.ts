import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

// `task` and not `task_id`: these events change no task, and a follower of a task reads every event with its `task_id`.

const pushSubject = {
  push_id: z.string(),
  task: z.string(),
  agent_id: z.string(),
};

/** A registration replaces the one before. Secrets of the receiver are sealed for the subject `sealed_for`. */
export const PushConfigCreated = z.object({
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
export const PushConfigDeleted = z.object({ ...pushSubject, reason: z.string().optional() });

// `change` is the number of the task's change that the notification shows, from 1.

const attempt = { ...pushSubject, change: z.number(), attempt: z.number() };

/** Written before the request is sent. After `until` another process assumes that the sender is gone. */
export const PushDispatched = z.object({ ...attempt, until: z.number() });

/** `uncertain`: an attempt may have reached the receiver. */
export const PushDeferred = z.object({
  ...attempt,
  reason: z.string(),
  retry_at: z.number(),
  uncertain: z.boolean().optional(),
});

export const PushDelivered = z.object({ ...attempt, evidence: z.string() });

/** The notification was certainly not accepted, and is not sent again. */
export const PushFailed = z.object({ ...attempt, reason: z.string() });

/** The notification may have been accepted, and is not sent again. */
export const PushOutcomeUnknown = z.object({ ...attempt, reason: z.string() });

export const pushEvents = {
  PushConfigCreated,
  PushConfigDeleted,
  PushDeferred,
  PushDelivered,
  PushDispatched,
  PushFailed,
  PushOutcomeUnknown,
};
