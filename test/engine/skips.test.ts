/** Events that an engine folds read models without, and parked events that it tries again. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { verify } from '#projections/engine/operator.ts';
import { REPAIRS_STREAM, Skips } from '#projections/engine/fold.ts';
import { type OpeningCatalog, PoisonEvent } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import { partitionOf, type ProjectionStore } from '#src/ports/read-model.ts';
import { HANG_MS } from '../support/hang.ts';
import {
  append,
  appendMany,
  awaitPassed,
  copying,
  rebuild,
  tally,
  world,
} from '../support/world/engine.ts';

let { log, store, start, countOf, end } = world();
let parked: Position[];
beforeEach(() => {
  ({ log, store, start, countOf, end } = world());
  parked = [];
});
afterEach(() => end());

const onParked = (_name: string, { position }: { position: Position }): void =>
  void parked.push(position);
const eventAt = async (position: Position) => {
  const [event] = await log.readAll({ after: position - 1, limit: 1 });
  if (!event) throw new Error(`there is no event at ${position}`);
  return event;
};

const decide = async (type: string, data: object): Promise<Position> => {
  const { length } = await log.readStream(REPAIRS_STREAM);
  const id = `00000000-0000-7000-a000-${String(length).padStart(12, '0')}`;
  const meta = { at: 1, actor: 'desk:2', surface: 'desk', operation: 'x', request: 'r', v: 1 };
  const result = await log.append(REPAIRS_STREAM, length - 1, [{ id, type, data, meta }]);
  if (result.outcome !== 'appended') throw new Error('another decision came first');
  return result.position;
};

/** Approves the skip of an event, as the desk does. */
const skip = async (read_model: string, position: Position): Promise<Position> => {
  const { id: event_id, stream, revision, type } = await eventAt(position);
  return decide('EventSkipApproved', { read_model, event_id, stream, revision, position, type });
};

const poisoned = (skips: Skips, over: Parameters<typeof tally>[0] = {}) =>
  skips.over([tally({ poison: 'bad', ...over })]);

/** An engine that reads the skips of the log. */
const follow = (options: Parameters<typeof start>[0] = {}, skips = new Skips()) =>
  start({ projections: poisoned(skips), skips, onParked, recheckMs: 1e6, ...options });

/** Waits for a condition, but not for ever. */
const until = async (isReached: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = performance.now() + HANG_MS; !(await isReached()); ) {
    if (performance.now() > end) throw new Error('it never came');
    await new Promise((turn) => setImmediate(turn));
  }
};
/** Waits until no partition is parked. */
const unparked = (engine: Awaited<ReturnType<typeof start>>): Promise<void> =>
  until(async () => (await engine.status()).every((one) => one.parked.length === 0));

const faults = async (skips: Skips, projections = poisoned(skips)) =>
  (await verify({ log, store, projections })).mismatches;

const skipsInLog = async (): Promise<Skips> => {
  const skips = new Skips();
  await skips.read(log);
  return skips;
};

