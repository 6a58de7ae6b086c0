/** Hours of mixed load on a log server and Redis, with kills now and then: memory, files and lag stay flat. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProved, served } from '../support/audit/export.ts';
import {
  expectOnce,
  inDoubt,
  type Load,
  newLoad,
  send,
} from '../support/processes/chaos-clients.ts';
import { serverBlows, slot, type Slot } from '../support/processes/chaos.ts';
import { agentKey, atDesk } from '../support/processes/child-service.ts';
import { endRemote, remoteWorld, type RemoteWorld } from '../support/processes/remote.ts';
import { until } from '../support/clients/cli.ts';
import { randomFrom, writeOf } from '../support/clients/journal.ts';
import { ROOT } from '../support/source/tree.ts';
import { feedProduct } from '../support/world/app.ts';
import { growthOf, plot, readSample, type Sample, toCsv } from './samples.ts';

const HOURS = Number(env['HOURS'] ?? 1);
const RATE = Number(env['RATE'] ?? 20);
const SEED = Number(env['SEED'] ?? 20_261_123);
const RUN_MS = HOURS * 3_600_000;
const SAMPLE_MS = 10_000;
const FAULT_MS = 90_000;
/** Each client is an agent of its own owner. */
const CLIENTS = 8;
/** Names and slugs of different clients differ. */
const INTENTS_MAX = 10_000_000;
const TRIES = 3;
const HEAL_MS_MAX = 600_000;
/** The last process of each role is killed now and then; the others run from the start to the end. */
const ROLES = ['api', 'api', 'api', 'projector', 'projector'];
const KILLED = [2, 4];
const OUT = join(ROOT, 'build/soak');

let world: RemoteWorld;
let slots: Slot[];
let loads: Load[] = [];
let code = '';
let reads = 0;
let clicks = 0;
let answersWithFault = 0;

beforeAll(async () => {
  world = await remoteWorld();
  slots = ROLES.map((role) => slot(world, role));
  await Promise.all(slots.map((one) => one.start()));
  const service = slots[0]?.now();
  if (!service) throw new Error('not started');
  const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
  await atDesk(service, '/products/import', { products });
  for (let i = 0; i < CLIENTS; i += 1)
    loads.push({ ...newLoad(await agentKey(service, `owner${i}`)), next: i * INTENTS_MAX });
  // The first write is a link; all clicks follow it.
  const answer = await write(loads[0] as Load, slots[0] as Slot);
  code = new URL((JSON.parse(answer) as { short_url: string }).short_url).pathname;
});
afterAll(async () => {
  for (const { client } of loads) client.close();
  await endRemote();
});

/** Sends a new write until it has an answer, a few times at most, and returns what is known then. */
const write = async (load: Load, to: Slot): Promise<string> => {
  const name = `intent-${load.next}`;
  load.journal.sent.set(name, writeOf(load.next++));
  for (let tries = 0; tries < TRIES && !load.journal.acknowledged.has(name); tries += 1)
    await send(load, to, name);
  return load.journal.acknowledged.get(name)?.text ?? '';
};

const LIST = '/leads?limit=50';
const SEARCH = '/products?q=mug';
const PERFORMANCE = '/performance?group_by=country';
const READS = [LIST, SEARCH, LIST, SEARCH, LIST, SEARCH, '/connection', LIST, SEARCH, PERFORMANCE];

/** Reads something, or follows the link. A failed answer is counted: faults are part of the run. */
const readFrom = async (load: Load, { url }: { url: string }, n: number): Promise<void> => {
  const isClick = n % 3 === 0;
  const answer = isClick
    ? await fetch(url + code, {
        redirect: 'manual',
        headers: { 'user-agent': `Mozilla/5.0 visitor ${n}` },
      })
    : await fetch(`${url}/api/affiliate/v1${READS[n % READS.length]}`, {
        headers: { authorization: `Bearer ${load.key}` },
      });
  await answer.arrayBuffer();
  if (answer.status >= 500) answersWithFault += 1;
  else if (answer.status >= 400) load.faults.push(`read ${n}: ${answer.status}`);
  else if (isClick) clicks += 1;
  else reads += 1;
};

