/** Tells an auditor how far the reading of an owner's history is. */
import { done } from '#src/shared/outcome.ts';
import { mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import type { AuditHandler } from './audit-state.ts';

export const auditProgress: AuditHandler<'auditProgress'> = async (
  { replays },
  { owner_id: owner },
  call,
) => {
  if (!mayActFor(call, owner)) return NO_OWNER;
  const reading = replays.readings.get(owner);
  return done({ reading: reading ? { position: reading.position, up_to: reading.upTo } : null });
};
