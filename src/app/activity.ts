import type { EventData } from '#contracts/events/index.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import { attribute } from './attribution.ts';
import type { AgentCaller, Call } from './call.ts';
import type { Recorder } from './recorder.ts';

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
const DAY_MS = 86_400_000;
const AGENTS_WAITING_MAX = 10_000;

type Batch = { ownerId: string; agentId: string; entries: Map<string, Entry> };

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
  /** When the next writing is due: nothing, within the gathering time, or at once. */
  let due: 'not' | 'later' | 'now' = 'not';
  let writing: Promise<void> = Promise.resolve();

  const writeBatch = async (of: string, batch: Batch): Promise<void> => {
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
    try {
      await recorder.record(stream, events);
    } catch (error) {
      // A full disk may have room again: kept, as long as there is room to keep it.
      if (waiting.size < AGENTS_WAITING_MAX && !waiting.has(of)) {
        waiting.set(of, batch);
        schedule('later');
      } else deps.onLost(error);
    }
  };

  const write = async (): Promise<void> => {
    due = 'not';
    const batches = [...waiting];
    waiting.clear();
    await Promise.all(batches.map(([of, batch]) => writeBatch(of, batch)));
  };

  const writeSoon = (): Promise<void> => {
    writing = writing.then(write);
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
