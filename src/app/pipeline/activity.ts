import type { EventData } from '#contracts/events/index.ts';
import type { NewEvent } from '#src/ports/event-log.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import { attribute } from '../events/attribution.ts';
import type { AgentCaller, Call } from './call.ts';
import type { Recorder } from '../events/recorder.ts';
import { DAY_MS } from '../shared/time.ts';

type Entry = EventData<'ActivityRecorded'>['entries'][number];

/** What agents asked and were answered: reads within a second, denials and refusals at once. */
export type Activity = {
  note(
    caller: Pick<AgentCaller, 'ownerId' | 'agentId' | 'keyId'>,
    entry: Omit<Entry, 'key_id' | 'at' | 'count'>,
  ): void;
  /** Resolves when everything noted so far is durable, or could not be written. */
  flush(): Promise<void>;
};

const GATHER_MS = 1_000;
const ENTRIES_MAX = 256;
const AGENTS_WAITING_MAX = 10_000;

type Batch = { ownerId: string; agentId: string; entries: Map<string, Entry> };

/** A batch as it was, or may have been, written. */
type Written = { batch: Batch; stream: string; events: readonly NewEvent[] };

export const activityLog = (deps: {
  recorder: Recorder;
  clock: Clock;
  ids: Ids;
  /** Runs `task` after `ms`; injected so that tests need not wait. */
  schedule(task: () => void, ms: number): void;
  onLost(error: unknown): void;
}): Activity => {
  const { recorder, clock, ids } = deps;
  const waiting = new Map<string, Batch>();
  /** Nobody knows whether these are on record: they are settled before more of the same agent is. */
  const unsettled = new Map<string, Written>();
  /** When the next writing is due: nothing, within the gathering time, or at once. */
  let due: 'not' | 'later' | 'now' = 'not';
  let writing: Promise<void> = Promise.resolve();

  const writtenOf = (batch: Batch): Written => {
    const { ownerId, agentId, entries } = batch;
    const at = clock.now();
    const call: Call = {
      ownerId,
      actor: agentId,
      surface: 'system',
      operation: 'recordActivity',
      requestId: ids.uuid(),
      at,
    };
    const data = { agent_id: agentId, entries: [...entries.values()] };
    const events = attribute(call, [{ type: 'ActivityRecorded', data }], ids);
    const name = agentId.slice(agentId.indexOf('_') + 1);
    const stream = `${ownerId}-activity_${name}_${Math.floor(at / DAY_MS)}`;
    return { batch, stream, events };
  };

  /** Back among those that wait, before what came since. */
  const putBack = (of: string, batch: Batch): void => {
    for (const [like, entry] of waiting.get(of)?.entries ?? []) {
      const known = batch.entries.get(like);
      if (known) known.count += entry.count;
      else batch.entries.set(like, entry);
    }
    waiting.set(of, batch);
  };

  const isRoomLeft = (): boolean => waiting.size + unsettled.size < AGENTS_WAITING_MAX;

  const writeOne = async (of: string, written: Written): Promise<void> => {
    try {
      await recorder.record(written.stream, written.events);
      unsettled.delete(of);
    } catch (error) {
      const hasRoom = unsettled.has(of) || waiting.has(of) || isRoomLeft();
      if (!(error instanceof LogUnavailable) || !hasRoom) {
        unsettled.delete(of);
        deps.onLost(error);
        return;
      }
      // Once it may have happened, no later answer but that of the same append tells.
      if (error.applied === 'unknown') unsettled.set(of, written);
      else if (!unsettled.has(of)) putBack(of, written.batch);
      schedule('later');
    }
  };

  const write = async (): Promise<void> => {
    due = 'not';
    await Promise.all([...unsettled].map(([of, written]) => writeOne(of, written)));
    const batches = [...waiting].filter(([of]) => !unsettled.has(of));
    for (const [of] of batches) waiting.delete(of);
    await Promise.all(
      batches.map(([of, batch]) =>
        Promise.try(() => writeOne(of, writtenOf(batch))).catch(deps.onLost),
      ),
    );
  };

  const writeSoon = (): Promise<void> => {
    // Whatever became of one writing, the next one goes on.
    writing = writing.then(write, write);
    return writing;
  };

  const schedule = (when: 'later' | 'now'): void => {
    if (due === 'now' || due === when) return;
    due = when;
    deps.schedule(() => void writeSoon(), when === 'now' ? 0 : GATHER_MS);
  };

  return {
    note({ ownerId, agentId, keyId }, entry) {
      const of = `${ownerId}/${agentId}`;
      let batch = waiting.get(of);
      if (!batch) waiting.set(of, (batch = { ownerId, agentId, entries: new Map() }));
      // Equal calls within the second are one entry with a count: the first request stands for all.
      const like = `${keyId}/${entry.surface}/${entry.operation}/${entry.decision}/${entry.code ?? ''}`;
      const known = batch.entries.get(like);
      if (known) known.count += 1;
      else batch.entries.set(like, { ...entry, key_id: keyId, at: clock.now(), count: 1 });
      const urgent = entry.decision === 'denied' || entry.decision === 'refused';
      schedule(urgent || batch.entries.size >= ENTRIES_MAX ? 'now' : 'later');
    },
    flush: writeSoon,
  };
};
