/**
 * Flips single bits in every file of a data directory, in each kind of page and in the write-ahead logs that a kill leaves, with
 * the service stopped or running. Over HTTP nothing is answered that the log does not support, and no acknowledged write runs
 * again.
 */
import {
  closeSync,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { env } from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { readConfig } from '#src/config.ts';
import type { Service } from '#src/main.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { copyOfLive, directories } from '../support/processes/directories.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { feedProduct, freshKey, testApp, testClock, type TestApp } from '../support/world/app.ts';
import { openService } from '../support/world/open-service.ts';
import { configure, FILES, post, proposed } from '../support/world/outreach.ts';
import { buyerOver } from '../support/world/server-over.ts';

const { fresh, removeAll } = directories('flipped-files-');
afterAll(removeAll);

const FLIPS = Number(env['FLIPS'] ?? 24);
const SEED = Number(env['SEED'] ?? process.hrtime.bigint() % 2_147_483_647n);
const PAGE_BYTES = 4_096;
const LEADS = 150;
/** One of so many questions is asked after a flip. */
const SHARE = 4;

/** A generator of numbers below `n` (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed;
  return (n: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n);
  };
};

type Asked = { method: 'GET' | 'POST'; url: string; key: string; payload?: object; once?: string };
type Answer = { status: number; body: unknown };

/** A place that a flip can hit: a file, and the kind of the page or of the file. */
type Place = { state: string; file: string; kind: string; from: number; bytes: number };

const clock = testClock();
let app: TestApp;
const states: Record<string, string> = {};
const asked: Asked[] = [];
const right: Answer[] = [];
const places: Place[] = [];

const openAt = async (directory: string): Promise<Service> => {
  const settings = { DATA_DIR: directory, PORT: '0', PUBLIC_URL: 'https://t.example' };
  const config = readConfig({ ...settings, ...UNLIMITED });
  return openService(config, { clock, log: pino({ level: 'silent' }) });
};

const ask = async (
  { server }: Pick<Service, 'server'>,
  { method, url, key, payload, once }: Asked,
): Promise<Answer> => {
  const response = await server.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${key}`,
      ...(once !== undefined && { 'idempotency-key': once }),
    },
    ...(payload && { payload }),
  });
  const isJson = String(response.headers['content-type']).includes('json');
  return { status: response.statusCode, body: isJson ? response.json() : response.body };
};

/** Sends a write and remembers it: sent again, it must have the same answer. */
const write = async (key: string, path: string, payload: object): Promise<never> => {
  const one = { method: 'POST', url: `/api/affiliate/v1/${path}`, key, payload } as const;
  const sent = { ...one, once: freshKey() };
  const { status, body } = await ask(app.service, sent);
  if (status >= 300) throw new Error(JSON.stringify(body));
  asked.push(sent);
  return body as never;
};

const fill = async (key: string, owner: string, leads: number): Promise<void> => {
  await configure(app, owner, { channels: FILES });
  const ids: string[] = [];
  for (let n = 0; n < leads; n += 1) {
    const { id } = await write(key, 'leads', {
      external_id: `${owner}-${n}`,
      company: { name: `Shop ${n}`, country: 'GB' },
      contact: { name: `Buyer ${n}`, email: `buyer${n}.${owner}@shop.example` },
      consent: { basis: 'consent', obtained_at: '2026-11-01T09:00:00Z' },
    });
    ids.push(id);
    if (n % 5 > 0) continue;
    const { code } = await write(key, 'links', { target: { kind: 'search', ref: `mug ${n}` } });
    await app.service.server.inject({ method: 'GET', url: `/r/${String(code)}` });
    const { id: list, review_url: url } = await write(key, 'handoffs', {
      title: `List ${n}`,
      line_items: [{ sku: `MUG-${n % 40}`, quantity: 4 }],
    });
    const contact = { name: `Bea ${n}`, email: `bea${n}@shop.example` };
    await buyerOver(app.service.deps, url).request({ list_revision: 1, consent: true, contact });
    asked.push(desk(`/handoffs/${String(list)}/rfq`, { owner_id: owner }));
    await proposed(app, key, 'requestSocialPost', post());
  }
  for (const id of ids) asked.push(desk(`/leads/${id}`, { owner_id: owner }));
};

const desk = (path: string, query: Record<string, string>): Asked => ({
  method: 'GET',
  url: `/api/desk/v1${path}?${new URLSearchParams(query).toString()}`,
  key: app.deskToken,
});

/** Checks and verifications report damage, which is no answer about the log; runs and times differ each time. */
const REPORTS = ['auditCheck', 'auditProgress', 'verifyProjection', 'listProjections'];

/** The activity of the questions themselves comes later. */
const QUESTIONS_AT = '2026-11-20T11:00:00.000Z';
const FILLED_AT = '2026-11-20T10:30:00.000Z';
const UP_TO: Record<string, Record<string, string>> = {
  listHistory: { as_of: FILLED_AT },
  auditHistory: { to: FILLED_AT },
  auditExport: { to: FILLED_AT },
  auditState: { at: FILLED_AT },
};

const askAll = (keys: Record<string, string>): void => {
  for (const owner of Object.keys(keys))
    for (const [id, { http }] of Object.entries(deskOperations)) {
      if (http.method !== 'GET' || REPORTS.includes(id)) continue;
      const path = http.path.replace('{owner_id}', owner);
      if (path.includes('{')) continue;
      asked.push(desk(path, { owner_id: owner, ...UP_TO[id] }));
    }
  for (const key of Object.values(keys))
    for (const path of [
      'connection',
      'leads?limit=100',
      'leads?state=submitted',
      'leads?source=agent&limit=7',
      'products?limit=100',
      'products?q=blue&limit=50',
      'products?q=number+7',
      'products?category=Mugs&sort=price',
      'products?skus=MUG-1,MUG-2,MUG-30',
      'performance',
      'performance?group_by=link',
    ])
      asked.push({ method: 'GET', url: `/api/affiliate/v1/${path}`, key });
  for (const path of ['/products', '/robots.txt'])
    asked.push({ method: 'GET', url: path, key: '' });
};

const filesIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));

const placesIn = (state: string, directory: string): Place[] =>
  filesIn(directory).flatMap((file): Place[] => {
    const path = join(directory, file);
    const bytes = statSync(path).size;
    if (bytes === 0 || file.endsWith('-shm')) return [];
    const isDatabase = readFileSync(path).subarray(0, 15).toString() === 'SQLite format 3';
    if (!isDatabase || state === 'killed') return [{ state, file, kind: 'file', from: 0, bytes }];
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db.prepare('SELECT name, pagetype, pageno FROM dbstat').all();
    db.close();
    return rows.map((row) => ({
      state,
      file,
      kind: `${String(row['name'])} ${String(row['pagetype'])}`,
      from: (Number(row['pageno']) - 1) * PAGE_BYTES,
      bytes: PAGE_BYTES,
    }));
  });

beforeAll(async () => {
  process.stdout.write(`flipped files: seed=${SEED}\n`);
  app = await testApp(UNLIMITED);
  const skus = Array.from({ length: 40 }, (_, n) => `MUG-${n}`);
  await app.publish(
    skus.map((sku, n) => feedProduct(sku, { title: `Blue mug number ${n}`, category: 'Mugs' })),
  );
  const keys: Record<string, string> = {};
  for (const owner of ['acme', 'beta']) {
    keys[owner] = (await app.agent(owner)).key;
    await fill(keys[owner], owner, owner === 'acme' ? LEADS : 20);
  }
  const { log, following } = app.service.deps;
  const { position } = await log.head();
  UP_TO['readEvents'] = { up_to: String(position) };
  askAll(keys);
  await following.passed(position, 600_000);
  states['killed'] = copyOfLive(app.directory, fresh());
  await app.service.close();
  clock.set(Date.parse(QUESTIONS_AT));
  states['closed'] = fresh();
  cpSync(app.directory, states['closed'], { recursive: true });
  for (const [state, directory] of Object.entries(states))
    places.push(...placesIn(state, directory));
  right.push(...(await answersIn('closed')));
  for (const [n, other] of (await answersIn('killed')).entries())
    right[n] = { ...other, body: common(right[n]?.body, other.body) };
  const failed = right.flatMap(({ status }, n) => (status < 500 ? [] : [asked[n]?.url]));
  expect(failed).toEqual([]);
});

const ANY = 'differs in each answer';

/** Replaces what differs in two answers about the same. */
const common = (one: unknown, other: unknown): unknown => {
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length)
    return one.map((member, n) => common(member, other[n]));
  if (typeof one === 'object' && one !== null && typeof other === 'object' && other !== null)
    return Object.fromEntries(
      Object.entries(one).map(([name, member]) => [
        name,
        common(member, (other as Record<string, unknown>)[name]),
      ]),
    );
  return one === other ? one : ANY;
};

/** The members of an answer that tell when it is given: the log and its tree grow, and keys are used. */
const OF_THE_MOMENT = ['as_of', 'head', 'consistency', 'proof', 'last_used_at', 'unused_since'];
const membersOf = (value: object): string[] =>
  Object.keys(value).filter((name) => !OF_THE_MOMENT.includes(name));

/** Whether the answer is right, but for texts whose key it says is damaged or missing. */
const supports = (body: unknown, other: unknown): boolean => {
  if (body === ANY || body === other) return true;
  if (typeof other === 'string' && /\[key (?:damaged|missing)\]/.test(other)) return true;
  if (typeof body !== 'object' || body === null || typeof other !== 'object' || other === null)
    return false;
  const [names, others] = [membersOf(body), membersOf(other)];
  return (
    names.length === others.length &&
    names.every((name) =>
      supports((body as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
};

/** Names what differs first. */
const differences = (body: unknown, other: unknown, path = ''): string => {
  if (supports(body, other)) return '';
  const isDeep = [body, other].every((one) => typeof one === 'object' && one !== null);
  if (!isDeep) return `${path}: ${JSON.stringify(other)?.slice(0, 200)}`;
  const of = body as Record<string, unknown>;
  const names = new Set([...Object.keys(of), ...Object.keys(other as object)]);
  const name = [...names].find((one) => !supports(of[one], (other as typeof of)[one])) ?? '';
  return differences(of[name], (other as typeof of)[name], `${path}/${name}`);
};

const answersIn = async (state: string): Promise<Answer[]> => {
  const directory = fresh();
  cpSync(states[state] ?? '', directory, { recursive: true });
  const service = await openAt(directory);
  const answers: Answer[] = [];
  for (const one of asked) answers.push(await ask(service, one));
  await service.close();
  return answers;
};

const flip = (path: string, at: number, bit: number): void => {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
};

/** Returns each answer that the log does not support. */
const silentIn = async (service: Service, random: (n: number) => number): Promise<string[]> => {
  const silent: string[] = [];
  for (let n = random(SHARE); n < asked.length; n += 1 + random(2 * SHARE)) {
    const one = asked[n] as Asked;
    const { status, body } = await ask(service, one);
    const expected = right[n];
    if (status === 503) continue;
    if (status === expected?.status && supports(expected.body, body)) continue;
    silent.push(
      `${one.method} ${one.url} ${status}, not ${expected?.status}: ${differences(expected?.body, body)}`,
    );
  }
  return silent;
};

/** Flips a bit of the place, with the service stopped or running; returns silent answers, and none if a start refuses the file. */
const silentAfterFlip = async (
  place: Place,
  { isRunning, random }: { isRunning: boolean; random: (n: number) => number },
): Promise<string[]> => {
  const at = place.from + random(place.bytes);
  const bit = random(8);
  const directory = fresh();
  cpSync(states[place.state] ?? '', directory, { recursive: true });
  const path = join(directory, place.file);
  if (!isRunning) flip(path, at, bit);
  const service = await openAt(directory).catch((error: unknown) => {
    if (error instanceof StartupError) return undefined;
    throw error;
  });
  if (!service) return [];
  // A start can have merged a write-ahead log.
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (isRunning && bytes > at) flip(path, at, bit);
  const silent = await silentIn(service, random);
  await service.close();
  const what = `${place.state} ${place.file} ${place.kind}, byte ${at}, bit ${bit}, ${isRunning ? 'running' : 'stopped'}`;
  return silent.slice(0, 3).map((one) => `${what}: ${one}`);
};

test(`None of ${FLIPS} flipped bits in the files of a data directory gives a wrong answer over HTTP`, async () => {
  const random = randomOf(SEED);
  const kinds = Map.groupBy(places, ({ state, file, kind }) => `${state} ${file} ${kind}`);
  const names = [...kinds.keys()];
  const silent: string[] = [];
  for (let n = 0; n < FLIPS; n += 1) {
    const those = kinds.get(names[(n + SEED) % names.length] ?? '') ?? [];
    const place = those[random(those.length)] as Place;
    silent.push(...(await silentAfterFlip(place, { isRunning: random(2) > 0, random })));
  }
  expect(silent, `SEED=${SEED}`).toEqual([]);
});

test('A bit that is flipped in any write-ahead log after a kill loses no acknowledged write without a message', async () => {
  const random = randomOf(SEED + 1);
  const logs = places.filter(({ state, file }) => state === 'killed' && file.endsWith('-wal'));
  expect(logs.map(({ file }) => file.replace(/-[0-9a-f].*(?=.db-wal)/, '')).sort()).toEqual([
    'catalog.db-wal',
    'keys.db-wal',
    'log.db-wal',
    'streams.db-wal',
    'views.db-wal',
  ]);
  const silent: string[] = [];
  for (let n = 0; n < Math.max(logs.length, FLIPS / 4); n += 1) {
    const place = logs[n % logs.length] as Place;
    silent.push(...(await silentAfterFlip(place, { isRunning: false, random })));
  }
  expect(silent, `SEED=${SEED}`).toEqual([]);
});
