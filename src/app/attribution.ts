import type { NewEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import type { Call } from './call.ts';

/** Version of the stored shapes that this code writes. Older ones are upcast when they are read. */
const SCHEMA_VERSION = 1;

/** Puts who, through what and when on every event: the one place where attribution is set. */
export const attribute = (
  call: Call,
  events: readonly { type: string; data: object }[],
  ids: Ids,
): NewEvent[] =>
  events.map(({ type, data }) => ({
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
  }));
