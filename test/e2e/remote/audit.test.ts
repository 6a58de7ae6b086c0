/** The audits on a log and read models on servers. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
import { untilServed } from '../../support/clients/cli.ts';
import { exported } from '../../support/audit/export.ts';
import { randomHistory } from '../../support/audit/random-history.ts';
import { endRemote, remoteWorld } from '../../support/processes/remote.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';

const OWNER = 'acme';
const NOON = '2026-11-20T12:00:00Z';

describe.skipIf(!hasRedis)(`Audits on EventStoreDB and Redis, ${ON_REDIS}`, () => {
  let app: TestApp;
  beforeAll(async () => {
    const { settings } = await remoteWorld();
    app = await testApp(settings);
    const history = await randomHistory(app, OWNER, 3);
    for (let act = 0; act < 25; act += 1) await history.act();
  });
  afterAll(async () => {
    await app.close();
    await endRemote();
  });

  const read = async (path: string): Promise<Record<string, unknown>> => {
    const { status, body, text } = await untilServed(() => app.desk('GET', path));
    expect(status, text).toBe(200);
    return body;
  };

  it('Audits on EventStoreDB and Redis answer state, changes, acts and chains, and an exported file', async () => {
    const state = await read(`/audit/state?owner_id=${OWNER}&at=${NOON}`);
    expect(state['as_of']).toMatchObject({ shown_at: '2026-11-20T12:00:00.000Z' });
    const { changes } = await read(`/audit/diff?owner_id=${OWNER}&from=${NOON}`);
    expect((changes as unknown[]).length).toBeGreaterThan(0);
    const { data } = await read(`/audit/history?owner_id=${OWNER}&kind=HandoffCreated&limit=1`);
    const [act] = data as { request_id: string; record: string }[];
    const { events } = await read(`/audit/trace/${act?.request_id}`);
    expect(events).toContainEqual(
      expect.objectContaining({ relation: 'subject', record: act?.record }),
    );
    const { file } = await openFileForAudits(await exported(app, OWNER));
    expect(file.about.events).toBeGreaterThan(20);
    file.close();
  });

  it('Audits on EventStoreDB and Redis find the rows in Redis equal to the log', async () => {
    const { projections } = app.service.deps;
    for (const owner of [OWNER, undefined]) {
      const check = () => projections.check({ owner, sample: 1 }, 'run');
      while (!check().done) await turn();
      expect(check()).not.toHaveProperty('difference');
      expect(check()).not.toHaveProperty('failure');
      expect(check().rows).toBeGreaterThan(10);
    }
  });

  it('Audits on EventStoreDB and Redis find the rows that readers have after a rebuild', async () => {
    const { status, text } = await app.desk('POST', '/projections/links/rebuild', {});
    expect(status, text).toBe(200);
    const { projections } = app.service.deps;
    const last = async () => (await projections.status()).find(({ name }) => name === 'links');
    while ((await last())?.lastRebuild?.state === 'running') await turn();
    const links = await read(`/links?owner_id=${OWNER}&limit=100`);
    expect((links['data'] as unknown[]).length).toBeGreaterThan(0);
  });
});
