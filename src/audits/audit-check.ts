/** Compares live rows with rows folded from the log, for auditors. */
import { done, refuse } from '#src/shared/outcome.ts';
import { hasEvents } from './moments.ts';
import { present } from '#src/shared/json.ts';
import { type DeskHandler, isBound, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import type { AuditingDeps } from './replays.ts';

export const auditCheck: DeskHandler<'auditCheck', AuditingDeps> = async (deps, input, call) => {
  const { owner_id: owner, sample = 1, run } = input;
  if (owner === undefined && (!call.caller.roles.has('auditor') || isBound(call)))
    return refuse('role_missing', 'Only an auditor of all owners checks all rows. Name the owner.');
  if (owner !== undefined && !mayActFor(call, owner)) return NO_OWNER;
  const { position: head } = await deps.log.head();
  const state = deps.projections.check({ owner, sample }, run);
  // Equal rows would hide a mistyped name.
  if (owner !== undefined && state.done && state.rows === 0 && !(await hasEvents(deps.log, owner)))
    return NO_OWNER;
  const { difference, ...progress } = state;
  if (!difference) return done({ ...progress, head });
  const { readModel: read_model, lastEvent: last_event, ...rest } = difference;
  return done({
    ...progress,
    head,
    difference: { read_model, ...rest, ...present({ last_event }) },
  });
};
