/** Faults of the catalog's file under a service that follows the log: locked, full, damaged, wrong rows. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EngineOptions, LocalEngine } from '#projections/engine/engine.ts';
import {
  type CatalogOptions,
  catalogBuilds,
  type CatalogBuilds,
} from '#src/stores/sqlite/catalog/catalog.ts';
import type { ProductSearch } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { directories } from '../support/processes/directories.ts';
import { append, awaitPassed, world } from '../support/world/engine.ts';
import { content, MUCH } from '../support/world/products.ts';
import { HANG_MS } from '../support/hang.ts';

const { fresh, removeAll } = directories('catalog-');
const mounting = fresh();
const isMounted =
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounting]).status === 0;
afterAll(() => {
  if (isMounted) spawnSync('umount', [mounting]);
  removeAll();
});

let { log, start, countOf, end } = world();
let directory: string;
let builds: CatalogBuilds;
let faults: unknown[];
let parked: string[];
let discarded: string[];
let revisions: Map<string, number>;

beforeEach(() => {
  ({ log, start, countOf, end } = world());
  [faults, parked, discarded] = [[], [], []];
  revisions = new Map();
  directory = fresh();
});
afterEach(async () => {
  await end();
  builds.catalog.close();
});

const open = (options: CatalogOptions = {}): void => {
  builds = catalogBuilds(directory, log.id, {
    onDiscarded: (reason) => void discarded.push(reason),
    ...options,
  });
};
const follow = (options: Partial<EngineOptions> = {}) =>
  start({
    catalog: builds.catalog,
    onFault: (error) => faults.push(error),
    onParked: (name, { position, reason }) => parked.push(`${name} ${position} ${reason}`),
    recheckMs: 5,
    ...options,
  });

const fileOf = (): string =>
  join(directory, readdirSync(directory).find((name) => name.endsWith('.db')) ?? '');

const appendEvent = async (key: string, type: string, data: object): Promise<number> => {
  const revision = revisions.get(key) ?? -1;
  revisions.set(key, revision + 1);
  const id = `00000000-0000-7000-9000-${key.padStart(6, '0')}${`${revision + 1}`.padStart(6, '0')}`;
  const meta = {
    at: 1,
    actor: 'staff',
    surface: 'cli',
    operation: 'x',
    request: 'r',
    v: 1,
  } as const;
  const result = await log.append(`catalog-product_${key}`, revision, [{ id, type, data, meta }]);
  if (result.outcome !== 'appended') throw new Error('the stream has another revision');
  return result.position;
};
const priced = (key: string, unit_price: number, description = '') => ({
  product: content(key, { description, price_tiers: [{ min_quantity: 1, unit_price }] }),
  stock: MUCH,
});
const publish = (key: string, unit_price: number) =>
  appendEvent(key, 'ProductPublished', priced(key, unit_price));
const revise = (key: string, unit_price: number, description?: string) =>
  appendEvent(key, 'ProductRevised', priced(key, unit_price, description));
const priceOf = (key: string): number | undefined =>
  builds.catalog.byId([`prd_${key}`]).get(`prd_${key}`)?.price_tiers[0]?.unit_price;

const until = async (isReached: () => boolean): Promise<void> => {
  while (!isReached()) await turn();
};
const statusOf = async (engine: LocalEngine) => (await engine.status()).at(-1);
const ALL: ProductSearch = { sort: 'relevance', limit: 1, offset: 0, facets: [] };

describe('A catalog file that cannot be written', () => {
  test('A catalog file that cannot be written is updated once it is unlocked; meanwhile nothing is parked, its positions are not reached, and reads continue', async () => {
    open();
    const engine = await follow();
    await awaitPassed(engine, await publish('1', 100));
    const other = new DatabaseSync(fileOf());
    other.exec('begin immediate');
    const position = await revise('1', 200);
    await until(() => faults.length > 1);
    const after = await append(log, 'anna');
    expect(await engine.rowsPassed(after, HANG_MS)).toBe(true);
    expect(countOf('anna')).toBe(1);
    expect([await engine.passed(after, 0), await engine.passed(position, 0)]).toEqual([
      false,
      false,
    ]);
    expect(engine.asOf().position).toBe(position - 1);
    expect([priceOf('1'), builds.catalog.search(ALL).total]).toEqual([100, 1]);
    expect(await statusOf(engine)).toMatchObject({
      checkpoint: position - 1,
      lagEvents: 2,
      parked: [],
    });
    other.exec('rollback');
    other.close();
    await awaitPassed(engine, after);
    expect([priceOf('1'), parked]).toEqual([200, []]);
    await awaitPassed(engine, await revise('1', 300));
    expect(priceOf('1')).toBe(300);
  });

  test('A catalog file that cannot be written does not prevent a start with its older products', async () => {
    open();
    const first = await follow();
    await awaitPassed(first, await publish('1', 100));
    await first.stop();
    builds.catalog.close();
    open();
    await builds.catalog.opened;
    const other = new DatabaseSync(fileOf());
    other.exec('begin immediate');
    const position = await revise('1', 200);
    const engine = await follow();
    expect(await engine.ready).toBe(true);
    expect([await engine.passed(position, 0), priceOf('1')]).toEqual([false, 100]);
    other.exec('rollback');
    other.close();
    await awaitPassed(engine, position);
    expect(priceOf('1')).toBe(200);
  });

  test.skipIf(!isMounted)(
    'A catalog file that cannot be written is updated once its full disk has space (needs the right to mount a tmpfs)',
    async () => {
      directory = mounting;
      open();
      const engine = await follow();
      await awaitPassed(engine, await publish('1', 100));
      const filler = join(mounting, 'filler');
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096']);
      let position = 0;
      for (let price = 101; faults.length === 0; price += 1) {
        position = await revise('1', price, `${price} `.repeat(1_000));
        // One revision is pending at the fault, whatever the speed of the machine.
        while (faults.length === 0 && !(await engine.passed(position, 20)));
      }
      expect(faults[0]).toMatchObject({ errcode: expect.toBeOneOf([13, 778]) as number });
      const stale = priceOf('1');
      expect([await engine.passed(position, 0), builds.catalog.search(ALL).total]).toEqual([
        false,
        1,
      ]);
      rmSync(filler);
      await awaitPassed(engine, position);
      expect([priceOf('1'), parked]).toEqual([(stale ?? 0) + 1, []]);
      await awaitPassed(engine, await revise('1', 999));
      expect(priceOf('1')).toBe(999);
    },
  );
});

describe('A catalog file that is still being opened', () => {
  test('A catalog file that is still being opened delays neither rows nor the start of the engine, and is followed from its checkpoint once it is open', async () => {
    open();
    const first = await follow();
    await awaitPassed(first, await publish('1', 100));
    await first.stop();
    builds.catalog.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    open({ pause: () => promise });
    const position = await revise('1', 200);
    const engine = await follow({ recheckMs: 1e6 });
    let isReady = false;
    const ready = engine.ready.then((is) => (isReady = is));
    expect(await engine.rowsPassed(position, HANG_MS)).toBe(true);
    expect([await engine.passed(position, 0), isReady, faults]).toEqual([false, false, []]);
    expect(() => priceOf('1')).toThrow(ReadModelRebuilding);
    expect(await statusOf(engine)).toMatchObject({ checkpoint: 0, lagEvents: position });
    resolve();
    expect(await ready).toBe(true);
    expect([priceOf('1'), discarded, faults]).toEqual([200, [], []]);
  });

  test('A catalog file that is still being opened is replaced by an empty one if its damage is found meanwhile', async () => {
    open();
    const first = await follow();
    let position = 0;
    for (let n = 1; n <= 600; n += 1) position = await publish(`${n}`, n);
    await awaitPassed(first, position);
    await first.stop();
    builds.catalog.close();
    const bytes = readFileSync(fileOf());
    const file = openSync(fileOf(), 'r+');
    for (let at = 4_096; at < bytes.length; at += 4_096)
      if (bytes.subarray(at, at + 4_096).includes('"tiers":'))
        writeSync(file, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
    closeSync(file);
    open();
    const engine = await follow();
    expect(await engine.ready).toBe(true);
    expect([priceOf('600'), builds.catalog.count(), discarded.length]).toEqual([600, 600, 1]);
  });
});

describe('A damaged catalog file', () => {
  const COUNT = 300;

  /** Overwrites all pages with products; the pages that the catalog reads when it opens stay intact. */
  const damage = (): void => {
    const bytes = readFileSync(fileOf());
    const file = openSync(fileOf(), 'r+');
    for (let at = 4_096; at < bytes.length; at += 4_096)
      if (bytes.subarray(at, at + 4_096).includes('"description":'))
        writeSync(file, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
    closeSync(file);
  };
  const damagedCatalog = async (): Promise<{ rows: number; digest: string }> => {
    open();
    const engine = await follow();
    let position = 0;
    for (let n = 1; n <= COUNT; n += 1) position = await publish(`${n}`, n);
    await awaitPassed(engine, position);
    const digest = builds.catalog.digest();
    await engine.stop();
    builds.catalog.close();
    damage();
    open();
    await builds.catalog.opened;
    return digest;
  };

  test('A damaged catalog file is rebuilt from the log, and answers no read and reaches no position until then', async () => {
    const digest = await damagedCatalog();
    expect(builds.catalog.checkpoint()).toBe(COUNT);
    let isBlocked = false;
    const blockable: EventLog = {
      ...log,
      readFold: async (from) => {
        if (isBlocked) throw new Error('no answer');
        return log.readFold(from);
      },
    };
    const engine = await follow({ log: blockable });
    const foldedPosition = await append(log, 'anna');
    await awaitPassed(engine, foldedPosition);
    isBlocked = true;
    expect(() => priceOf('7')).toThrow(ReadModelRebuilding);
    expect(discarded).toEqual([expect.stringContaining('malformed')]);
    expect(await engine.passed(foldedPosition, 0)).toBe(false);
    const last = await publish('999', 999);
    expect(await engine.rowsPassed(last, HANG_MS)).toBe(true);
    expect(() => builds.catalog.search(ALL)).toThrow(ReadModelRebuilding);
    expect(faults.length).toBeGreaterThan(0);
    isBlocked = false;
    await awaitPassed(engine, last);
    expect([priceOf('7'), priceOf('999'), builds.catalog.count()]).toEqual([7, 999, COUNT + 1]);
    expect(builds.catalog.digest()).not.toEqual(digest);
    await awaitPassed(
      engine,
      await appendEvent('999', 'ProductWithdrawn', { product_id: 'prd_999', reason: 'x' }),
    );
    expect(builds.catalog.digest()).toEqual(digest);
    expect([parked, discarded.length]).toEqual([[], 1]);
  });

  test.each([
    ['reading the product that it changes', '7', 'ProductRevised'],
    ['writing a new product', '999', 'ProductPublished'],
  ])(
    'A damaged catalog file is rebuilt when an event meets the damage in %s',
    async (_, key, type) => {
      const { rows } = await damagedCatalog();
      const engine = await follow();
      await awaitPassed(engine, await appendEvent(key, type, priced(key, 7_000)));
      expect([priceOf(key), priceOf('8'), discarded.length, parked]).toEqual([7_000, 8, 1, []]);
      expect(builds.catalog.digest().rows).toBe(key === '7' ? rows : rows + 1);
    },
  );
});

