/** A stand-in for a test file, and logs that are closed after each test. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { EventStoreLog, EventStoreLogOptions } from '#src/stores/eventstoredb/event-log.ts';
import { eventStoreLog } from '#src/stores/eventstoredb/event-log.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Timing } from '#src/stores/eventstoredb/failures.ts';
import { HANG_MS } from '../hang.ts';
import { endStandIns, standIn, type StandIn } from './start.ts';

/** Short pauses, and time limits that only end a hang. */
const PATIENT: Partial<Timing> = {
  startupMs: HANG_MS,
  appendRepeatMs: HANG_MS,
  attemptMs: HANG_MS,
  readRepeatMs: HANG_MS,
  idleMs: HANG_MS,
  silenceMs: HANG_MS,
  pauseMs: HANG_MS,
  retryMs: [1, 20],
};

/** Opens a log whose calls wait for a server that is slow or restarts. */
export const patientLog = (options: EventStoreLogOptions): Promise<EventStoreLog> =>
  eventStoreLog({ ...options, timing: { ...PATIENT, ...options.timing } });

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
      const log = await patientLog({ ...options, url, timing });
      open.push(log);
      return log;
    },
  };
};
