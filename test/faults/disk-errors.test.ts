/** The disk reports errors under a running service, and works again. */
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Answered, Client, Sent } from '../support/clients/journal.ts';
import { until } from '../support/clients/cli.ts';
import { httpClient, writeOf } from '../support/clients/journal.ts';
import { buildDiskFaults, type Call, type DiskFaults } from '../support/disk/disk-faults.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { feedProduct } from '../support/world/app.ts';
import type { Problem } from '../support/world/problems.ts';

const { fresh, removeAll } = directories('disk-errors-');
const built = buildDiskFaults(fresh());
const client: Client = httpClient();
afterAll(async () => {
  await endChildren();
  client.close();
  removeAll();
});

const CALLS: Call[] = ['read', 'write', 'sync'];
const LEAD = 2;

type World = { directory: string; service: ChildService; key: string };

const start = async ({ settings }: DiskFaults): Promise<World> => {
  const directory = fresh();
  const service = await serveChild(directory, settings);
  const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
  await atDesk(service, '/products/import', { products });
  return { directory, service, key: await agentKey(service) };
};

const restart = async (world: World, { settings }: DiskFaults): Promise<void> => {
  await world.service.end('SIGTERM');
  world.service = await serveChild(world.directory, settings);
};

const send = async (world: World, n: number, sent: Sent = writeOf(n)): Promise<Answered> => {
  const answer = await client.post(world.service.url, world.key, sent, `write-${n}`);
  if (!answer) throw new Error(`write ${n} has no answer\n${world.service.log()}`);
  return answer;
};

type Read = { status: number; retryAfter: string | null; body: Partial<Problem> };

const get = async ({ service, key }: World, path: string): Promise<Read> => {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(service.url + path, { headers });
  const body = (await response.json()) as Partial<Problem>;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body };
};

const LEADS = '/api/affiliate/v1/leads?limit=100';

/** Repeats a read until its status is this one; each answer before is a 200 or a 503 with Retry-After. */
const untilStatus = async (world: World, path: string, status: number): Promise<Read> => {
  for (;;) {
    const read = await get(world, path);
    expect([200, 503], world.service.log()).toContain(read.status);
    if (read.status === 503 && path !== '/readyz') expect(read.retryAfter).toMatch(/^\d+$/);
    if (read.status === status) return read;
  }
};

