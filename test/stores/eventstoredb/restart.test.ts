import { join } from 'node:path';
import { afterAll } from 'vitest';
import { restartConformance } from '../../conformance/event-log-restart.ts';
import { directories } from '../../support/processes/directories.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { standIn } from '../../support/eventstoredb/start.ts';

const { fresh, removeAll } = directories('eventstoredb-');
afterAll(removeAll);

restartConformance('EventStoreDB, stand-in', async () => {
  const server = await standIn({ file: join(fresh(), 'records') });
  return {
    open: () => patientLog({ url: server.url }),
    async restart() {
      await server.kill();
      await server.restart();
    },
    stop: () => server.kill(),
  };
});
