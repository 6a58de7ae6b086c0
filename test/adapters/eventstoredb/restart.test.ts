import { join } from 'node:path';
import { afterAll } from 'vitest';
import { eventStoreLog } from '#src/adapters/eventstoredb/event-log.ts';
import { restartConformance } from '../../conformance/event-log-restart.ts';
import { directories } from '../../support/processes/directories.ts';
import { standIn } from '../../support/eventstoredb/start.ts';

const { fresh, removeAll } = directories('eventstoredb-');
afterAll(removeAll);

restartConformance('EventStoreDB, stand-in', async () => {
  const server = await standIn({ file: join(fresh(), 'records') });
  const timing = { appendRepeatMs: 30_000, readRepeatMs: 30_000 };
  return {
    open: () => eventStoreLog({ url: server.url, timing }),
    async restart() {
      await server.kill();
      await server.restart();
    },
    stop: () => server.kill(),
  };
});
