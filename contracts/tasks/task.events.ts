import { z } from 'zod';

// A task stores the skill and a hash of each message, never its text.

const taskSubject = {
  task_id: z.string(),
  context_id: z.string(),
  agent_id: z.string(),
  /** The requested skill, if this service has it. */
  skill: z.string().optional(),
};

/** A message that created no record: fields are missing, or it names an existing record. */
export const TaskReceived = z.object({
  ...taskSubject,
  /** Names of the missing fields. */
  missing: z.array(z.string()).optional(),
  /** The record of the task from now on, if it was created over another interface. */
  record: z.string().optional(),
});

/** The task was answered immediately. */
export const TaskCompleted = z.object({
  ...taskSubject,
  /** `content` is JSON as text, so that the answer stays byte for byte. */
  artifact: z.object({ name: z.string(), content: z.string(), cut: z.boolean().optional() }),
});

/** The task was refused with a problem code; this is final. */
export const TaskRejected = z.object({
  ...taskSubject,
  code: z.string(),
  /** The boundary, if the task asked for an act that no agent can do. */
  boundary: z.string().optional(),
});

export const TaskCanceled = z.object(taskSubject);

export const taskEvents = { TaskCanceled, TaskCompleted, TaskReceived, TaskRejected };
