/** SIGKILL at any moment: nothing acknowledged is lost, nothing happens twice. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteEventLog } from '#src/adapters/sqlite/log/event-log.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
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
const SEED = Number(process.hrtime.bigint() % 2_147_483_646n);
const { fresh, removeAll } = directories('kill-');
afterAll(async () => {
  await endChildren();
  removeAll();
});

const CREATIONS = [
  'LinkCreated',
  'LeadSubmitted',
  'HandoffCreated',
  'CodeClaimed',
  'RequestBound',
  'ContactClaimed',
];

type Load = { client: Client; journal: Journal; key: string; next: number; faults: string[] };

/** Judges a whole answer: the first is kept, a later one must be the same bytes. */
const note = (load: Load, name: string, answer: Awaited<ReturnType<Client['post']>>): void => {
  if (!answer || answer.status >= 500) return;
  const first = load.journal.acknowledged.get(name);
  if (first === undefined) {
    load.journal.acknowledged.set(name, answer);
    if (answer.status !== 201)
      load.faults.push(`${name}: ${answer.status} ${answer.text.slice(0, 300)}`);
  } else if (first.text !== answer.text || first.status !== answer.status || !answer.replayed)
    load.faults.push(
      `${name} was answered otherwise: ${first.text} / ${answer.status} ${answer.text}`,
    );
};

const send = async (load: Load, url: string, name: string): Promise<void> => {
  const sent = load.journal.sent.get(name);
  if (sent) note(load, name, await load.client.post(url, load.key, sent, name));
};

const inDoubt = ({ journal }: Load): string[] =>
  [...journal.sent.keys()].filter((name) => !journal.acknowledged.has(name));

/** Sixteen clients, each writing one thing after another until the service is gone. */
const writeUntil = (load: Load, url: string, isGone: () => boolean): Promise<unknown> =>
  Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (!isGone()) {
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
  const left = [...names];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await task(name);
    }),
  );
};

const prepared = async (directory: string): Promise<string> => {
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
  // Those in doubt first, and some that were answered: the service knows the first answer of all.
  await inParallel(inDoubt(load), (name) => send(load, service.url, name));
  const answered = [...load.journal.acknowledged.keys()];
  const sample = Array.from(
    { length: Math.min(20, answered.length) },
    () => answered[random(answered.length)] ?? '',
  );
  await inParallel(sample, (name) => send(load, service.url, name));
  let gone = false;
  const writing = writeUntil(load, service.url, () => gone);
  // The moment of the kill is the thing that is tried: no condition to wait for.
  await pause(20 + random(150));
  const { signal } = await service.end('SIGKILL');
  gone = true;
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

/** Every acknowledged record once in the log, in a stream of its own, and none that nobody sent. */
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
  // After the last pass nothing is in doubt: one record for each intent, and no more.
  expect(acknowledged.size).toBe(sent.size);
  expect([...ids].sort()).toEqual([...new Set(answered)].sort());
  const perStream = new Map<string, number>();
  // What was answered is kept beside what the key was tied to.
  for (const { type, stream, data } of events)
    if (CREATIONS.includes(type) && !('answer' in data))
      perStream.set(stream, (perStream.get(stream) ?? 0) + 1);
  expect([...perStream].filter(([, count]) => count > 1)).toEqual([]);
};

describe('a service that is killed', () => {
  it(`${KILLS} times under load loses nothing acknowledged and does nothing twice`, {
    timeout: 300_000,
  }, async () => {
    process.stdout.write(`kill: seed=${SEED}\n`);
    const random = randomFrom(SEED);
    const directory = fresh();
    const key = await prepared(directory);
    const load: Load = { client: httpClient(), journal: newJournal(), key, next: 0, faults: [] };
    for (let round = 0; round < KILLS; round += 1) {
      await killOnce(load, directory, random);
      expect(load.faults, `seed=${SEED} round=${round}`).toEqual([]);
    }
    const service = await serveChild(directory);
    await inParallel(inDoubt(load), (name) => send(load, service.url, name));
    const { sent, acknowledged } = load.journal;
    process.stdout.write(`kill: ${KILLS} kills, ${acknowledged.size} writes acknowledged\n`);
    expect(inDoubt(load)).toEqual([]);
    // Everything once more: the same bytes each time.
    await inParallel([...sent.keys()], (name) => send(load, service.url, name));
    expect(load.faults, `seed=${SEED}`).toEqual([]);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    load.client.close();
    expect(acknowledged.size).toBeGreaterThan(KILLS * CLIENTS);
    expectOnce(await allEvents(directory), load.journal);
  });

  it('while it imports a catalog takes the rest from the same file', {
    timeout: 60_000,
  }, async () => {
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
    // Killed once a part is in, and a part is not.
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
    expect(report).toEqual({
      read: 6_000,
      appended: 6_000 - stored,
      unchanged: stored,
      rejected: 0,
    });
    const events = await allEvents(directory);
    const published = events.filter(({ type }) => type.startsWith('Product'));
    expect(new Set(published.map(({ stream }) => stream)).size).toBe(6_000);
    expect(published).toHaveLength(6_000);
  });
});