describe.skipIf(!built)('A service whose disk reports errors (needs cc on Linux)', () => {
  const faults = built as DiskFaults;
  afterEach(() => faults.end());

  it('A service whose disk reports errors answers reads 503 and is not ready while views.db cannot be read, and repairs it without an operator', async () => {
    const world = await start(faults);
    for (let n = 0; n < 12; n += 1) expect((await send(world, n)).status).toBe(201);
    const before = await untilStatus(world, LEADS, 200);

    faults.fail(CALLS, 'EIO', '/views.db');
    const during = await send(world, 4 * 12 + LEAD);
    expect([201, 503], during.text).toContain(during.status);
    expect((await untilStatus(world, LEADS, 503)).body.code).toBe('read_model_rebuilding');
    expect((await untilStatus(world, '/readyz', 503)).body).toMatchObject({
      status: 'not_ready',
      unreadable: expect.arrayContaining(['credentials', 'codes']) as string[],
    });
    expect((await untilStatus(world, '/livez', 200)).status).toBe(200);

    faults.end();
    await untilStatus(world, '/readyz', 200);
    const after = await untilStatus(world, LEADS, 200);
    const again = await send(world, 4 * 12 + LEAD);
    expect(again.status).toBe(201);
    const { data } = after.body as unknown as { data: { external_id: string }[] };
    const first = (before.body as unknown as { data: object[] }).data;
    const late = data.filter(({ external_id }) => external_id === `crm-${4 * 12 + LEAD}`);
    expect(data.filter((lead) => !late.includes(lead))).toEqual(first);
    expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('A service whose disk reports errors refuses a key that is revoked while views.db has no space, answers other reads 503, and continues with space', async () => {
    const world = await start(faults);
    expect((await send(world, LEAD)).status).toBe(201);
    const other = await agentKey(world.service, 'other');
    const desk = { ...world, key: world.service.deskToken };
    const keys = await untilStatus(desk, '/api/desk/v1/keys?owner_id=acme', 200);
    const [{ id }] = (keys.body as unknown as { data: [{ id: string }] }).data;
    await untilStatus(world, LEADS, 200);
    faults.fail(['write'], 'ENOSPC', '/views.db');
    await atDesk(world.service, `/keys/${id}/revoke`, { reason: 'Leaked' });
    expect((await get(world, LEADS)).status).toBe(401);
    expect((await get({ ...world, key: other }, LEADS)).status).toBe(503);

    faults.end();
    expect((await untilStatus({ ...world, key: other }, LEADS, 200)).body).toMatchObject({
      data: [],
    });
    expect((await get(world, LEADS)).status).toBe(401);
    expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('A service whose disk reports errors answers 503 while keys.db cannot be read or written, and continues without an operator', async () => {
    const world = await start(faults);
    expect((await send(world, LEAD)).status).toBe(201);
    await restart(world, faults);
    // Another key is written, so that the reader's pages are out of date.
    expect((await send(world, LEAD + 4)).status).toBe(201);
    faults.fail(CALLS, 'EIO', '/keys.db');
    const read = await get(world, LEADS);
    expect(read).toMatchObject({ status: 503, body: { code: 'storage_unavailable' } });
    expect(read.retryAfter).toMatch(/^\d+$/);
    const refused = await send(world, LEAD + 8);
    expect(refused.status, refused.text).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 'storage_unavailable',
      outcome: 'none',
    });

    faults.end();
    expect((await send(world, LEAD + 8)).status).toBe(201);
    expect((await get(world, LEADS)).status).toBe(200);
    expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('A service whose disk reports errors answers 503 while log.db cannot be read, and continues without an operator', async () => {
    const world = await start(faults);
    for (const n of [0, 1, LEAD]) expect((await send(world, n)).status).toBe(201);
    await restart(world, faults);
    // Another event is written, so that the reader's pages are out of date.
    expect((await send(world, LEAD + 4)).status).toBe(201);
    faults.fail(['read'], 'EIO', '/log.db');
    const history = '/api/desk/v1/events?owner_id=acme&limit=100';
    const read = await get({ ...world, key: world.service.deskToken }, history);
    expect(read, world.service.log()).toMatchObject({
      status: 503,
      body: { code: 'storage_unavailable' },
    });
    expect(read.retryAfter).toMatch(/^\d+$/);
    expect(await until(() => world.service.log().includes('the disk cannot read it'))).toBe(true);
    const replay = await send(world, 1);
    expect(replay.status, replay.text).toBe(503);
    expect(JSON.parse(replay.text)).toMatchObject({ code: 'storage_unavailable' });

    faults.end();
    expect((await get({ ...world, key: world.service.deskToken }, history)).status).toBe(200);
    expect(await send(world, 1)).toMatchObject({ status: 201, replayed: true });
    expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it.each(['EDQUOT', 'EFBIG', 'ENOSPC'] as const)(
    'A service whose disk reports errors refuses writes as full on %s, although SQLite reports an error of the disk, and continues with space',
    async (code) => {
      const world = await start(faults);
      faults.fail(['write'], code, world.directory);
      for (const n of [0, LEAD]) {
        const { status, text } = await send(world, n);
        expect(status, text).toBe(507);
        expect(JSON.parse(text)).toMatchObject({ code: 'storage_full', outcome: 'none' });
      }
      faults.end();
      for (const n of [0, LEAD]) expect((await send(world, n)).status).toBe(201);
      expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    },
  );

  it('A service whose disk reports errors reports an unknown outcome when log.db cannot be written, exits, and has the write once after a retry', async () => {
    const world = await start(faults);
    const exited = once(world.service.child, 'exit');
    faults.fail(['write', 'sync'], 'EIO', '/log.db');
    const { status, text } = await send(world, 0);
    expect(status, text).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ code: 'storage_unavailable', outcome: 'unknown' });
    expect((await exited)[0]).not.toBe(0);
    faults.end();
    world.service = await serveChild(world.directory, faults.settings);
    const first = await send(world, 0);
    expect(first.status).toBe(201);
    expect(await send(world, 0)).toEqual({ ...first, replayed: true });
    expect(await world.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
