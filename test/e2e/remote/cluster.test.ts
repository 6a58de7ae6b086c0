/** The read models in a Redis Cluster of three masters with a replica each; two masters are killed in turn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partitionOf } from '#src/ports/read-model.ts';
import { until } from '../../support/clients/cli.ts';
import { agentKey, type ChildService } from '../../support/processes/child-service.ts';
import {
  ask,
  askOnce,
  endRemote,
  type RemoteWorld,
  remoteWorld,
} from '../../support/processes/remote.ts';
import {
  hasRedis,
  ON_REDIS,
  startCluster,
  type TestRedis,
} from '../../support/redis/redis-server.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora', 'emil', 'fay', 'gus', 'hana', 'ida', 'jan'];
/** Their records change while a master is dead; those of the others do not. */
const BUSY = new Set(OWNERS.slice(0, 4));

describe.skipIf(!hasRedis)(`A Redis Cluster under five processes, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let nodes: TestRedis[];
  let apis: ChildService[];
  const keys = new Map<string, string>();
  let calls = 0;

  beforeAll(async () => {
    const startFirst = async (): Promise<TestRedis> => {
      nodes = await startCluster({ replicas: true });
      return nodes[0] as TestRedis;
    };
    world = await remoteWorld(startFirst);
    const roles = ['api', 'api', 'api', 'projector', 'projector'];
    apis = (await Promise.all(roles.map((role) => world.start(role)))).slice(0, 3);
    for (const owner of OWNERS) keys.set(owner, await agentKey(nextApi(), owner, apis));
  });
  afterAll(endRemote);

  const nextApi = (): ChildService => apis[(calls += 1) % apis.length] as ChildService;

  const write = async (owner: string): Promise<string> => {
    const name = `crm-${calls}`;
    const body = { external_id: name, company: { name: 'Corner Shop', country: 'GB' } };
    const more = { body, 'idempotency-key': name };
    const answer = await ask(nextApi(), keys.get(owner) ?? '', '/leads', more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return name;
  };
  const read = async (owner: string, api = nextApi()) => {
    const { status, body } = await askOnce(api, keys.get(owner) ?? '', '/leads?limit=100');
    const text = JSON.stringify(body);
    expect([200, 503], text).toContain(status);
    if (status === 503) expect(body['code']).toBe('read_model_rebuilding');
    return { isRead: status === 200, text };
  };
  const untilListed = async (names: ReadonlyMap<string, string>): Promise<void> => {
    for (const [owner, name] of names)
      for (const api of apis) {
        const isListed = async () => (await read(owner, api)).text.includes(`"${name}"`);
        expect(await until(isListed), `${name} of ${owner}`).toBe(true);
      }
  };
  const writeAll = async (owners: Iterable<string>): Promise<Map<string, string>> => {
    const names = new Map<string, string>();
    for (const owner of owners) names.set(owner, await write(owner));
    return names;
  };
  const isOn = async ({ control }: TestRedis, owner: string): Promise<boolean> =>
    (await control.keys(`*{${partitionOf(owner)}}*:head`)).length > 0;
  /** Lets the replica of a dead master take over, or not. */
  const allowFailover = async (isAllowed: boolean): Promise<void> => {
    for (const { control } of nodes.slice(3))
      await control.config('SET', 'cluster-replica-no-failover', isAllowed ? 'no' : 'yes');
  };

  it.each([
    ['the first', 1],
    ['the second', 2],
  ])(
    'A Redis Cluster under five processes loses no write and reads what other masters have when %s of two masters is killed',
    async (_which, victim) => {
      const master = nodes[victim] as TestRedis;
      const before = await writeAll(OWNERS);
      await untilListed(before);
      const lost: string[] = [];
      for (const owner of OWNERS) if (await isOn(master, owner)) lost.push(owner);
      const quiet = OWNERS.filter((owner) => !BUSY.has(owner) && !lost.includes(owner));
      expect([lost.length > 0, quiet.length > 0]).toEqual([true, true]);

      await allowFailover(false);
      await master.kill();
      for (const owner of lost)
        expect(await until(async () => !(await read(owner)).isRead), owner).toBe(true);
      const during = await writeAll(BUSY);
      const isAgreed = async (): Promise<boolean> => {
        const servers = String(await nodes[0]?.control.cluster('NODES')).split('\n');
        return servers.some(
          (line) => line.includes(`:${master.port}@`) && / master,fail /.test(line),
        );
      };
      expect(await until(isAgreed)).toBe(true);
      for (const owner of quiet)
        for (const api of apis)
          expect(await until(async () => (await read(owner, api)).isRead), owner).toBe(true);
      for (const owner of lost) expect((await read(owner)).isRead, owner).toBe(false);

      await allowFailover(true);
      await untilListed(new Map([...before, ...during]));
      await untilListed(await writeAll(OWNERS));
    },
  );
});