describe('A skipped event', () => {
  test('A skipped event is left out from the approval on: its partition continues to the head by itself, as a rebuild and a comparison leave it', async () => {
    const engine = await follow();
    await appendMany(log, ['anna', 'boris'], 2);
    const bad = await append(log, 'anna', 'bad');
    await awaitPassed(engine, await appendMany(log, ['anna', 'boris'], 2));
    expect([countOf('anna'), countOf('boris'), parked]).toEqual([2, 4, [bad]]);
    await awaitPassed(engine, await skip('tally', bad));
    await unparked(engine);
    expect([countOf('anna'), countOf('boris'), parked]).toEqual([4, 4, [bad]]);
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(5);
    expect(await engine.status()).toMatchObject([{ parked: [], lagEvents: 0, skipped: 1 }]);
    const skips = await skipsInLog();
    expect(await faults(skips)).toEqual([]);
    const [projection] = poisoned(skips);
    if (projection) await rebuild({ log, store, projection, engine });
    expect([countOf('anna'), await faults(skips)]).toEqual([5, []]);
  });

  test('A skipped event is left out by an engine that starts after the approval, and never parks', async () => {
    const bad = await append(log, 'anna', 'bad');
    await append(log, 'anna');
    await skip('tally', bad);
    const engine = await follow();
    expect(await engine.ready).toBe(true);
    expect([countOf('anna'), parked]).toEqual([1, []]);
  });

  test('A skipped event whose place throws is left out, too', async () => {
    const skips = new Skips();
    const projection = {
      ...tally(),
      place(event: FoldEvent) {
        if ((event.data as { fingerprint: string }).fingerprint === 'bad') throw new Error('lost');
        return tally().place(event);
      },
    };
    const engine = await follow({ projections: skips.over([projection]) }, skips);
    const bad = await append(log, 'anna', 'bad');
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBeUndefined();
    await awaitPassed(engine, await skip('tally', bad));
    await unparked(engine);
    expect(countOf('anna')).toBe(1);
  });

  test('A skipped event is left out of the read model that was named, and of no other', async () => {
    const skips = new Skips();
    const other = { ...tally({ poison: 'bad' }), name: 'other' };
    const engine = await follow(
      { projections: skips.over([tally({ poison: 'bad' }), other]) },
      skips,
    );
    const bad = await append(log, 'anna', 'bad');
    await awaitPassed(engine, await skip('tally', bad));
    await engine.retryParked('tally');
    expect(await engine.status()).toMatchObject([
      { name: 'tally', parked: [], skipped: 1 },
      { name: 'other', parked: [{ position: bad }], skipped: 0 },
    ]);
  });

  test('A skipped event does not hide the next one that cannot be folded', async () => {
    const engine = await follow();
    const bad = await append(log, 'anna', 'bad');
    await append(log, 'anna');
    const worse = await append(log, 'anna', 'bad');
    await awaitPassed(engine, worse);
    await awaitPassed(engine, await skip('tally', bad));
    await engine.retryParked();
    expect([countOf('anna'), new Set(parked)]).toEqual([1, new Set([bad, worse])]);
    expect(engine.parkedFor('tally', 'anna')).toMatchObject({ position: worse });
  });

  test('A skipped event that a fill met before its approval is left out once the space is adopted', async () => {
    const bad = await append(log, 'anna', 'bad');
    await appendMany(log, ['anna'], 3);
    let proceed = (): void => {};
    let isHeld = true;
    const held: EventLog = {
      ...log,
      async readFold(from) {
        if (from.after > bad && isHeld) await new Promise<void>((resolve) => (proceed = resolve));
        return log.readFold(from);
      },
    };
    const slow = { ...store, fillEvents: 1 };
    const engine = await follow({ log: held, store: slow });
    await until(() => parked.length > 0);
    await skip('tally', bad);
    isHeld = false;
    proceed();
    expect(await engine.ready).toBe(true);
    await unparked(engine);
    expect([countOf('anna'), parked]).toEqual([3, [bad]]);
  });
});

