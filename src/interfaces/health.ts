import type { FastifyInstance } from 'fastify';
import type { Deps } from '#src/app/deps.ts';

/** How many events the read models may be behind and the process still be ready. */
const LAG_EVENTS_MAX = 10_000;

/** /livez: the process turns. /readyz: the log answers and the read models follow it. */
export const healthRoutes = (
  server: FastifyInstance,
  deps: Pick<Deps, 'log' | 'following'>,
): void => {
  server.get('/livez', (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'live' }),
  );
  server.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    const { position } = await deps.log.head().catch(() => ({ position: null }));
    const folded = deps.following.asOf().position;
    const ready = position !== null && position - folded <= LAG_EVENTS_MAX;
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? 'ready' : 'not_ready', position, folded });
  });
};
