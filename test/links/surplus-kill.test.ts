/** A process that ends while it holds visits that are not in the log yet. */
import { afterAll, expect, it } from 'vitest';
import type { ChildService } from '../support/processes/child-service.ts';
import { agentKey, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { ask } from '../support/processes/remote.ts';

const { fresh, removeAll } = directories('surplus-kill-');
afterAll(async () => {
  await endChildren();
  removeAll();
});

const PER_MINUTE = 20;
const SETTINGS = { ADDRESS_VISITS_PER_MINUTE: String(PER_MINUTE) };
const VISITS = 2 * PER_MINUTE;

/** Follows the link more often than the log records one by one in a minute. */
const followTooOften = async (url: string, path: string): Promise<void> => {
  for (let visit = 0; visit < VISITS; visit += 1) {
    const { status } = await fetch(url + path, { redirect: 'manual' });
    expect(status).toBe(302);
  }
};

const rawClicks = async (service: ChildService, key: string): Promise<number> => {
  const { body } = await ask(service, key, '/performance?granularity=total');
  return (body['totals'] as { clicks_raw: number }).clicks_raw;
};

it('A service loses at most the surplus visits of its last minute when it is killed, and none when it is stopped', async () => {
  const directory = fresh();
  let service = await serveChild(directory, SETTINGS);
  const key = await agentKey(service);
  const body = { target: { kind: 'search', ref: 'mugs' } };
  const link = await ask(service, key, '/links', { body, 'idempotency-key': 'link-1' });
  const { pathname } = new URL(String(link.body['short_url']));

  await followTooOften(service.url, pathname);
  await service.end('SIGKILL');
  service = await serveChild(directory, SETTINGS);
  const kept = await rawClicks(service, key);
  expect(kept).toBeGreaterThanOrEqual(PER_MINUTE);
  expect(kept).toBeLessThanOrEqual(VISITS);

  await followTooOften(service.url, pathname);
  await service.end('SIGTERM');
  service = await serveChild(directory, SETTINGS);
  expect(await rawClicks(service, key)).toBe(kept + VISITS);
});
