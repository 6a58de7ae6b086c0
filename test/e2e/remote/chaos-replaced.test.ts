/** The database of EventStoreDB is replaced under load, again and again, and put back. */
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProved, served } from '../../support/audit/export.ts';
import { until } from '../../support/clients/cli.ts';
import { randomFrom } from '../../support/clients/journal.ts';
import { backUp, replaceData, writeOtherLog } from '../../support/eventstoredb/replace-data.ts';
import { slot, type Slot } from '../../support/processes/chaos.ts';
import {
  expectOnce,
  inDoubt,
  keepWriting,
  type Load,
  newLoad,
  send,
} from '../../support/processes/chaos-clients.ts';
import { agentKey, atDesk } from '../../support/processes/child-service.ts';
import { endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { feedProduct } from '../../support/world/app.ts';

/** `make test-chaos` replaces the database ten times. */
const ROUNDS = Number(env['CHAOS_BLOWS'] ?? 12) > 12 ? 10 : 1;
const SEED = Number(env['SEED'] ?? env['CHAOS_SEED'] ?? 22);
const CLIENTS = 4;

describe.skipIf(!hasRedis)(`A service whose log is replaced at random, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let slots: Slot[];
  let apis: Slot[];
  let load: Load;
  let copies: (string | undefined)[];

  beforeAll(async () => {
    world = await remoteWorld();
    slots = ['api', 'api', 'projector'].map((role) => slot(world, role));
    await Promise.all(slots.map((one) => one.start()));
    apis = slots.slice(0, 2);
    const service = apis[0]?.now();
    if (!service) throw new Error('not started');
    const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
    await atDesk(service, '/products/import', { products });
    const others = apis.flatMap((api) => api.now() ?? []);
    load = newLoad(await agentKey(service, 'acme', others));
    const backup = await backUp(world.log, world.directory());
    copies = [undefined, backup, await writeOtherLog(world.directory(), 200)];
  });
  afterAll(async () => {
    load.client.close();
    await endRemote();
  });

  const isReplaced = async ({ now }: Slot): Promise<boolean> => {
    const response = await fetch(`${now()?.url}/readyz`);
    return (await response.text()).includes('log_replaced');
  };

  const resend = async (): Promise<boolean> => {
    for (const [i, name] of inDoubt(load).entries())
      await send(load, apis[i % apis.length] as Slot, name);
    return inDoubt(load).length === 0;
  };

  it.each(Array.from({ length: ROUNDS }, (_, n) => SEED + n))(
    'A service whose log is replaced at random acknowledges nothing while it is replaced, and recovers with the known log: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      let isOver = false;
      const any = (): Slot => apis[random(apis.length)] as Slot;
      const clients = Array.from({ length: CLIENTS }, () => keepWriting(load, any, () => isOver));
      // The random moment of the fault is what the test varies, so it waits for no condition.
      await wait(200 + random(2_000));
      const known = join(world.directory(), 'known');
      const kept = replaceData(world.log, copies[random(copies.length)], known);
      await kept;
      for (const api of apis) expect(await until(() => isReplaced(api))).toBe(true);
      const acknowledged = load.journal.acknowledged.size;
      await wait(random(2_000));
      expect(load.journal.acknowledged.size, `seed=${seed}`).toBe(acknowledged);
      await replaceData(world.log, known);
      for (const api of apis) expect(await until(async () => !(await isReplaced(api)))).toBe(true);
      isOver = true;
      await Promise.all(clients);
      expect(await until(resend), inDoubt(load).join()).toBe(true);
      expect(load.faults, `seed=${seed}`).toEqual([]);
      await expectOnce(world, load);
      for (const { now } of apis) await expectProved(served(now(), world.directory()), ['acme']);
      process.stdout.write(
        `chaos: seed=${seed}: log replaced, ${load.journal.acknowledged.size} writes\n`,
      );
    },
  );
});
