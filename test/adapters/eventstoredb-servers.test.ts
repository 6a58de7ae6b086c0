/** The port's definition on real servers: the makers' images, and one that is named by its URL. */
import { randomBytes } from 'node:crypto';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { eventStoreLog } from '#src/adapters/eventstoredb/event-log.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { eventLogConformance } from '../conformance/event-log.ts';
import { restartConformance } from '../conformance/event-log-restart.ts';
import type { Container } from '../support/eventstoredb-containers.ts';
import { container, IMAGES, noDocker } from '../support/eventstoredb-containers.ts';
import { insulated } from '../support/insulated-log.ts';

// A server on its first legs, and one that starts again, take their time.
const timing = { startupMs: 60_000, appendRepeatMs: 90_000, readRepeatMs: 90_000, idleMs: 10_000 };

/** Each log begins where the server stands, under names that nobody had before. */
const fresh = async (url: string): Promise<{ log: EventLog; again: () => Promise<EventLog> }> => {
  const open = () => eventStoreLog({ url, timing, subscriberEventsMax: 500 });
  const mark = `t${randomBytes(5).toString('hex')}`;
  const log = await open();
  const { position } = await log.head();
  const again = async () => insulated(await open(), mark, position);
  return { log: insulated(log, mark, position), again };
};

const conformance = (name: string, url: () => string): void =>
  eventLogConformance(name, async () => {
    const { log, again } = await fresh(url());
    let current = log;
    const reopen = async () => {
      current = await again();
      return current;
    };
    return { log, reopen, cleanup: () => current.close() };
  });

const skipped = (name: string, reason: string): void => {
  describe(`event log: ${name}`, () => {
    test('the port and its restart', (context) => context.skip(reason));
  });
};

const without = await noDocker();
for (const kind of IMAGES) {
  if (without) {
    skipped(kind.image, without);
    continue;
  }
  describe(`event log: ${kind.image}`, { timeout: 240_000 }, () => {
    let server: Container;
    beforeAll(async () => {
      server = await container(kind);
    }, 240_000);
    afterAll(() => server?.stop(), 60_000);
    conformance(kind.image, () => server.url);
    restartConformance(kind.image, async () => ({
      open: async () => (await fresh(server.url)).log,
      restart: () => server.restart(),
      stop: async () => {},
    }));
  });
}

const url = env['EVENTSTOREDB_TEST_URL']?.trim();
if (url) conformance('the server of EVENTSTOREDB_TEST_URL', () => url);
else skipped('the server of EVENTSTOREDB_TEST_URL', 'EVENTSTOREDB_TEST_URL is not set');
