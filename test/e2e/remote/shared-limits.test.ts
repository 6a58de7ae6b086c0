/** Limits shared by all processes of a log, and the metrics of each process. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKey, type ChildService, serveChild } from '../../support/processes/child-service.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import {
  askOnce,
  endRemote,
  remoteWorld,
  type RemoteWorld,
} from '../../support/processes/remote.ts';

const PER_MINUTE = 600;

describe.skipIf(!hasRedis)(`Processes of one log, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let apis: ChildService[];
  let projector: ChildService;
  beforeAll(async () => {
    world = await remoteWorld();
    const settings = { ...world.settings, READS_PER_MINUTE: String(PER_MINUTE) };
    const api = (): Promise<ChildService> =>
      serveChild(world.directory(), settings, ['--role', 'api']);
    const started = await Promise.all([api(), api(), world.start('projector')]);
    projector = started[2];
    apis = [started[0], started[1]];
  });
  afterAll(endRemote);

  it('Processes of one log share the limit of a key to within a tenth', async () => {
    const key = await agentKey(apis[0] as ChildService, 'acme', apis);
    const began = performance.now();
    const count = new Map<number, number>();
    const asking = async (api: ChildService): Promise<void> => {
      // A slow machine needs so long for these calls that the limit is refilled meanwhile.
      for (let n = 0; n < PER_MINUTE / 8 || !count.has(429); n += 1) {
        const { status } = await askOnce(api, key, '/leads');
        count.set(status, (count.get(status) ?? 0) + 1);
      }
    };
    // Sixteen concurrent calls, half of them at each process, twice as many as the limit.
    await Promise.all([...apis, ...apis].flatMap((api) => [1, 2, 3, 4].map(() => asking(api))));
    const passed = [...count].reduce((sum, [status, n]) => sum + (status === 429 ? 0 : n), 0);
    const refilled = ((performance.now() - began) / 60_000) * PER_MINUTE;
    expect(count.get(429)).toBeGreaterThan(0);
    expect(passed).toBeGreaterThanOrEqual(PER_MINUTE * 0.9);
    expect(passed).toBeLessThanOrEqual((PER_MINUTE + refilled) * 1.1);
  });

  it('Processes of one log serve metrics in every role', async () => {
    const metricsOf = async ({ url }: ChildService): Promise<string> =>
      (await fetch(`${url}/metrics`)).text();
    const [api, folds] = [await metricsOf(apis[0] as ChildService), await metricsOf(projector)];
    expect(api).toMatch(/^tributary_requests_total\{.*operation="listLeads".*\} \d+/m);
    expect(api).toMatch(/^tributary_appends_total\{outcome="appended"\} \d+/m);
    for (const text of [api, folds]) {
      expect(text).toMatch(/^tributary_log_up 1$/m);
      expect(text).toMatch(/^tributary_projection_lag_events\{projection="leads"\} \d+/m);
    }
    expect(folds).toMatch(/^tributary_redis_total\{kind="write",outcome="ok"\} \d+/m);
    expect(api).not.toContain('acme');
  });
});
