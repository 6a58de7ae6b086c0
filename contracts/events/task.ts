import { z } from 'zod';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.
// Of a message only its skill is kept and a hash: what somebody wrote in it is in no task.

const named = {
  task_id: z.string(),
  context_id: z.string(),
  agent_id: z.string(),
  /** Which skill was asked for, when one of ours was. */
  skill: z.string().optional(),
};

/** A message came that made no record of its own: it lacks something, or names a record that was there. */
export const TaskReceived = z.object({
  ...named,
  /** Names of the fields that were missing. */
  missing: z.array(z.string()).optional(),
  /** The record that the task is from here on, when it was made over another interface. */
  record: z.string().optional(),
});

/** Answered at once, and done. */
export const TaskCompleted = z.object({
  ...named,
  /** JSON as text: an answer is kept as it was given. */
  artifact: z.object({ name: z.string(), content: z.string(), cut: z.boolean().optional() }),
});

/** Refused for good, with a code of the problem catalogue. */
export const TaskRejected = z.object({
  ...named,
  code: z.string(),
  /** Which of the acts that no agent can do it asked for. */
  boundary: z.string().optional(),
});

export const TaskCanceled = z.object(named);
