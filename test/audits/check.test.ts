/** A comparison of live rows with the log names the row that differs, and holds while the service writes. */
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { memoryStore } from '../support/memory-read-model.ts';
import { type ProjectionStore, partitionOf, PARTITIONS } from '#src/ports/read-model.ts';
import { checkAllRows, checkOwnerRows } from '#projections/engine/row-check.ts';
import { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { runProjections } from '#projections/engine/engine.ts';
import { checkInThread } from '#src/wiring/check-rows.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { person } from '../support/world/outreach.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { HANG_MS } from '../support/hang.ts';

const OWNER = 'acme';

let app: TestApp;
afterEach(() => app.close());

type Checked = Record<string, unknown> & { done: boolean };

let runs = 0;
/** Starts a run over HTTP, waits until it is done, and reads its result over HTTP. */
const check = async (
  { owner, sample = 1 }: { owner?: string; sample?: number } = {},
  key = app.deskToken,
): Promise<Checked> => {
  const run = String((runs += 1));
  const owned = owner === undefined ? '' : `&owner_id=${owner}`;
  const url = `/api/desk/v1/audit/check?run=${run}&sample=${sample}${owned}`;
  const ask = () => app.send({ method: 'GET', url, key });
  await ask();
  const { projections } = app.service.deps;
  while (!projections.check({ owner, sample }, run).done) await turn();
  const { status, body, text } = await ask();
  expect(status, text).toBe(200);
  return body;
};

const ROUNDS = 2;

const world = async () => {
  app = await testApp();
  const history = await randomHistory(app, OWNER, 7);
  for (let act = 0; act < 40; act += 1) await history.act();
  return history;
};

/** The same log folded into a store in which a test can change a row. */
const foldedStore = async (): Promise<ProjectionStore> => {
  const { log } = app.service.deps;
  const store = memoryStore();
  const stop = new AbortController();
  const engine = await runProjections({
    log,
    store,
    projections: PROJECTIONS,
    signal: stop.signal,
  });
  await engine.ready;
  await engine.passed((await log.head()).position, HANG_MS);
  stop.abort();
  await engine.done;
  return store;
};

const eventsOf = (range: { after: number; upTo: number }) => {
  const { log } = app.service.deps;
  return (async function* () {
    const events = await log.readOwner(OWNER, { ...range, limit: 10_000 });
    yield events.map((event) => ({ ...event, at: event.meta.at }));
  })();
};

describe('A check of live rows', () => {
  it('A check of live rows finds those of an owner and of all equal, while the service writes', async () => {
    const { act } = await world();
    const writing = (async () => {
      for (let n = 0; n < 20; n += 1) await act();
    })();
    for (let n = 0; n < ROUNDS; n += 1) {
      expect(await check({ owner: OWNER })).not.toHaveProperty('difference');
      const all = await check();
      expect(all).not.toHaveProperty('difference');
      expect(all).not.toHaveProperty('failure');
    }
    await writing;
    const owned = await check({ owner: OWNER });
    expect(owned).toMatchObject({ rows: expect.any(Number) });
    expect(Number(owned['rows'])).toBeGreaterThan(40);
    expect(Number((await check({ sample: 8 }))['rows'])).toBeLessThan(
      Number((await check())['rows']),
    );
  });

  it('A check of live rows in files ends when the service stops, and fails if the log cannot be read', async () => {
    await world();
    const rows = { owner: undefined, sample: 1 };
    const checkIn = (directory: string, parts: AsyncDisposableStack) =>
      checkInThread({ directory, file: 'views.db', skips: new Skips() }, parts)(rows, () => {});
    const parts = new AsyncDisposableStack();
    const checking = checkIn(app.directory, parts);
    await turn();
    await Promise.all([
      expect(checking).rejects.toThrow('the service stopped before all rows were compared'),
      parts.disposeAsync(),
    ]);
    const none = checkIn(join(app.directory, 'none'), new AsyncDisposableStack());
    await expect(none).rejects.toThrow('holds no log');
  });

  it('A check of live rows names the first row that differs, both values, and the last event that changed it', async () => {
    const { ids } = await world();
    const { log } = app.service.deps;
    const [link = ''] = ids.links;
    for (const change of ['changed', 'removed', 'added'] as const) {
      const store = await foldedStore();
      const { live } = await store.spaces('links');
      const partition = partitionOf(OWNER);
      const { checkpoint, rows } = await store.partitionRows(live ?? '', partition);
      const key = change === 'added' ? 'lnk_0' : link;
      const right = rows.find((row) => row.key === key)?.json ?? null;
      const row = change === 'removed' ? null : { status: 'gone', sort: 1 };
      const write = { scope: OWNER, key, row, sort: row && 1 };
      await store.commit(live ?? '', [
        { partition, from: checkpoint, to: checkpoint, writes: [write] },
      ]);
      const skips = new Skips();
      const options = { log, skips, storeOf: () => store, sample: 1, onProgress: () => undefined };
      const expected = {
        readModel: 'links',
        scope: OWNER,
        key,
        live: row && JSON.stringify(row),
        log: right,
        lastEvent: { stream: expect.stringContaining(`${OWNER}-link_`) },
      };
      expect((await checkOwnerRows(OWNER, options, eventsOf)).difference).toMatchObject(expected);
      expect((await checkAllRows(options)).difference).toMatchObject(expected);
    }
  });

  it("A check of all owners' rows finds a changed row of every read model, in one or in several readings of the log", async () => {
    await world();
    const { log } = app.service.deps;
    let changed = 0;
    for (const { name } of PROJECTIONS) {
      const store = await foldedStore();
      const live = (await store.spaces(name)).live ?? '';
      for (let partition = 0; partition < PARTITIONS; partition += 1) {
        const { checkpoint, rows } = await store.partitionRows(live, partition);
        const [row] = rows;
        if (!row) continue;
        const { scope, key } = row;
        const write = { scope, key, row: { ...JSON.parse(row.json), changed }, sort: null };
        const at = { partition, from: checkpoint, to: checkpoint };
        await store.commit(live, [{ ...at, writes: [write] }]);
        changed += 1;
        for (const rowsMax of [1_000_000, 100]) {
          const options = {
            log,
            skips: new Skips(),
            storeOf: () => store,
            sample: 1,
            rowsMax,
            onProgress() {},
          };
          const { difference } = await checkAllRows(options);
          expect(difference).toMatchObject({ readModel: name, scope, key, log: row.json });
        }
        break;
      }
    }
    expect(changed).toBeGreaterThan(8);
  });

  it("A check of all owners' rows is refused to an owner, and the rows of another owner are not found", async () => {
    await world();
    const owner = await person(app, ['owner'], OWNER);
    const ask = (query: string) =>
      app.send({ method: 'GET', url: `/api/desk/v1/audit/check?run=r${query}`, key: owner });
    expect((await ask('')).status).toBe(403);
    expect((await ask('&owner_id=rival')).status).toBe(404);
    expect(await check({ owner: OWNER }, owner)).toMatchObject({ done: true });
  });

  it('A check of an owner without events and rows is not found', async () => {
    await world();
    const url = '/api/desk/v1/audit/check?run=typo&owner_id=acmee';
    const ask = () => app.send({ method: 'GET', url, key: app.deskToken });
    const isDone = () =>
      app.service.deps.projections.check({ owner: 'acmee', sample: 1 }, 'typo').done;
    while (!isDone()) await turn();
    expect((await ask()).status).toBe(404);
  });
});
