/** SIGKILL at random moments: no acknowledged write is lost, and none happens twice. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { EventType } from '#contracts/registries/events.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { expectProved, served } from '../support/audit/export.ts';
import { feedProduct } from '../support/world/app.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import {
  agentKey,
  atDesk,
  endChildren,
  runCli,
  serveChild,
} from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import type { Client, Journal } from '../support/clients/journal.ts';
import { httpClient, newJournal, randomFrom, writeOf } from '../support/clients/journal.ts';

const KILLS = 30;
const CLIENTS = 16;
/** Failures print the seed; setting it repeats the sequence of writes and pauses. */
const SEED = Number(env['SEED'] ?? process.hrtime.bigint() % 2_147_483_646n);
const { fresh, removeAll } = directories('kill-');
afterAll(async () => {
  await endChildren();
  removeAll();
});

const CREATIONS: readonly string[] = [
  'LinkCreated',
  'LeadSubmitted',
  'HandoffCreated',
  'CodeClaimed',
  'RequestBound',
  'LeadClaimed',
] satisfies EventType[];

type Load = { client: Client; journal: Journal; key: string; next: number; faults: string[] };

/** Records the first answer to a write; every later answer must have the same bytes. */
const recordAnswer = (
  load: Load,
  name: string,
  answer: Awaited<ReturnType<Client['post']>>,
): void => {
  if (!answer || answer.status >= 500) return;
  const first = load.journal.acknowledged.get(name);
  if (first === undefined) {
    load.journal.acknowledged.set(name, answer);
    if (answer.status !== 201)
      load.faults.push(`${name}: ${answer.status} ${answer.text.slice(0, 300)}`);
  } else if (first.text !== answer.text || first.status !== answer.status || !answer.replayed)
    load.faults.push(`${name} got another answer: ${first.text} / ${answer.status} ${answer.text}`);
};

const send = async (load: Load, url: string, name: string): Promise<void> => {
  const sent = load.journal.sent.get(name);
  if (sent) recordAnswer(load, name, await load.client.post(url, load.key, sent, name));
};

const unacknowledged = ({ journal }: Load): string[] =>
  [...journal.sent.keys()].filter((name) => !journal.acknowledged.has(name));

/** Runs clients that each send one write after another until the service is killed. */
const writeUntil = (load: Load, url: string, isKilled: () => boolean): Promise<unknown> =>
  Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (!isKilled()) {
        const n = load.next++;
        const name = `intent-${n}`;
        load.journal.sent.set(name, writeOf(n));
        await send(load, url, name);
      }
    }),
  );

const inParallel = async (
  names: readonly string[],
  task: (name: string) => Promise<void>,
): Promise<void> => {
  const remaining = [...names];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let name = remaining.pop(); name !== undefined; name = remaining.pop()) await task(name);
    }),
  );
};

const createAgent = async (directory: string): Promise<string> => {
  const service = await serveChild(directory);
  const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
  await atDesk(service, '/products/import', { products });
  const key = await agentKey(service);
  await service.end('SIGTERM');
  return key;
};

const killOnce = async (
  load: Load,
  directory: string,
  random: (below: number) => number,
): Promise<void> => {
  const service: ChildService = await serveChild(directory);
  // Repeats unacknowledged writes and some acknowledged ones: the first answer is repeated.
  await inParallel(unacknowledged(load), (name) => send(load, service.url, name));
  const answered = [...load.journal.acknowledged.keys()];
  const sample = Array.from(
    { length: Math.min(20, answered.length) },
    () => answered[random(answered.length)] ?? '',
  );
  await inParallel(sample, (name) => send(load, service.url, name));
  let isKilled = false;
  const writing = writeUntil(load, service.url, () => isKilled);
  // The test is about the random moment of the kill: there is no condition to wait for.
  await pause(20 + random(150));
  const { signal } = await service.end('SIGKILL');
  isKilled = true;
  expect(signal).toBe('SIGKILL');
  await writing;
};

const allEvents = async (directory: string): Promise<StoredEvent[]> => {
  const log = sqliteEventLog({ directory });
  expect((await log.verify()).fault).toBeNull();
  const events: StoredEvent[] = [];
  for (let page = await log.readAll({ after: 0, limit: 5_000 }); page.length > 0; ) {
    events.push(...page);
    page = await log.readAll({ after: page.at(-1)?.position ?? 0, limit: 5_000 });
  }
  await log.close();
  return events;
};

