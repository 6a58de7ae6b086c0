/**
 * E: the log on EventStoreDB compared with its bare client, on the stand-in or the server of
 * EVENTSTOREDB_TEST_URL. Both run in one process, and have the same cost of the server.
 */
import { env } from 'node:process';
import {
  EventStoreDBClient,
  excludeSystemEvents,
  jsonEvent,
  NO_STREAM as NO_STREAM_THERE,
} from '@eventstore/db-client';
import { rebuildAll } from '#projections/engine/operator.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { eventStoreLog } from '#src/stores/eventstoredb/event-log.ts';
import { memoryStore } from '../../support/memory-read-model.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { type EventLog, NO_STREAM, type StoredEvent } from '#src/ports/event-log.ts';
import { endStandIns, standIn } from '../../support/eventstoredb/start.ts';
import { follow, metaAt } from '../../conformance/log-events.ts';
import type { Bench } from '../bench.ts';
import { interleaved, middleOf } from '../measure.ts';
import { type Row, rowOf } from '../table.ts';

const IN_FLIGHT = [16, 64, 256];
const APPENDS = 6_000;
const REBUILT_EVENTS = 100_000;
const PAGE_EVENTS = 1_000;
const ids = systemIds(systemClock().now);
const meta = metaAt(1_700_000_000_000);
/** About 400 bytes with its attribution. */
const data = { stream: 'anna-lead_1', fingerprint: 'x'.repeat(220) };

/** Measures appends per second at a concurrency. */
export const appendRate = async (
  inFlight: number,
  append: () => Promise<unknown>,
): Promise<number> => {
  const begun = performance.now();
  let left = APPENDS;
  const worker = async (): Promise<void> => {
    while ((left -= 1) >= 0) await append();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return APPENDS / ((performance.now() - begun) / 1_000);
};

type Rates = Record<'bare' | 'ours', () => Promise<number>>;

/** Measures both rates, in events per second, in turns. */
const compare = async (what: string, measured: Rates, atLeast: number): Promise<Row> => {
  const rates = await interleaved(measured);
  const value = middleOf(rates.ours, (each) => each);
  const control = middleOf(rates.bare, (each) => each);
  return rowOf({ id: 'E', what, value, unit: '1/s', control }, { of: 'ratio', atLeast });
};

const appendRows = async (client: EventStoreDBClient, log: EventLog): Promise<Row[]> => {
  const bare = (): Promise<unknown> =>
    client.appendToStream(
      `bare-lead_${ids.uuid()}`,
      jsonEvent({ id: ids.uuid(), type: 'RequestBound', data, metadata: { ...meta } }),
      { expectedRevision: NO_STREAM_THERE },
    );
  const ours = (): Promise<unknown> =>
    log.append(`anna-lead_${ids.uuid()}`, NO_STREAM, [
      { id: ids.uuid(), type: 'RequestBound', data, meta },
    ]);
  const rows: Row[] = [];
  for (const inFlight of IN_FLIGHT) {
    const what = `append to EventStoreDB, ${inFlight} in flight, vs its bare client`;
    const rates = {
      bare: () => appendRate(inFlight, bare),
      ours: () => appendRate(inFlight, ours),
    };
    rows.push(await compare(what, rates, 0.6));
  }
  return rows;
};

/** Measures events per second; `run` resolves to their number. */
const timed = async (run: () => Promise<number>): Promise<number> => {
  const begun = performance.now();
  return (await run()) / ((performance.now() - begun) / 1_000);
};

/** Appends the events of a generated log, whole streams at once. */
const copyInto = async (log: EventLog, directory: string): Promise<void> => {
  const source = sqliteLogSource(directory);
  const streams = new Map<string, StoredEvent[]>();
  for (let after = 0; ; ) {
    const page = await source.readAll({ after, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (!last) break;
    for (const event of page)
      streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
    after = last.position;
  }
  await source.close();
  const left = [...streams];
  const worker = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop())
      await log.append(next[0], NO_STREAM, next[1]);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
};

type Range = { after: number; head: number };

/** Counts the events of a range as the bare client reads them. */
const readBare = async (client: EventStoreDBClient, { after, head }: Range): Promise<number> => {
  const filter = excludeSystemEvents({ checkpointInterval: 32 });
  const fromPosition = { commit: BigInt(after), prepare: BigInt(after) };
  const subscription = client.subscribeToAll({ fromPosition, filter });
  let events = 0;
  for await (const { event } of subscription) {
    events += 1;
    if (Number(event?.position?.commit ?? 0) >= head) break;
  }
  await subscription.unsubscribe();
  return events;
};

const rebuildRow = async (client: EventStoreDBClient, log: EventLog): Promise<Row> => {
  const { position: head } = await log.head();
  const bare = (): Promise<number> => readBare(client, { after: 0, head });
  const events = await bare();
  const ours = async (): Promise<number> => {
    await rebuildAll({ log, stores: [{ store: memoryStore(), projections: PROJECTIONS }] });
    return events;
  };
  const what = `rebuild in memory from EventStoreDB, ${events.toLocaleString('en')} events, vs a bare filtered subscription`;
  return compare(what, { bare: () => timed(bare), ours: () => timed(ours) }, 0.8);
};

const catchUpRow = async (
  client: EventStoreDBClient,
  log: EventLog,
  after: number,
): Promise<Row> => {
  const { position: head } = await log.head();
  const bare = (): Promise<number> => readBare(client, { after, head });
  const ours = async (): Promise<number> =>
    (await follow(log, after, (item) => item.kind === 'caughtUp')).events.length;
  const what = 'catch-up from EventStoreDB, events, vs a bare filtered subscription to $all';
  return compare(what, { bare: () => timed(bare), ours: () => timed(ours) }, 0.6);
};

export const benchEventStoreDb: Bench = async ({ million }) => {
  const url = env['EVENTSTOREDB_TEST_URL']?.trim() ?? (await standIn()).url;
  const log = await eventStoreLog({ url });
  const client = EventStoreDBClient.connectionString(url);
  try {
    await copyInto(log, await million.logOf(REBUILT_EVENTS));
    const rebuilt = await rebuildRow(client, log);
    const { position } = await log.head();
    return [...(await appendRows(client, log)), await catchUpRow(client, log, position), rebuilt];
  } finally {
    await log.close();
    await client.dispose();
    await endStandIns();
  }
};
