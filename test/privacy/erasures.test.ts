/** Erasures that stopped between the event and the destruction of the key are completed at the next start. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryStore } from '../support/memory-read-model.ts';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { finishErasures } from '#src/privacy/erase-subject.ts';
import { openService } from '../support/world/open-service.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { type ListQuery, partitionOf, type ReadModels } from '#src/ports/read-model.ts';
import { ALL_ERASURES } from '#src/ports/rows.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  // An address of this machine, of whose mail the start does not warn.
  app = await testApp({ PUBLIC_URL: 'http://localhost' });
});
afterAll(() => app.close());

type Line = { msg: string; keys?: number };

/** Opens the service again on the directory of `app`; `destroyed` is its warning that keys were destroyed. */
const startedAgain = async () => {
  const destroyed = Promise.withResolvers<Line>();
  const write = (text: string): void => {
    const line = JSON.parse(text) as Line;
    if (line.msg === 'keys of erased subjects destroyed') destroyed.resolve(line);
  };
  const { config } = app.service;
  const log = pino({ level: 'warn' }, { write });
  return {
    service: await openService(config, { clock: app.clock, log }),
    destroyed: destroyed.promise,
  };
};

const lead = async (key: string): Promise<string> => {
  const { body } = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    headers: { 'idempotency-key': freshKey() },
    payload: {
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
      interest: { note: 'Ada, after five' },
    },
  });
  return (body as { id: string }).id;
};

describe('An erasure whose key was not destroyed', () => {
  it('An erasure whose key was not destroyed is stored, and the next start of the service destroys the key', async () => {
    const { key } = await app.agent('acme');
    const [erased, other] = [await lead(key), await lead(key)];
    const noRoom = new LogUnavailable('full', 'unknown', 'no room');
    vi.spyOn(app.service.deps.vault, 'destroy').mockRejectedValueOnce(noRoom);
    const refused = await app.desk('POST', `/subjects/${erased}/erase`, { reason: 'Asked' });
    expect(refused.body).toMatchObject({ code: 'storage_unavailable', outcome: 'unknown' });
    expect(await app.service.deps.vault.knows(erased)).toBe('key');
    await app.service.close();

    const { service, destroyed } = await startedAgain();
    expect(await destroyed).toMatchObject({ keys: 1 });
    const { vault } = service.deps;
    expect([await vault.knows(erased), await vault.knows(other)]).toEqual(['destroyed', 'key']);
    await service.close();
  });
});

describe('finishErasures', () => {
  const MANY = 250;
  const subjects = Array.from({ length: MANY }, (_, n) => `led_${n}`);
  const live = new AbortController().signal;

  /** Runs it as the service; resolves to the number of keys. */
  const finish = (
    deps: Parameters<typeof finishErasures>[0],
    { newest = Infinity, signal = live }: { newest?: number; signal?: AbortSignal } = {},
  ): Promise<number> => finishErasures(deps, newest, signal);

  /** A read model of erasures, the newest last, and a vault with a key of each subject but the first two. */
  const world = async () => {
    const store = memoryStore();
    await store.goLive('erasures@1.1');
    const writes = subjects.map((subject, n) => {
      const row = { subject, sort: n + 1 };
      return { scope: ALL_ERASURES, key: subject, row, sort: row.sort };
    });
    const partition = partitionOf(ALL_ERASURES);
    await store.commit('erasures@1.1', [{ partition, from: 0, to: MANY, writes }]);
    const list = vi.fn(async (_name: string, query: ListQuery) =>
      store.list('erasures@1.1', query),
    );
    const readModels = { list } as unknown as ReadModels;
    const vault = sqliteKeyVault(':memory:', [Buffer.alloc(32, 1)]);
    for (const subject of subjects.slice(2)) await vault.seal(subject, 'Ada');
    const standing = async () => Promise.all(subjects.map((subject) => vault.knows(subject)));
    return { readModels, vault, list, standing };
  };

  it('`finishErasures` destroys the keys of all erased subjects, and subjects without a key get none', async () => {
    const { readModels, vault, standing } = await world();
    expect(await finish({ readModels, vault })).toBe(MANY - 2);
    expect(new Set(await standing())).toEqual(new Set(['destroyed']));
    const destroy = vi.spyOn(vault, 'destroy');
    expect(await finish({ readModels, vault })).toBe(0);
    expect(destroy).not.toHaveBeenCalled();
  });

  it('`finishErasures` starts with the newest erasure and stops after the requested number', async () => {
    const { readModels, vault, list, standing } = await world();
    expect(await finish({ readModels, vault }, { newest: 120 })).toBe(120);
    expect((await standing()).indexOf('destroyed')).toBe(MANY - 120);
    expect(list.mock.calls.map(([, { limit }]) => limit)).toEqual([100, 20]);
  });

  it('`finishErasures` stops when the service stops, and rejects when the vault has no disk space', async () => {
    const { readModels, vault, standing } = await world();
    const stopping = new AbortController();
    const destroy = vi.spyOn(vault, 'destroy').mockImplementationOnce(async () => {
      stopping.abort();
      return true;
    });
    expect(await finish({ readModels, vault }, { signal: stopping.signal })).toBe(1);
    const noRoom = new LogUnavailable('full', 'unknown', 'no room');
    destroy.mockRejectedValueOnce(noRoom);
    await expect(finish({ readModels, vault })).rejects.toBe(noRoom);
    expect(await standing()).not.toContain('destroyed');
  });
});
