import type { EventLog, Position } from '#src/ports/event-log.ts';

/**
 * Returns position and time of the last event; 0 and null for a log without events. The head of the log
 * can be a record of another application, beyond which this reads back.
 */
export const readLastEvent = async (
  log: Pick<EventLog, 'head' | 'readBack'>,
): Promise<{ position: Position; at: number | null }> => {
  const { position: upTo } = await log.head();
  const [last] = await log.readBack({ upTo, limit: 1 });
  return { position: last?.position ?? 0, at: last?.meta.at ?? null };
};
