/** The port's definition on real servers: official images, a server by URL, a server by command. */
import { randomBytes } from 'node:crypto';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { eventStoreLog } from '#src/stores/eventstoredb/event-log.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { eventLogConformance } from '../../conformance/event-log.ts';
import { restartConformance } from '../../conformance/event-log-restart.ts';
import { rulesConformance } from '../../conformance/eventstoredb-rules.ts';
import { keyVaultConformance, type VaultUnderTest } from '../../conformance/key-vault.ts';
import { directories } from '../../support/processes/directories.ts';
import type { RealServer } from '../../support/eventstoredb/eventstoredb-command.ts';
import {
  COMMAND,
  endRealServers,
  NO_COMMAND,
  realServer,
  scavenge,
} from '../../support/eventstoredb/eventstoredb-command.ts';
import type { Container } from '../../support/eventstoredb/eventstoredb-containers.ts';
import { container, IMAGES, noDocker } from '../../support/eventstoredb/eventstoredb-containers.ts';
import { insulated } from '../../support/eventstoredb/insulated-log.ts';

const temporary = directories('eventstoredb-servers-');

// A server that starts or restarts needs time.
const timing = { startupMs: 60_000, appendRepeatMs: 90_000, readRepeatMs: 90_000, idleMs: 10_000 };

/** Each log begins at the server's head and uses new names. */
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

/** Each test has its own server, because subjects have the same names in all of them. */
const vaults = async (command: string): Promise<VaultUnderTest> => {
  const server = await realServer(command, temporary.fresh());
  const logs: EventLog[] = [];
  const another = async () => {
    const log = await eventStoreLog({ url: server.url, timing });
    logs.push(log);
    return log.keyVault([Buffer.alloc(32, 1)]);
  };
  const cleanup = async (): Promise<void> => {
    for (const log of logs) await log.close();
    await server.kill();
  };
  return { vault: await another(), another, cleanup };
};

const skipped = (name: string, reason: string): void => {
  describe(`event log: ${name}`, () => {
    test('An event log on a real server conforms to the port, even after a restart', (context) =>
      context.skip(reason));
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

const command = COMMAND;
const ours = 'the server of EVENTSTOREDB_TEST_COMMAND';
if (command) {
  let server: RealServer;
  beforeAll(async () => {
    server = await realServer(command, temporary.fresh());
  });
  afterAll(async () => {
    await endRealServers();
    temporary.removeAll();
  });
  conformance(ours, () => server.url);
  rulesConformance(
    ours,
    () => server.url,
    () => scavenge(server.url),
  );
  for (const [how, end] of [
    ['killed', 'kill'],
    ['stopped normally', 'stop'],
  ] as const)
    restartConformance(`${ours}, ${how}`, async () => ({
      open: async () => (await fresh(server.url)).log,
      async restart() {
        await server[end]();
        await server.restart();
      },
      stop: async () => {},
    }));
  keyVaultConformance(ours, () => vaults(command), { shared: true });
} else skipped(ours, NO_COMMAND);
