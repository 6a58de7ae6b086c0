/** Processes that are far behind their log: no wrong answer is final, and `/readyz` tells the truth. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { several } from '../../conformance/log-events.ts';
import { ended, start, until, untilServed } from '../../support/clients/cli.ts';
import { COMMAND } from '../../support/eventstoredb/eventstoredb-command.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { backUp, replaceData } from '../../support/eventstoredb/replace-data.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import { ask, askOnce, endRemote, remoteWorld } from '../../support/processes/remote.ts';
import type { RemoteWorld } from '../../support/processes/remote.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';

/** With more events than this a process that lacks them is not ready. */
const LAG_EVENTS_MAX = 10_000;
const STORM = 200;

let names = 0;

/** A link, a lead and the token with which it is read, made by one process. */
type Made = { link: string; lead: string; token: string | undefined };

const make = async (service: ChildService, key: string): Promise<Made> => {
  const name = `far-${(names += 1)}`;
  const link = await ask(service, key, '/links', {
    body: { target: { kind: 'search', ref: 'mugs' } },
    'idempotency-key': name,
  });
  const body = { external_id: name, company: { name: 'Shop', country: 'GB' } };
  const lead = await ask(service, key, '/leads', { body, 'idempotency-key': `${name}-lead` });
  expect([link.status, lead.status]).toEqual([201, 201]);
  return {
    link: new URL(String(link.body['short_url'])).pathname,
    lead: name,
    token: lead.headers.get('consistency-token') ?? undefined,
  };
};

const follow = async ({ url }: ChildService, path: string): Promise<number> =>
  (await fetch(url + path, { redirect: 'manual' })).status;
const connection = async (service: ChildService, key: string): Promise<number> =>
  (await askOnce(service, key, '/connection')).status;
/** The status of a list of leads; 404 for one that lacks the row. */
const list = async (service: ChildService, key: string, { lead, token }: Made): Promise<number> => {
  const reading = token === undefined ? {} : { 'consistency-token': token };
  const { status, body } = await askOnce(service, key, `/leads?external_id=${lead}`, reading);
  return status === 200 && !JSON.stringify(body).includes(`"${lead}"`) ? 404 : status;
};
const served = async (request: () => Promise<number>): Promise<number> =>
  (await untilServed(async () => ({ status: await request() }))).status;

type Health = { status: string; position: number; folded: number; events_behind: number };
const readyz = async ({ url }: ChildService): Promise<Health & { code: number }> => {
  const response = await fetch(`${url}/readyz`);
  return { code: response.status, ...((await response.json()) as Health) };
};

const settingsOf = (world: RemoteWorld): string[] =>
  Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);

describe.skipIf(!hasRedis)(`A process that was paused for long, ${ON_REDIS},`, () => {
  let world: RemoteWorld;
  let directory: string;
  beforeAll(async () => {
    world = await remoteWorld();
    directory = world.directory();
  });
  afterAll(endRemote);

  it('A process that was paused for long answers nothing wrong when it comes back, and folds nothing twice', async () => {
    const roles = ['api', 'projector', 'projector'];
    const [paused, ...others] = await Promise.all([
      world.start('api', directory),
      ...roles.map((role) => world.start(role)),
    ]);
    const [other, pausedProjector] = others as [ChildService, ChildService];
    const key = await agentKey(other, 'acme', [paused]);
    const leaked = await agentKey(other, 'acme', [paused]);
    for (const { child } of [paused, pausedProjector]) child.kill('SIGSTOP');
    const stoppedAt = performance.now();
    // Connections do not survive a long pause either.
    await world.log.kill();
    await world.log.restart();
    const made = await make(other, key);
    const fresh = await agentKey(other);
    await atDesk(other, `/keys/${leaked.split('_')[2]}/revoke`, { reason: 'Leaked' });
    // The other projector has taken over the partitions of the paused one.
    expect(await served(() => list(other, key, made))).toBe(200);
    // For so long, a process that does not hear from its log may accept what was valid.
    const doubtedAt = stoppedAt + LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX;
    await delay(Math.max(0, doubtedAt - performance.now()));
    for (const { child } of [paused, pausedProjector]) child.kill('SIGCONT');

    const uses: [allowed: number[], request: () => Promise<number>][] = [
      [[302, 503], () => follow(paused, made.link)],
      [[200, 503], () => connection(paused, fresh)],
      [[200, 503], () => list(paused, key, made)],
      [[401, 503], () => connection(paused, leaked)],
    ];
    for (let round = 0; round < 20; round += 1)
      await Promise.all(
        uses.map(async ([allowed, request]) => expect(allowed).toContain(await request())),
      );
    for (const [[right], request] of uses) expect(await served(request)).toBe(right);
    expect(await until(async () => (await readyz(paused)).events_behind === 0)).toBe(true);
    const verify = ['projections', 'verify', '--data', directory, '--json'];
    const { code, stdout, stderr } = await ended(start(verify, settingsOf(world)));
    expect(code, stdout + stderr).toBe(0);
  });
});

