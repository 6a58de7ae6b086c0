import { BUYER_EVENTS } from '#contracts/boundaries.ts';
import { buyerOperations } from '#contracts/buyer/index.ts';
import { agentOperations, recordOperations } from '#contracts/index.ts';
import type { Declared } from '#contracts/operation.ts';
import { taskOperations } from '#contracts/tasks/index.ts';
import { visitorOperations } from '#contracts/visitor/index.ts';
import type { NewEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import type { Call } from '../pipeline/call.ts';

/** Version of the stored shapes that this code writes. Older ones are upcast when they are read. */
const SCHEMA_VERSION = 1;

type Made = { type: string; data: object };

const OF_BUYERS: ReadonlySet<string> = new Set(BUYER_EVENTS);

/** What each operation of agents, buyers and visitors may write. */
const WRITES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [agentOperations, recordOperations, taskOperations, buyerOperations, visitorOperations]
    .flatMap((registry) => Object.values<Declared>(registry))
    .map(({ id, writes = [] }) => [id, new Set(writes)]),
);

/** What this call must not write: a bug of ours, found before it reaches the log. */
const isBeyond = ({ operation, actor }: Call, type: string): boolean =>
  (OF_BUYERS.has(type) && actor !== 'buyer') || WRITES.get(operation)?.has(type) === false;

/**
 * Puts who, through what and when on every event: the one place where attribution is set, and where
 * the bounds of agents are kept. Throws when a call would write what nobody in its place may.
 */
export const attribute = (call: Call, events: readonly Made[], ids: Ids): NewEvent[] =>
  events.map(({ type, data }) => {
    if (isBeyond(call, type))
      throw new Error(`${call.operation} of ${call.actor} would write ${type}`);
    return attributed(call, { type, data }, ids);
  });

const attributed = (call: Call, { type, data }: Made, ids: Ids): NewEvent => ({
  id: ids.uuid(),
  type,
  data,
  meta: {
    at: call.at,
    actor: call.actor,
    surface: call.surface,
    operation: call.operation,
    ...(call.keyId !== undefined && { key: call.keyId }),
    ...(call.scope !== undefined && { scope: call.scope }),
    request: call.requestId,
    ...(call.correlation !== undefined && { correlation: call.correlation }),
    ...(call.idem !== undefined && { idem: call.idem }),
    ...(call.fingerprint !== undefined && { fingerprint: call.fingerprint }),
    v: SCHEMA_VERSION,
  },
});
