import { type DeskHandler, mayActFor, NO_OWNER } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import type { CheckState } from '../read-models/projection-desk.ts';
import { hasEvents } from './moments.ts';
import { present } from '../shared/present.ts';

export const auditCheck: DeskHandler<'auditCheck'> = async (deps, input, call) => {
  const { owner_id: owner, sample = 1, run } = input;
  if (
    owner === undefined &&
    (!call.caller.roles.has('auditor') || call.caller.ownerId !== undefined)
  )
    return refuse('role_missing', 'Only an auditor of all owners checks all rows. Name the owner.');
  if (owner !== undefined && !mayActFor(call, owner)) return NO_OWNER;
  const { position: head } = await deps.log.head();
  const state = deps.projections.check({ owner, sample }, run);
  const { done: isDone, position, rows, difference, failure } = state;
  // Equal rows would hide a mistyped name.
  if (owner !== undefined && isDone && rows === 0 && !(await hasEvents(deps.log, owner)))
    return NO_OWNER;
  return done({
    done: isDone,
    position,
    head,
    rows,
    ...(difference && { difference: renderDifference(difference) }),
    ...present({ failure }),
  });
};

type Difference = NonNullable<CheckState['difference']>;

const renderDifference = ({
  readModel,
  scope,
  key,
  position,
  live,
  log,
  lastEvent,
}: Difference) => ({
  read_model: readModel,
  scope,
  key,
  position,
  live,
  log,
  ...present({ last_event: lastEvent }),
});