describe.skipIf(!hasRedis || COMMAND !== undefined)(
  `A process far behind its log, ${ON_REDIS},`,
  () => {
    afterAll(endRemote);

    it('A process far behind its log is not ready, says by how much, and refuses nothing for good', async () => {
      const world = await remoteWorld();
      const roles = ['api', 'api', 'projector'];
      const [behind, other] = (await Promise.all(roles.map((role) => world.start(role)))) as [
        ChildService,
        ChildService,
      ];
      const key = await agentKey(other, 'acme', [behind]);
      const known = await make(other, key);
      expect(await served(() => list(behind, key, known))).toBe(200);
      await world.holdDelivery(behind);
      const log = await patientLog({ url: world.log.url });
      for (let n = 0; n <= LAG_EVENTS_MAX; n += 500)
        await log.append(`bo-lead_far${n}`, NO_STREAM, several(500));
      await log.close();
      const made = await make(other, key);
      const fresh = await agentKey(other);

      const health = await readyz(behind);
      expect(health).toMatchObject({ code: 503, status: 'not_ready' });
      expect(health.events_behind).toBeGreaterThan(LAG_EVENTS_MAX);
      expect(health.position).toBeGreaterThan(health.folded);
      expect(await follow(behind, known.link)).toBe(302);
      expect([200, 503]).toContain(await connection(behind, key));
      const storm = Array.from({ length: STORM }, (_, n) =>
        n % 2 === 0 ? follow(behind, `/l/guess${n}`) : connection(behind, fresh),
      );
      expect(new Set(await Promise.all(storm))).toEqual(new Set([503]));
      expect(await follow(behind, made.link)).toBe(503);
      expect(await list(behind, key, made)).toBe(503);
      expect(await follow(other, '/l/guess0')).toBe(404);

      await world.releaseDelivery(behind);
      expect(await until(async () => (await readyz(behind)).code === 200)).toBe(true);
      expect(await served(() => follow(behind, made.link))).toBe(302);
      expect(await served(() => list(behind, key, made))).toBe(200);
      expect(await served(() => follow(behind, '/l/guess0'))).toBe(404);
    });
  },
);

describe.skipIf(!hasRedis)(`An older log and an empty Redis, ${ON_REDIS},`, () => {
  afterAll(endRemote);

  it('An older log and an empty Redis at once lose no row silently, and an adoption answers as the log does', async () => {
    const world = await remoteWorld();
    const directory = world.directory();
    const [api, idle, projector] = await Promise.all([
      world.start('api', directory),
      world.start('api'),
      world.start('projector'),
    ]);
    const key = await agentKey(api, 'acme', [idle]);
    const kept = await make(api, key);
    const copy = await backUp(world.log, world.directory());
    const lost = await make(api, key);
    const lostKey = await agentKey(api, 'acme', [idle]);
    for (const one of [api, idle]) expect(await served(() => list(one, key, lost))).toBe(200);
    await world.redis.control.flushall();
    await replaceData(world.log, copy);

    const isFound = async (): Promise<boolean> => {
      for (const one of [api, idle]) {
        expect([302, 503]).toContain(await follow(one, kept.link));
        expect([200, 503]).toContain(await list(one, key, kept));
        expect([200, 503]).toContain(await connection(one, key));
      }
      const bodies = await Promise.all([api, idle].map(readyz));
      return bodies.every((body) => 'reason' in body && body.reason === 'log_replaced');
    };
    expect(await until(isFound)).toBe(true);
    expect(await readyz(api)).toMatchObject({ code: 503, status: 'not_ready' });

    const { detail } = (await readyz(api)) as unknown as { detail: string };
    const ids = /`tributary log adopt (\S+) (\S+)`\.$/.exec(detail)?.slice(1) ?? [];
    await Promise.all([api, idle, projector].map((one) => one.end('SIGKILL')));
    const adopting = ['log', 'adopt', ...ids, '--data', directory];
    const { code, stdout, stderr } = await ended(start(adopting, settingsOf(world)));
    expect(code, stdout + stderr).toBe(0);
    const [again] = await Promise.all([world.start('api', directory), world.start('projector')]);
    expect(await until(async () => (await readyz(again)).code === 200)).toBe(true);
    expect(await served(() => follow(again, kept.link))).toBe(302);
    expect(await served(() => list(again, key, { ...kept, token: undefined }))).toBe(200);
    expect(await served(() => follow(again, lost.link))).toBe(404);
    expect(await served(() => connection(again, lostKey))).toBe(401);
  });
});
