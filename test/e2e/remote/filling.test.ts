/** A start on a log with a long history or a long tail: the process listens first, and then reads. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { readConfig } from '#src/config.ts';
import { startService, type StartingService } from '#src/main.ts';
import { endStandIns, standIn, type StandIn } from '../../support/eventstoredb/start.ts';
import { UNLIMITED_APP } from '../../support/unlimited.ts';

const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
const LINKS = '/api/affiliate/v1/links';
const log = pino({ level: 'silent' });

const directories: string[] = [];
const services: StartingService[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
  await endStandIns();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** Starts the service on an empty data directory. */
const startOn = async (server: StandIn): Promise<StartingService> => {
  const directory = mkdtempSync(join(tmpdir(), 'tributary-filling-'));
  directories.push(directory);
  const urls = { EVENT_LOG_URL: server.url };
  const config = readConfig({
    ...UNLIMITED_APP,
    DATA_DIR: directory,
    PORT: '0',
    ROOT_KEY,
    ...urls,
  });
  const service = await startService(config, { log });
  services.push(service);
  return service;
};

/** Returns a log with events, which no process uses. */
const begun = async (): Promise<StandIn> => {
  const server = await standIn();
  const first = await startOn(server);
  await first.ready;
  services.splice(0);
  await first.close();
  return server;
};

test('While a process reads the log it answers health checks with its progress, and refuses all else', async () => {
  const server = await begun();
  await server.tell({ name: 'set', settings: { history: false } });
  const service = await startOn(server);
  const origin = await service.listen();
  const ask = (path: string, init?: RequestInit) => fetch(origin + path, init);

  expect((await ask('/livez')).status).toBe(200);
  expect((await ask('/metrics')).status).toBe(200);
  const unready = await ask('/readyz');
  expect(unready.status).toBe(503);
  const { filling } = (await unready.json()) as { filling: { done: number; of: number } };
  expect(filling).toEqual({ done: 0, of: expect.any(Number), unit: 'bytes' });
  expect(filling.of).toBeGreaterThan(0);
  const write: RequestInit = { method: 'POST', body: '{}' };
  for (const [path, init] of [[LINKS, write], ['/l/abcdefgh'], ['/'], ['/nowhere']] as const) {
    const refused = await ask(path, init);
    expect(refused.status, path).toBe(503);
    expect(refused.headers.get('retry-after'), path).toBe('5');
  }
  expect(await (await ask(LINKS, write)).json()).toMatchObject({
    code: 'read_model_rebuilding',
    detail: expect.stringContaining('/readyz'),
  });

  await server.tell({ name: 'set', settings: { history: true } });
  await service.ready;
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask(LINKS, write)).status).toBe(401);
});

test('A process that is stopped while it reads the log stops at once, and writes nothing', async () => {
  const server = await begun();
  await server.tell({ name: 'set', settings: { history: false } });
  const service = await startOn(server);
  await service.listen();
  const { appends } = await server.stats();
  services.splice(services.indexOf(service), 1);
  await service.close();
  await service.ready;
  expect((await server.stats()).appends).toBe(appends);
});

test.each([
  ['key streams', 'tributary_keys-led_{n}', '$TributaryKey'],
  ['events of another application', 'shop-order_{n}', 'OrderPlaced'],
])('A process starts on a log that ends with 10,500 %s', async (_, stream, type) => {
  const server = await begun();
  await server.tell({ name: 'flood', count: 10_500, stream, type });
  const service = await startOn(server);
  await service.ready;
  const ready = await service.server.inject({ method: 'GET', url: '/readyz' });
  expect(ready.statusCode, ready.body).toBe(200);
  const { position, folded, events_behind } = ready.json<Record<string, number>>();
  expect(folded).toBe(position);
  expect(events_behind).toBe(0);
});
