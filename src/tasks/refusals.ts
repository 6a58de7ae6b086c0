import { type Refusal, refuse } from '#src/shared/outcome.ts';

/* Refusals for which A2A defines a `reason`. */

export const taskNotFound = (): Refusal =>
  refuse('resource_not_found', 'There is no such task.', { extra: { reason: 'TASK_NOT_FOUND' } });

export const taskEnded = (): Refusal =>
  refuse('state_conflict', 'The task accepts no message in its state.', {
    extra: { reason: 'UNSUPPORTED_OPERATION' },
  });

export const notCancelable = (): Refusal =>
  refuse('state_conflict', 'The task cannot be canceled in its state.', {
    extra: { reason: 'TASK_NOT_CANCELABLE' },
  });

export const messageIdTaken = (): Refusal =>
  refuse('idempotency_key_reused', 'This messageId was first used for another message.', {
    extra: { reason: 'MESSAGE_ID_CONFLICT' },
    errors: [
      { pointer: '/message/messageId', code: 'conflict', detail: 'belongs to another message' },
    ],
  });

export const contextUnknown = (): Refusal =>
  refuse('parameter_invalid', 'The contextId is not the one of the task, or not one of yours.', {
    extra: { reason: 'CONTEXT_MISMATCH' },
    errors: [
      {
        pointer: '/message/contextId',
        code: 'not_found',
        detail: 'leave it out, or send the one that a task of yours shows',
      },
    ],
  });
