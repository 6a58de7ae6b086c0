/** Kills and pauses every process at random: nothing acknowledged is lost or done twice. */
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProved, served } from '../../support/audit/export.ts';
import { feedProduct } from '../../support/world/app.ts';
import { processBlows, serverBlows, slot, type Slot } from '../../support/processes/chaos.ts';
import type { Load } from '../../support/processes/chaos-clients.ts';
import {
  expectOnce,
  inDoubt,
  keepWriting,
  look,
  newLoad,
  send,
} from '../../support/processes/chaos-clients.ts';
import { agentKey, atDesk } from '../../support/processes/child-service.ts';
import { ended, start, until } from '../../support/clients/cli.ts';
import { randomFrom } from '../../support/clients/journal.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';
import { HANG_MS } from '../../support/hang.ts';

/**
 * The number of faults. They come in rounds, each with its own seed; the service recovers after each
 * round. `make test-chaos` has 240, as many as one in five seconds for 20 minutes, in less time.
 */
const BLOWS = Number(env['CHAOS_BLOWS'] ?? 12);
const ROUND_BLOWS = BLOWS > 12 ? 24 : 6;
const ROUNDS = Math.ceil(BLOWS / ROUND_BLOWS);
/** The seed of the first round; each later round adds one. */
const SEED = Number(env['SEED'] ?? env['CHAOS_SEED'] ?? 351_196_904);
const CLIENTS = 6;
const ROUND_MS_MAX = ROUND_BLOWS * 30_000 + 5 * HANG_MS;
const ROLES = ['api', 'api', 'projector', 'projector'];

/** The state of a world that does not recover, for the failure message. */
const state = (slots: readonly Slot[]): string =>
  slots.map((one, i) => `\n${one.role} ${i}:\n${one.now()?.log().slice(-3_000)}`).join('');

describe.skipIf(!hasRedis)(`A service whose processes are killed at random, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let slots: Slot[];
  let apis: Slot[];
  let load: Load;

  beforeAll(async () => {
    world = await remoteWorld();
    slots = ROLES.map((role) => slot(world, role));
    apis = slots.filter(({ role }) => role === 'api');
    await Promise.all(slots.map((one) => one.start()));
    const service = slots[0]?.now();
    if (!service) throw new Error('not started');
    const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
    await atDesk(service, '/products/import', { products });
    const others = apis.flatMap((api) => api.now() ?? []);
    load = newLoad(await agentKey(service, 'acme', others));
  });
  afterAll(async () => {
    load.client.close();
    await endRemote();
  });

  /** Writes and reads continuously while one loop strikes processes and another one their servers. */
  const storm = async (seed: number): Promise<string[]> => {
    const random = randomFrom(seed + 2_000);
    const any = (): Slot => apis[random(apis.length)] as Slot;
    let isOver = false;
    const loads = Array.from({ length: CLIENTS }, () => keepWriting(load, any, () => isOver));
    const looking = async (): Promise<void> => {
      while (!isOver) await look(load, any(), any());
    };
    const struck: string[] = [];
    const striking = async (choose: typeof processBlows, seed: number): Promise<void> => {
      const chance = randomFrom(seed);
      // The random moment of a fault is what the test varies, so it waits for no condition.
      const pause = (mostMs: number): Promise<void> => wait(chance(mostMs));
      const all = choose(world, slots, pause);
      while (struck.length < ROUND_BLOWS) {
        const blow = all[chance(all.length)];
        struck.push(blow?.name ?? '');
        await blow?.strike();
        await pause(800);
      }
    };
    const clients = [...loads, looking()];
    await Promise.all([striking(processBlows, seed), striking(serverBlows, seed + 1_000)]);
    isOver = true;
    await Promise.all(clients);
    return struck;
  };

  const heal = async (label: string): Promise<number> => {
    const began = performance.now();
    const resend = async (): Promise<boolean> => {
      for (const [i, name] of inDoubt(load).entries())
        await send(load, apis[i % apis.length] as Slot, name);
      return inDoubt(load).length === 0;
    };
    expect(await until(resend), `${label}: ${inDoubt(load).join()}${state(slots)}`).toBe(true);
    for (const [i, api] of apis.entries()) {
      let last = '';
      const healed = async (): Promise<boolean> => (last = await look(load, api)) === 'right';
      const isHealed = await until(healed);
      expect(isHealed, `${label}: api ${i}: ${last}${isHealed || state(slots)}`).toBe(true);
    }
    return performance.now() - began;
  };

  const expectFreshFold = async (directory: string, label: string): Promise<void> => {
    const on = Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);
    const args = ['projections', 'verify', '--data', directory, '--json'];
    const { code, stdout, stderr } = await ended(start(args, on));
    expect(code, `${label}: ${stdout}${stderr}`).toBe(0);
  };

  const seeds = Array.from({ length: ROUNDS }, (_, i) => SEED + i);
  it.each(seeds)(
    'A service whose processes are killed at random loses nothing acknowledged, does nothing twice, and recovers: seed %i',
    {
      timeout: ROUND_MS_MAX,
    },
    async (seed) => {
      const before = load.journal.acknowledged.size;
      const struck = await storm(seed);
      const label = `seed=${seed} (${struck.join(', ')})`;
      const doubts = inDoubt(load).length;
      const healMs = await heal(label);
      const writes = load.journal.acknowledged.size - before;
      process.stdout.write(
        `chaos: seed=${seed}: ${struck.length} blows, ${writes} writes, ${doubts} in doubt, ` +
          `${load.looks} looks, healed in ${Math.round(healMs)} ms\n`,
      );
      expect(load.faults, label).toEqual([]);
      await expectOnce(world, load);
      for (const { directory, now } of apis) {
        await expectFreshFold(directory, label);
        await expectProved(served(now(), world.directory()), ['acme'], label);
      }
      expect(load.faults, label).toEqual([]);
    },
  );
});
