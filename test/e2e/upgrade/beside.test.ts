/** Processes of an earlier commit and of this version, on one log and one Redis, and back to the earlier one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, lastLine, until } from '../../support/clients/cli.ts';
import { writeOf } from '../../support/clients/journal.ts';
import {
  agentKey,
  atDesk,
  type ChildService,
  runCli,
  serveFrom,
} from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';
import { linesOn } from '../../support/processes/log-lines.ts';
import { endRemote, type RemoteWorld, remoteWorld } from '../../support/processes/remote.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ROOT } from '../../support/source/tree.ts';
import { feedProduct } from '../../support/world/app.ts';
import { type Asked, overHttp, readFacts } from './exchange.ts';
import { checkOutOldVersion, hasOldVersion, OLD_VERSION } from './old-version.ts';
import { folded, readDesk } from './services.ts';

const HOLDING = { HOLD_EVENT_TYPES: 'CallsAudited' };
const NO_REQUEST = '/approvals/out_000000000000000000000000';

const temporary = directories('tributary-beside-');
afterAll(async () => {
  await endRemote();
  temporary.removeAll();
});

type Pair = { api: ChildService; projector: ChildService };
type Events = { data: { type: string }[] };

describe.skipIf(!hasOldVersion || !hasRedis)(
  `${OLD_VERSION}, beside processes of this version on the same log and Redis, ${ON_REDIS},`,
  () => {
    const code = temporary.fresh();
    let world: RemoteWorld;
    let old: Pair;
    let today: Pair;
    let key: string;
    let writes = 0;

    const start = async (root: string, settings: Record<string, string> = {}): Promise<Pair> => {
      const serve = (role: string) =>
        serveFrom(root, temporary.fresh(), {
          settings: { ...world.settings, ...settings },
          more: ['--role', role],
        });
      const projector = await serve('projector');
      return { projector, api: await serve('api') };
    };
    const stop = async ({ api, projector }: Pair): Promise<void> => {
      for (const service of [api, projector])
        expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    };
    /** Sends a write of the nth kind. */
    const write = (to: Pair, n: number) => {
      const { path, body } = writeOf(n);
      const asked: Asked = {
        method: 'POST',
        path: `/api/affiliate/v1${path}`,
        as: 'key',
        headers: { 'idempotency-key': `write-${n}` },
        body,
      };
      return overHttp(to.api.url)(asked, { key });
    };
    const writeAndRetry = async (first: Pair, second: Pair): Promise<void> => {
      const n = (writes += 1);
      const answer = await write(first, n);
      expect(answer.status, answer.body).toBe(201);
      const retried = await write(second, n);
      expect(retried.headers['idempotent-replayed']).toBe('true');
      expect(retried.body).toBe(answer.body);
    };
    const refuseAtDesk = async ({ api }: Pair): Promise<void> =>
      expect(await readDesk(api, NO_REQUEST)).toMatchObject({ code: 'resource_not_found' });

    beforeAll(async () => {
      checkOutOldVersion(code);
      world = await remoteWorld();
      old = await start(code);
      const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
      await atDesk(old.api, '/products/import', { products });
      key = await agentKey(old.api);
      for (let n = 0; n < 4; n += 1) await writeAndRetry(old, old);
      today = await start(ROOT, HOLDING);
      await folded(today.api);
    });

    it('replay the writes of the other version byte for byte', async () => {
      for (let n = 0; n < 4; n += 1) {
        await writeAndRetry(old, today);
        await writeAndRetry(today, old);
      }
      for (let n = 1; n <= 4; n += 1)
        expect((await write(today, n)).headers['idempotent-replayed']).toBe('true');
    });

    it('answer reads alike, with what both wrote', async () => {
      await Promise.all([folded(old.api), folded(today.api)]);
      const paths = [
        '/api/affiliate/v1/leads?limit=100',
        '/api/affiliate/v1/products?q=product',
        '/api/desk/v1/links?owner_id=acme&limit=100',
        '/api/desk/v1/handoffs?owner_id=acme&limit=100',
        '/api/desk/v1/agents?owner_id=acme',
      ];
      for (const path of paths) {
        const asked = { method: 'GET', path, as: path.includes('desk') ? 'desk' : 'key' } as const;
        const [one, other] = [old, today].map(({ api }) =>
          overHttp(api.url)(asked, { key, desk: api.deskToken }),
        );
        const answer = await other;
        expect(answer?.status, path).toBe(200);
        if (one && answer) expect(readFacts(asked, await one)).toEqual(readFacts(asked, answer));
      }
    });

    it('accept keys that the other issued, and refuse those that it revoked', async () => {
      for (const [issuer, other] of [
        [old, today],
        [today, old],
      ] as const) {
        const issued = await agentKey(issuer.api, 'birch');
        const asked = {
          method: 'GET',
          path: '/api/affiliate/v1/connection',
          as: 'issued',
        } as const;
        const statusAt = async (pair: Pair): Promise<number> =>
          (await overHttp(pair.api.url)(asked, { issued })).status;
        expect(await until(async () => (await statusAt(other)) === 200)).toBe(true);
        const id = issued.split('_')[2] ?? '';
        await atDesk(other.api, `/keys/${id}/revoke`, { reason: 'Lost' });
        expect(await until(async () => (await statusAt(issuer)) === 401)).toBe(true);
      }
    });

    it('read the whole history while this version holds the new event types', async () => {
      await refuseAtDesk(today);
      expect(linesOn(today.api, 'event types are held back')).toHaveLength(1);
      await writeAndRetry(today, old);
      const { data } = await readDesk<Events>(old.api, '/events?last=100');
      expect(data.length).toBeGreaterThan(20);
      expect(data.map(({ type }) => type)).not.toContain('CallsAudited');
    });

    it('continue alone after the processes of this version were stopped', async () => {
      await stop(today);
      await writeAndRetry(old, old);
      for (let n = 1; n <= writes; n += 1) expect((await write(old, n)).status).toBe(201);
      await folded(old.api);
      expect(await verified(code, world.settings)).toMatchObject({ equal: true });
    });

    it('serve records, but not the whole history, once this version wrote a new event type', async () => {
      today = await start(ROOT);
      await refuseAtDesk(today);
      const isWritten = async (): Promise<boolean> => {
        const { data } = await readDesk<Events>(today.api, '/events?last=10');
        return data.some(({ type }) => type === 'CallsAudited');
      };
      expect(await until(isWritten)).toBe(true);
      expect(await readDesk(old.api, '/events?last=100')).toMatchObject({ code: 'internal_error' });
      const reason =
        /event type CallsAudited at position .* is unknown here: a newer version wrote/;
      const isExplained = () => reason.test(old.api.log());
      expect(await until(isExplained)).toBe(true);
      await writeAndRetry(today, old);
      await writeAndRetry(old, today);
      await stop(today);
      await folded(old.api);
      expect(await verified(code, world.settings)).toMatchObject({ equal: true });
      expect((await write(old, 1)).headers['idempotent-replayed']).toBe('true');
    });
  },
);

/** What `projections verify` of the code at `root` answers; it must succeed. */
const verified = async (root: string, settings: Record<string, string>): Promise<unknown> => {
  const args = ['projections', 'verify', '--json', '--data', temporary.fresh()];
  const { code, stdout, stderr } = await ended(runCli(args, settings, root));
  expect(code, stderr).toBe(0);
  return lastLine(stdout);
};
