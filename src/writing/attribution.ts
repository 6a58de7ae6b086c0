/** Gives events their metadata, and refuses those that an operation may not write. */
import { BUYER_EVENTS } from '#contracts/boundaries.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { versionOf } from '#contracts/registries/events.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { agentOperations, recordOperations } from '#contracts/registries/agents.ts';
import type { Declared } from '#contracts/operation.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { systemWrites } from '#contracts/registries/system.ts';
import { visitorOperations } from '#contracts/registries/visitors.ts';
import type { NewEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import type { Call } from '#src/shared/call.ts';

type DecidedEvent = { type: string; data: object };

const BUYER_ONLY: ReadonlySet<string> = new Set(BUYER_EVENTS);

/** The event types that each operation may append, except those of the desk. */
export const WRITES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [agentOperations, recordOperations, taskOperations, holderOperations, visitorOperations]
    .flatMap((registry) => Object.values<Declared>(registry))
    .map(({ id, writes = [] }): [string, readonly string[]] => [id, writes])
    .concat(Object.entries(systemWrites))
    .map(([id, writes]) => [id, new Set(writes)]),
);

/** Whether the call may append this type of event. */
const isAllowed = ({ operation, actor }: Call, type: string): boolean => {
  if (BUYER_ONLY.has(type) && actor !== 'buyer') return false;
  // Operations of the desk name no events: people may do what no agent may.
  if (actor.startsWith('desk:') && Object.hasOwn(deskOperations, operation)) return true;
  return WRITES.get(operation)?.has(type) === true;
};

/**
 * Adds the actor, the surface, the time and the request to events. All appends of calls pass here, so it also enforces
 * the limits of actors: it throws on an event that the call may not append, which is a bug.
 */
export const attribute = (call: Call, events: readonly DecidedEvent[], ids: Ids): NewEvent[] =>
  events.map(({ type, data }) => {
    if (!isAllowed(call, type))
      throw new Error(`${call.operation} of ${call.actor} would write ${type}`);
    return attributed(call, { type, data }, ids);
  });

const attributed = (call: Call, { type, data }: DecidedEvent, ids: Ids): NewEvent => ({
  id: ids.uuid(),
  type,
  data,
  meta: {
    at: call.at,
    actor: call.actor,
    surface: call.surface,
    operation: call.operation,
    ...(call.keyId !== undefined && { key: call.keyId }),
    ...(call.session !== undefined && { session: call.session }),
    ...(call.page !== undefined && { page: call.page }),
    ...(call.client && { client: call.client }),
    ...(call.scope !== undefined && { scope: call.scope }),
    request: call.requestId,
    ...(call.correlation !== undefined && { correlation: call.correlation }),
    ...(call.idem !== undefined && { idem: call.idem }),
    ...(call.fingerprints && { fingerprint: call.fingerprints[0] }),
    v: versionOf(type),
  },
});