describe('An event that the catalog cannot fold', () => {
  test('An event that the catalog cannot fold is parked once, and the other read models continue', async () => {
    open();
    const engine = await follow();
    await publish('1', 100);
    const position = await appendEvent('2', 'ProductRevised', priced('2', 5));
    await publish('3', 100);
    await awaitPassed(engine, await append(log, 'anna'));
    engine.recheck();
    await awaitPassed(engine, await revise('1', 200));
    expect(parked).toEqual([`catalog ${position} ProductRevised: ${NEVER} ${position} ${ON_NONE}`]);
    expect([faults, priceOf('1'), priceOf('3')]).toEqual([[], 100, undefined]);
    expect(await statusOf(engine)).toMatchObject({ checkpoint: position - 1 });
  });

  test('An event that the catalog cannot fold because a row is missing is folded after a rebuild, without a restart', async () => {
    open();
    const engine = await follow();
    await publish('2', 1);
    await awaitPassed(engine, await publish('1', 100));
    const other = new DatabaseSync(fileOf());
    other.exec("delete from product where product_id = 'prd_1'");
    other.close();
    await awaitPassed(engine, await revise('1', 200));
    await awaitPassed(engine, await revise('2', 2));
    expect([parked.length, priceOf('2')]).toEqual([1, 1]);
    await builds.rebuild(log);
    engine.recheck();
    await until(() => priceOf('1') === 200 && priceOf('2') === 2);
    await awaitPassed(engine, await revise('1', 300));
    expect([priceOf('1'), parked.length, faults]).toEqual([300, 1, []]);
    expect(await statusOf(engine)).toMatchObject({ parked: [], lagEvents: 0 });
  });
});

const NEVER = 'ProductRevised at';
const ON_NONE = 'on a product never published';
