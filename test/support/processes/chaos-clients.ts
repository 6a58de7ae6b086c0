/** Clients of a service under random faults: they write, read their writes, and keep a journal. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Slot } from './chaos.ts';
import { type Client, httpClient, type Journal, newJournal, writeOf } from '../clients/journal.ts';
import { askOnce, type Answer, type RemoteWorld } from './remote.ts';
import { patientLog } from '../eventstoredb/eventstoredb-logs.ts';

export type Load = {
  client: Client;
  journal: Journal;
  key: string;
  next: number;
  /** The number of correct reads. */
  looks: number;
  faults: string[];
};

export const newLoad = (key: string): Load => ({
  client: httpClient(),
  journal: newJournal(),
  key,
  next: 0,
  looks: 0,
  faults: [],
});

const TRIES = 3;
const PAUSE_MS = 20;

export const inDoubt = ({ journal }: Load): string[] =>
  [...journal.sent.keys()].filter((name) => !journal.acknowledged.has(name));

/** Sends a write and records its first complete answer; later answers must have the same bytes. */
export const send = async (load: Load, to: Slot, name: string): Promise<void> => {
  const sent = load.journal.sent.get(name);
  const url = to.now()?.url;
  if (!sent || url === undefined) return wait(PAUSE_MS);
  const answer = await load.client.post(url, load.key, sent, name);
  if (!answer || answer.status >= 500) return wait(PAUSE_MS);
  const first = load.journal.acknowledged.get(name);
  load.journal.acknowledged.set(name, first ?? answer);
  if (answer.status !== 201) load.faults.push(`${name}: ${answer.status} ${answer.text}`);
  if (first && first.text !== answer.text) load.faults.push(`${name} got another answer`);
};

/** Sends each write a few times, until `isOver`. */
export const keepWriting = async (load: Load, any: () => Slot, isOver: () => boolean) => {
  while (!isOver()) {
    const n = load.next++;
    load.journal.sent.set(`intent-${n}`, writeOf(n));
    for (let tries = 0; tries < TRIES; tries++) await send(load, any(), `intent-${n}`);
  }
};

const describeAnswer = (answer: Answer | undefined): string =>
  answer ? `${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}` : 'no answer';

/** Writes a lead at one process and reads it at another with its token. Returns 'right', or the failed answer. */
export const look = async (load: Load, from: Slot, at = from): Promise<string> => {
  const [service, reader] = [from.now(), at.now()];
  if (!service || !reader) {
    // A loop that asks again at once would keep the event loop from what starts the process.
    await wait(PAUSE_MS);
    return 'the process is down';
  }
  const body = { external_id: `seen-${load.next++}`, company: { name: 'Shop', country: 'GB' } };
  const request = { body, 'idempotency-key': body.external_id };
  const written = await askOnce(service, load.key, '/leads', request).catch(() => undefined);
  const token = written?.headers.get('consistency-token');
  if (written && written.status >= 400 && written.status < 500)
    load.faults.push(`${body.external_id} was refused: ${describeAnswer(written)}`);
  if (written?.status !== 201 || !token) return `writing: ${describeAnswer(written)}`;
  const reading = { 'consistency-token': token };
  const answer = await askOnce(reader, load.key, '/leads', reading).catch(() => undefined);
  if (answer === undefined || answer.status >= 500) return `reading: ${describeAnswer(answer)}`;
  if (!JSON.stringify(answer.body).includes(`"${body.external_id}"`))
    load.faults.push(`${body.external_id} was written, and is not listed: ${answer.status}`);
  load.looks += 1;
  return 'right';
};

const allEvents = async ({ log }: RemoteWorld): Promise<StoredEvent[]> => {
  const opened = await patientLog({ url: log.url });
  const events: StoredEvent[] = [];
  for (let page = await opened.readAll({ after: 0, limit: 1_000 }); page.length > 0; ) {
    events.push(...page);
    page = await opened.readAll({ after: page.at(-1)?.position ?? 0, limit: 1_000 });
  }
  await opened.close();
  return events;
};

/** Expects each acknowledged record once in the log, and no other record. */
export const expectOnce = async (world: RemoteWorld, load: Load): Promise<void> =>
  expectRecordsOnce(await allEvents(world), load);

/** Returns the ids of the records that the clients wrote. */
export const recordIds = (events: readonly StoredEvent[]): string[] =>
  events
    .filter(({ type }) => ['LinkCreated', 'LeadSubmitted', 'HandoffCreated'].includes(type))
    .map(({ data }) => data as Record<string, string>)
    .filter(({ external_id }) => !external_id?.startsWith('seen-'))
    .map(({ link_id, lead_id, handoff_id }) => link_id ?? lead_id ?? handoff_id ?? '');

/** Returns the ids in the acknowledged answers. */
export const acknowledgedIds = ({ journal }: Load): string[] =>
  [...journal.acknowledged.values()].map(({ text }) => (JSON.parse(text) as { id: string }).id);

export const expectRecordsOnce = (events: readonly StoredEvent[], load: Load): void => {
  const { acknowledged, sent } = load.journal;
  const ids = recordIds(events);
  const answered = acknowledgedIds(load);
  expect(acknowledged.size).toBe(sent.size);
  expect(ids.toSorted()).toEqual(answered.toSorted());
  const eventIds = events.map(({ id }) => id);
  expect(new Set(eventIds).size).toBe(eventIds.length);
};
