import { pino } from 'pino';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FillControl } from '#projections/engine/fill-control.ts';
import { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '../support/memory-read-model.ts';
import type { ProjectionDesk } from '#src/reading/projections.ts';
import { catalogBuilds } from '#src/stores/sqlite/catalog/catalog.ts';
import { projectionDesk } from '#src/wiring/read-models.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { directories } from '../support/processes/directories.ts';
import { append, world } from '../support/world/engine.ts';

const { fresh, removeAll } = directories('projection-desk-');
afterAll(removeAll);

let { log, start, end } = world();
let desk: ProjectionDesk;
/** Number of concurrent reads of the log, the maximum, and that of all. */
let readings: { now: number; max: number; all: number };
let store: ReturnType<typeof memoryStore>;
/** The space of links before a rebuild. */
const LIVE_LINKS = `links@${PROJECTIONS.find(({ name }) => name === 'links')?.version}.1`;
let rechecks: number;
let isFailing: boolean;
let closeCatalog: () => void;
let parts: AsyncDisposableStack;

beforeEach(async () => {
  ({ log, start, end } = world());
  readings = { now: 0, max: 0, all: 0 };
  rechecks = 0;
  isFailing = false;
  const counted: EventLog = {
    ...log,
    async readFold(from) {
      readings.now += 1;
      readings.all += 1;
      readings.max = Math.max(readings.max, readings.now);
      await new Promise((turn) => setImmediate(turn));
      readings.now -= 1;
      if (isFailing) throw new Error('no answer');
      return log.readFold(from);
    },
  };
  store = memoryStore();
  await store.goLive(LIVE_LINKS);
  for (let i = 0; i < 3; i++) await append(log, 'anna');
  const moved = Array.from({ length: 64 }, (_, partition) => ({
    partition,
    from: 0,
    to: 3,
    writes: [],
  }));
  await store.commit(LIVE_LINKS, moved);
  const builds = catalogBuilds(fresh(), log.id);
  builds.catalog.apply([], 3);
  parts = new AsyncDisposableStack();
  closeCatalog = () => builds.catalog.close();
  const engine = { ...(await start()), recheck: () => void (rechecks += 1) };
  desk = projectionDesk({
    ...builds,
    log: counted,
    engine,
    stackOf: () => ({ store, engine, projections: PROJECTIONS }),
    fillControl: new FillControl(),
    parts,
    unit: 'events',
    skips: new Skips(),
    checkRows: () => Promise.reject(new Error('this desk compares no rows')),
    logger: pino({ level: 'silent' }),
  });
});
afterEach(async () => {
  await parts.disposeAsync();
  await end();
  closeCatalog();
});

const finishedRun = async (name: string, run: string) => {
  for (;;) {
    const state = desk.verify(name, run);
    if (state.done) return state;
    await new Promise((turn) => setImmediate(turn));
  }
};

describe('Verify', () => {
  test.each(['links', 'catalog'])(
    'Verify runs once at a time for %s, and concurrent calls share the run',
    async (name) => {
      const first = desk.verify(name, 'run-0');
      for (let n = 1; n < 60; n++) expect(desk.verify(name, `run-${n}`)).toBe(first);
      expect(await finishedRun(name, 'run-59')).toBe(first);
      expect(first).toMatchObject({ done: true, position: 3, mismatches: [] });
      expect(readings.max).toBe(1);
      expect(desk.verify(name, 'run-59')).toBe(first);
      const second = desk.verify(name, 'another');
      expect(second).not.toBe(first);
      expect(await finishedRun(name, 'another')).toBe(second);
    },
  );

  test('Verify reports a failed run, and can run again after it', async () => {
    isFailing = true;
    expect(await finishedRun('catalog', 'bad')).toMatchObject({ done: true, failure: 'no answer' });
    isFailing = false;
    const good = await finishedRun('catalog', 'good');
    expect(good).toMatchObject({ done: true, mismatches: [] });
    expect(good).not.toHaveProperty('failure');
  });
});

test('A rebuild of all read models and the catalog reads the log once, and runs once at a time', async () => {
  expect(desk.rebuild(desk.names())).toBe(true);
  expect(desk.rebuild(['leads'])).toBe(false);
  while (rechecks === 0) await new Promise((turn) => setImmediate(turn));
  expect(readings.all).toBe(1);
  const spaces = await Promise.all(PROJECTIONS.map(({ name }) => store.spaces(name)));
  expect(spaces.map(({ live }) => live)).toEqual(
    PROJECTIONS.map(({ name, version }) => `${name}@${version}.${name === 'links' ? 2 : 1}`),
  );
});

test('A rebuilt catalog is inspected, so that it tries the event that parked the previous one', async () => {
  expect(desk.rebuild(['catalog'])).toBe(true);
  expect(desk.rebuild(['catalog'])).toBe(false);
  while (rechecks === 0) await new Promise((turn) => setImmediate(turn));
  expect((await desk.status()).at(0)?.name).toBe('tally');
});