describe('A parked event', () => {
  /** A read model whose fold an operator repairs while the process runs. */
  const repairable = () => {
    const state = { isRepaired: false };
    const projection = {
      ...tally(),
      evolve: (...[row, event]: Parameters<ReturnType<typeof tally>['evolve']>) =>
        tally(state.isRepaired ? {} : { poison: 'bad' }).evolve(row, event),
    };
    return { state, projections: [projection] };
  };

  test('A parked event is folded without a restart when it is tried again after its cause has ended, and parks again before', async () => {
    const { state, projections } = repairable();
    const engine = await follow({ projections });
    await append(log, 'anna');
    const bad = await append(log, 'anna', 'bad');
    await awaitPassed(engine, await appendMany(log, ['anna', 'boris'], 3));
    await engine.retryParked();
    expect([countOf('anna'), parked]).toEqual([1, [bad, bad]]);
    expect(engine.parkedFor('tally', 'anna')).toMatchObject({ position: bad });
    state.isRepaired = true;
    await engine.retryParked('another');
    expect(countOf('anna')).toBe(1);
    await engine.retryParked('tally');
    expect([countOf('anna'), countOf('boris')]).toEqual([5, 3]);
    expect(engine.parkedFor('tally', 'anna')).toBeUndefined();
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(6);
    expect(await faults(new Skips(), projections)).toEqual([]);
  });

  test('A parked event is tried again in every process when the log says so, once for each event that is tried', async () => {
    const { state, projections } = repairable();
    const engine = await follow({ projections });
    await awaitPassed(engine, await append(log, 'anna', 'bad'));
    state.isRepaired = true;
    await awaitPassed(engine, await decide('ParkedEventsRetried', {}));
    await unparked(engine);
    expect(countOf('anna')).toBe(1);
  });

  test('A parked event that another process folds is found by one that folds nothing, and continues there when a skip is approved', async () => {
    const shared = copying(store);
    const folding = await follow({ store: shared });
    const position = await appendMany(log, ['anna', 'boris'], 2);
    await awaitPassed(folding, position);
    const api = await follow({ store: shared, partitions: [] });
    expect(await api.parkedElsewhere()).toEqual([]);
    await append(log, 'anna');
    const bad = await append(log, 'anna', 'bad');
    const last = await appendMany(log, ['anna', 'boris'], 2);
    await Promise.all([awaitPassed(folding, last), awaitPassed(api, last)]);
    const { stream } = await eventAt(bad);
    const reason = 'RequestBound: poison';
    const found = { partition: partitionOf('anna'), position: bad, stream, reason };
    expect(await api.parkedElsewhere()).toEqual([{ name: 'tally', parked: found }]);
    expect([countOf('anna'), countOf('boris')]).toEqual([3, 4]);
    await awaitPassed(api, await skip('tally', bad));
    await unparked(folding);
    expect(await api.parkedElsewhere()).toEqual([]);
    expect(countOf('anna')).toBe(5);
  });

  test('A parked event is tried again while the store fails, until the store answers', async () => {
    const { state, projections } = repairable();
    let isFailing = false;
    const failing: ProjectionStore = {
      ...store,
      async checkpoints(space) {
        if (isFailing) {
          isFailing = false;
          throw new Error('no answer');
        }
        return store.checkpoints(space);
      },
    };
    const seen: unknown[] = [];
    const engine = await follow({ projections, store: failing, onFault: (e) => seen.push(e) });
    await awaitPassed(engine, await append(log, 'anna', 'bad'));
    state.isRepaired = true;
    isFailing = true;
    await engine.retryParked();
    expect([countOf('anna'), seen.length]).toEqual([1, 1]);
  });
});

describe('The catalog', () => {
  const withdraw = async (): Promise<Position> => {
    const position = (await log.head()).position + 1;
    const data = { product_id: `prd_${position}`, reason: 'gone' };
    const meta = { at: 1, actor: 'staff', surface: 'cli', operation: 'x', request: 'r', v: 1 };
    const id = `00000000-0000-7000-9000-${position.toString().padStart(12, '0')}`;
    const event = { id, type: 'ProductWithdrawn', data, meta };
    await log.append(`catalog-product_${position}`, -1, [event]);
    return position;
  };
  /** A catalog that cannot fold one position, and leaves out what is skipped. */
  const fake = (skips: Skips, poison: { at: Position }) => {
    const applied: Position[] = [];
    let reached = 0;
    const catalog = {
      apply(events: readonly FoldEvent[], upTo: Position) {
        const positions = skips.without('catalog', events).map(({ position }) => position);
        if (positions.includes(poison.at)) throw new PoisonEvent('poison');
        applied.push(...positions);
        reached = upTo;
      },
      checkpoint: () => reached,
      generation: () => 0,
      opened: Promise.resolve(),
      opening: () => undefined,
    };
    return { applied, catalog: catalog as unknown as OpeningCatalog };
  };

  test('The catalog continues after its parked event when that is skipped, and when it is tried again and can be folded', async () => {
    const skips = new Skips();
    const poison = { at: 2 };
    const { applied, catalog } = fake(skips, poison);
    const engine = await follow({ catalog }, skips);
    const first = await withdraw();
    const bad = await withdraw();
    const last = await withdraw();
    await awaitPassed(engine, last);
    expect(applied).toEqual([first]);
    await engine.retryParked('catalog');
    expect([applied, parked]).toEqual([[first], [bad, bad]]);
    await awaitPassed(engine, await skip('catalog', bad));
    await until(() => applied.length > 1);
    expect(applied).toEqual([first, last]);
    expect((await engine.status()).at(-1)).toMatchObject({ parked: [], skipped: 1 });
    poison.at = (await log.head()).position + 1;
    const next = await withdraw();
    await awaitPassed(engine, next);
    poison.at = 0;
    await engine.retryParked();
    expect(applied).toEqual([first, last, next]);
  });
});
