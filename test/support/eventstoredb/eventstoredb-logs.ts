/** A stand-in for a test file, and logs that are closed after each test. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { EventStoreLog, EventStoreLogOptions } from '#src/adapters/eventstoredb/event-log.ts';
import { eventStoreLog } from '#src/adapters/eventstoredb/event-log.ts';
import type { Timing } from '#src/adapters/eventstoredb/timing.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { endStandIns, standIn, type StandIn } from './start.ts';

/** Short pauses, and time limits longer than a test. */
const PATIENT: Partial<Timing> = {
  appendRepeatMs: 30_000,
  attemptMs: 30_000,
  readRepeatMs: 30_000,
  idleMs: 30_000,
  silenceMs: 30_000,
  pauseMs: 30_000,
  retryMs: [1, 20],
};

export const onStandIn = (file?: () => string) => {
  let server: StandIn;
  let open: EventLog[] = [];
  beforeAll(async () => {
    server = await standIn(file ? { file: file() } : {});
  });
  beforeEach(() => server.tell({ name: 'reset' }));
  afterEach(async () => {
    // Releases held writes, for which closing the log would wait.
    await server.tell({ name: 'reset' });
    await Promise.all(open.map((log) => log.close()));
    open = [];
  });
  afterAll(endStandIns);
  return {
    server: () => server,
    async log(
      timing: Partial<Timing> = {},
      options: Partial<EventStoreLogOptions> = {},
    ): Promise<EventStoreLog> {
      const url = options.url ?? server.url;
      const log = await eventStoreLog({ ...options, url, timing: { ...PATIENT, ...timing } });
      open.push(log);
      return log;
    },
  };
};