/** Checks that the log has each acknowledged record once, in its own stream, and no other record. */
const expectOnce = (events: readonly StoredEvent[], { acknowledged, sent }: Journal): void => {
  const created = events.filter(({ type }) =>
    ['LinkCreated', 'LeadSubmitted', 'HandoffCreated'].includes(type),
  );
  const ids = created.map(({ data }) => {
    const { link_id, lead_id, handoff_id } = data as Record<string, string>;
    return link_id ?? lead_id ?? handoff_id ?? '';
  });
  expect(new Set(ids).size).toBe(ids.length);
  const answered = [...acknowledged.values()].map(
    ({ text }) => (JSON.parse(text) as { id: string }).id,
  );
  expect(answered.filter((id) => !ids.includes(id))).toEqual([]);
  // After the last pass every write is acknowledged: one record for each.
  expect(acknowledged.size).toBe(sent.size);
  expect([...ids].sort()).toEqual([...new Set(answered)].sort());
  const perStream = new Map<string, number>();
  // Events with an answer accompany the claim of the idempotency key.
  for (const { type, stream, data } of events)
    if (CREATIONS.includes(type) && !('answer' in data))
      perStream.set(stream, (perStream.get(stream) ?? 0) + 1);
  expect([...perStream].filter(([, count]) => count > 1)).toEqual([]);
};

describe('A service that gets SIGKILL', () => {
  it(`A service that gets SIGKILL ${KILLS} times under load loses no acknowledged write, and repeats none`, {
    timeout: 1_000_000,
  }, async () => {
    process.stdout.write(`kill: seed=${SEED}\n`);
    const random = randomFrom(SEED);
    const directory = fresh();
    const key = await createAgent(directory);
    const load: Load = { client: httpClient(), journal: newJournal(), key, next: 0, faults: [] };
    for (let round = 0; round < KILLS; round += 1) {
      await killOnce(load, directory, random);
      expect(load.faults, `seed=${SEED} round=${round}`).toEqual([]);
    }
    const service = await serveChild(directory);
    await inParallel(unacknowledged(load), (name) => send(load, service.url, name));
    const { sent, acknowledged } = load.journal;
    process.stdout.write(`kill: ${KILLS} kills, ${acknowledged.size} writes acknowledged\n`);
    expect(unacknowledged(load)).toEqual([]);
    // Repeats every write: each answer has the same bytes as the first one.
    await inParallel([...sent.keys()], (name) => send(load, service.url, name));
    expect(load.faults, `seed=${SEED}`).toEqual([]);
    await expectProved(served(service, fresh()), ['acme'], `seed=${SEED}`);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    load.client.close();
    expect(acknowledged.size).toBeGreaterThan(KILLS * CLIENTS);
    expectOnce(await allEvents(directory), load.journal);
  });

  it('A service that gets SIGKILL during a catalog import publishes the remaining products from the same file afterwards', async () => {
    const directory = fresh();
    const file = join(fresh(), 'feed.ndjson');
    const rows = Array.from({ length: 6_000 }, (_, n) => ({
      id: `SKU-${n}`,
      title: `Product ${n}`,
      description: 'About it',
      availability: 'in_stock',
      price: '2.50 GBP',
      product_type: 'Gifts',
      link: 'https://shop.example/p',
    }));
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const importing = (...more: string[]) =>
      runCli(['catalog', 'import', file, '--data', directory, '--json', ...more]);
    const service = await serveChild(directory);
    const first = importing();
    const ended = once(first, 'exit');
    // Kills the service after a part of the import.
    for (let count = 0; count < 500; ) {
      const answer = await fetch(`${service.url}/readyz`);
      count = ((await answer.json()) as { position: number }).position;
    }
    await service.end('SIGKILL');
    await ended;
    const stored = (await allEvents(directory)).filter(
      ({ type }) => type === 'ProductPublished',
    ).length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(rows.length);

    const second = importing();
    let out = '';
    second.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    expect(await once(second, 'close')).toEqual([0, null]);
    const report = JSON.parse(out.trim().split('\n').at(-1) ?? '') as object;
    expect(report).toMatchObject({
      read: 6_000,
      new: 6_000 - stored,
      changed: 0,
      unchanged: stored,
      rejected: 0,
      ended: 0,
    });
    const events = await allEvents(directory);
    const published = events.filter(({ type }) => type.startsWith('Product'));
    expect(new Set(published.map(({ stream }) => stream)).size).toBe(6_000);
    expect(published).toHaveLength(6_000);
  });
});