const apis = (): Slot[] => slots.filter(({ role }) => role === 'api');

/** One request, then a pause, so that all clients together make RATE requests a second. */
const client = async (load: Load, seed: number, end: number): Promise<void> => {
  const random = randomFrom(seed);
  const pauseMs = (1_000 * CLIENTS) / RATE;
  while (performance.now() < end) {
    const to = apis()[random(apis().length)] as Slot;
    if (random(4) === 0) await write(load, to);
    else {
      const service = to.now();
      const reading = service && readFrom(load, service, random(1_000_000));
      await reading?.catch(() => (answersWithFault += 1));
    }
    await wait(pauseMs);
  }
};

const strike = async (end: number): Promise<string[]> => {
  const random = randomFrom(SEED + 1);
  const pause = (mostMs: number) => wait(random(mostMs));
  const killed = KILLED.map((i) => slots[i] as Slot).map((one) => ({
    name: `${one.role} killed`,
    async strike() {
      await one.kill();
      await pause(2_000);
      await one.start();
    },
  }));
  const blows = [...killed, ...serverBlows(world, slots, pause)];
  const struck: string[] = [];
  while (performance.now() + FAULT_MS < end) {
    await wait(FAULT_MS);
    const blow = blows[random(blows.length)];
    struck.push(blow?.name ?? '');
    await blow?.strike();
  }
  return struck;
};

const sampleAll = async (end: number, samples: Sample[]): Promise<void> => {
  const began = performance.now();
  while (performance.now() < end) {
    await wait(SAMPLE_MS);
    const minutes = (performance.now() - began) / 60_000;
    for (const [i, { role, now }] of slots.entries()) {
      const service = now();
      const name = `${role} ${i}${KILLED.includes(i) ? ' (killed now and then)' : ''}`;
      const sample = service && (await readSample(service, { name, minutes }));
      if (sample) samples.push(sample);
    }
    mkdirSync(OUT, { recursive: true });
    writeFileSync(join(OUT, 'samples.csv'), toCsv(samples));
    writeFileSync(join(OUT, 'plot.svg'), plot(samples));
  }
};

it(`A service on ${HOURS} h of mixed load loses nothing`, {
  timeout: RUN_MS + 2 * HEAL_MS_MAX,
}, async () => {
  const end = performance.now() + RUN_MS;
  const samples: Sample[] = [];
  const clients = loads.map((load, i) => client(load, SEED + i, end));
  const [struck] = await Promise.all([strike(end), sampleAll(end, samples), ...clients]);
  const resend = async (): Promise<boolean> => {
    for (const load of loads)
      for (const name of inDoubt(load)) await send(load, slots[0] as Slot, name);
    return loads.every((load) => inDoubt(load).length === 0);
  };
  expect(await until(resend, HEAL_MS_MAX), loads.flatMap(inDoubt).join()).toBe(true);
  const all = together();
  process.stdout.write(
    `soak: ${HOURS} h, ${all.journal.acknowledged.size} writes, ${reads} reads, ${clicks} clicks, ` +
      `${answersWithFault} without a good answer, ${struck.length} faults (${struck.join(', ')})\n` +
      `${growthOf(samples)}\nsoak: ${join(OUT, 'plot.svg')}\n`,
  );
  expect(all.faults).toEqual([]);
  await expectOnce(world, all);
  await expectProved(served(apis()[0]?.now(), world.directory()), ['acme']);
});

/** One journal of all clients. */
const together = (): Load => {
  const all = newLoad('');
  for (const { journal, faults } of loads) {
    for (const [name, sent] of journal.sent) all.journal.sent.set(name, sent);
    for (const [name, answer] of journal.acknowledged) all.journal.acknowledged.set(name, answer);
    all.faults.push(...faults);
  }
  all.client.close();
  return all;
};
