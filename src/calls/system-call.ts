import type { SystemOperationId } from '#contracts/registries/system.ts';
import type { Deps } from './call.ts';
import type { SystemCall } from '#src/shared/call.ts';

/**
 * Makes the call of an operation that the service performs by itself. It needs no pipeline: it has no caller to identify,
 * no input to parse, no limit and no audit record. Its events record what it did.
 */
export const systemCall = (
  { clock, ids }: Pick<Deps, 'clock' | 'ids'>,
  operation: SystemOperationId,
  { ownerId, signal }: Pick<SystemCall, 'ownerId' | 'signal'>,
): SystemCall => ({
  ownerId,
  actor: 'system',
  surface: 'system',
  operation,
  requestId: ids.uuid(),
  at: clock.now(),
  signal,
});
