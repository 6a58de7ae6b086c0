import type { AgentCaller } from './call.ts';
import { digestOf } from './hash.ts';

/**
 * What an idempotency key stands for. The agent, not the key it shows: a rotation must not execute
 * again. Not the surface: a retry may change it.
 */
export const idemOf = (
  { ownerId, agentId }: Pick<AgentCaller, 'ownerId' | 'agentId'>,
  operation: string,
  idempotencyKey: string,
): string => digestOf(ownerId, agentId, operation, idempotencyKey);
