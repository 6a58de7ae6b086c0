/** A start with products: the process listens first, and then reads its catalog between health checks. */
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { eventLoopTurns } from '#src/shared/work.ts';
import { type Service, startService } from '#src/main.ts';
import { feedProduct, testApp } from '../support/world/app.ts';

afterEach(() => void vi.restoreAllMocks());

const get = (service: Pick<Service, 'server'>, url: string) =>
  service.server.inject({ method: 'GET', url });

test('While a process opens its catalog it answers health checks with its progress, and refuses searches', async () => {
  const app = await testApp();
  await app.publish([feedProduct('A'), feedProduct('B')]);
  await app.service.close();
  const opening = Promise.withResolvers<void>();
  const paused = vi.spyOn(eventLoopTurns, 'pause').mockReturnValue(opening.promise);
  const service = await startService(app.service.config, { log: pino({ level: 'silent' }) });
  expect((await get(service, '/livez')).statusCode).toBe(200);
  const unready = await get(service, '/readyz');
  expect(unready.statusCode).toBe(503);
  expect(unready.json()).toMatchObject({ filling: { done: 0, of: 2, unit: 'products' } });
  const search = await get(service, '/api/affiliate/v1/products');
  expect([search.statusCode, search.json()]).toMatchObject([
    503,
    { code: 'read_model_rebuilding' },
  ]);

  paused.mockRestore();
  opening.resolve();
  await service.ready;
  expect((await get(service, '/readyz')).statusCode).toBe(200);
  expect(service.deps.catalog.count()).toBe(2);
  await service.close();
  await app.close();
});
