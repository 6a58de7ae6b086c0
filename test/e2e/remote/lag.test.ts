/** Lag is reported in events and seconds, also on a log whose positions are byte offsets. */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKey, type ChildService, runCli } from '../../support/processes/child-service.ts';
import { until } from '../../support/clients/cli.ts';
import { COMMAND } from '../../support/eventstoredb/eventstoredb-command.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { readDesk } from '../upgrade/services.ts';

const WRITES = 40;
/** The limit of lag in events; as byte offsets it would be reached by far fewer. */
const POSITIONS = 10_000;

type Status = { name: string; checkpoint: number; lag_events: number };

describe.skipIf(!hasRedis)(`A lagging projector, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let api: ChildService;
  let projector: ChildService;
  let key: string;
  let data: string;
  beforeAll(async () => {
    world = await remoteWorld();
    data = world.directory();
    [api, projector] = await Promise.all([world.start('api', data), world.start('projector')]);
    key = await agentKey(api);
  });
  afterAll(endRemote);

  const statusOf = async (name: string): Promise<Status | undefined> => {
    const { data } = await readDesk<{ data: Status[] }>(api, '/projections');
    return data.find((each) => each.name === name);
  };
  const metric = async (name: string): Promise<number> => {
    const output = await (await fetch(`${api.url}/metrics`)).text();
    return Number(new RegExp(`^${name}\\{projection="leads"\\} (\\S+)$`, 'm').exec(output)?.[1]);
  };

  const ready = async () =>
    (await (await fetch(`${api.url}/readyz`)).json()) as { waiting: string[] };
  const readsToDoctor = async () => {
    const child = runCli(['status', '--check', '--json', '--data', data], world.settings);
    const output = await text(child.stdout as Readable);
    const { checks } = JSON.parse(output) as { checks: { name: string }[] };
    return checks.find(({ name }) => name === 'reads');
  };

  it.skipIf(COMMAND !== undefined)(
    'An API process that receives nothing says how many events it lacks',
    async () => {
      const late = await world.start('api');
      const lagOf = async (service: ChildService): Promise<number> => {
        const { body } = await ask(service, key, '/connection');
        return (body['consistency'] as { projection_lag_events: number }).projection_lag_events;
      };
      await expect.poll(() => lagOf(late)).toBe(0);
      await world.holdDelivery(late);
      for (let n = 0; n < 3; n += 1) {
        const body = { external_id: `late-${n}`, company: { name: 'Shop', country: 'GB' } };
        const response = await ask(api, key, '/leads', { body, 'idempotency-key': `late-${n}` });
        expect(response.status).toBe(201);
      }
      // A lead is a few events of hundreds of bytes each.
      expect(await lagOf(late)).toBeGreaterThanOrEqual(3);
      expect(await lagOf(late)).toBeLessThan(60);
      await world.releaseDelivery(late);
      await expect.poll(() => lagOf(late)).toBe(0);
      await late.end('SIGTERM');
    },
  );

  it('A lagging projector is reported in events and seconds, and the API processes stay ready', async () => {
    projector.child.kill('SIGSTOP');
    try {
      for (let n = 0; n < WRITES; n += 1) {
        const body = { external_id: `crm-${n}`, company: { name: 'Shop', country: 'GB' } };
        const response = await ask(api, key, '/leads', { body, 'idempotency-key': `lead-${n}` });
        expect(response.status).toBe(201);
      }
      const log = await patientLog({ url: world.log.url });
      const { position: head } = await log.head();
      const { checkpoint = 0 } = (await statusOf('leads')) ?? {};
      expect(head - checkpoint).toBeGreaterThan(POSITIONS);
      // Each look at the status is audited a second later, possibly between two of these counts.
      let waiting = 0;
      const isReported = async (): Promise<boolean> => {
        waiting = (await log.readFold({ after: checkpoint, limit: 10_000 })).length;
        const reported = (await statusOf('leads'))?.lag_events;
        return (
          reported === waiting && (await metric('tributary_projection_lag_events')) === waiting
        );
      };
      expect(await until(isReported)).toBe(true);
      await log.close();
      expect(waiting).toBeGreaterThanOrEqual(WRITES);
      expect(waiting).toBeLessThan(POSITIONS / 10);
      const isLate = async () => (await metric('tributary_projection_lag_seconds')) > 0;
      expect(await until(isLate)).toBe(true);
      const isWaiting = async () => (await ready()).waiting.includes('leads');
      expect(await until(isWaiting)).toBe(true);
      await expect.poll(ready).toMatchObject({ status: 'ready', events_behind: 0 });
      expect(await readsToDoctor()).toMatchObject({
        state: 'warning',
        detail: expect.stringMatching(/leads.* behind: does a projector run/) as string,
      });
    } finally {
      projector.child.kill('SIGCONT');
    }
    await expect.poll(() => metric('tributary_projection_lag_events')).toBe(0);
    await expect.poll(() => statusOf('leads')).toMatchObject({ lag_events: 0 });
    expect(await until(async () => (await ready()).waiting.length === 0)).toBe(true);
    expect(await readsToDoctor()).toMatchObject({ state: 'ok' });
  });
});
