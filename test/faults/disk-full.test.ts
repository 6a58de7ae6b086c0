/** The disk becomes full under a running service, and has space again. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { feedProduct } from '../support/world/app.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import type { Answered, Client, Sent } from '../support/clients/journal.ts';
import { httpClient, writeOf } from '../support/clients/journal.ts';
import type { Problem } from '../support/world/problems.ts';

const { fresh, removeAll } = directories('full-');
const mounting = fresh();
const mount = (...options: string[]): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options.join(), 'tmpfs', mounting]).status === 0;
const isMounted = mount('size=8m');
let service: ChildService | undefined;
afterAll(async () => {
  await endChildren();
  if (isMounted) spawnSync('umount', [mounting]);
  removeAll();
});

/** Makes every third write large, so that fewer writes fill the disk. */
const large = (n: number): Sent => {
  const sent = writeOf(n);
  if (n % 3 > 0) return sent;
  const metadata = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`m${i}`, `${n}`.repeat(400).slice(0, 500)]),
  );
  return { ...sent, body: JSON.stringify({ ...(JSON.parse(sent.body) as object), metadata }) };
};

type Run = { client: Client; url: string; key: string; acknowledged: Map<number, Answered> };

const write = async ({ client, url, key, acknowledged }: Run, n: number): Promise<Answered> => {
  const answer = await client.post(url, key, large(n), `full-${n}`);
  if (!answer) throw new Error(`write ${n} has no answer\n${service?.log() ?? ''}`);
  const first = acknowledged.get(n);
  if (first) expect({ ...answer, replayed: false }).toEqual({ ...first, replayed: false });
  else if (answer.status < 300) acknowledged.set(n, answer);
  return answer;
};

const expectFull = ({ status, text }: Answered): void => {
  expect([507, 503], text).toContain(status);
  const { code, request_id, recovery } = JSON.parse(text) as Problem;
  expect(['storage_full', 'storage_unavailable', 'shutting_down', 'overloaded']).toContain(code);
  expect(request_id).not.toBe('');
  expect(recovery).toMatchObject({ action: 'retry_same_key', retryable: true });
};

const reads = async ({ url, key }: Run): Promise<Record<string, number>> => {
  const paths = ['/connection', '/products?q=product', '/leads', '/performance?granularity=month'];
  const headers = { authorization: `Bearer ${key}` };
  const statuses = await Promise.all(
    paths.map(
      async (path) =>
        [path, (await fetch(`${url}/api/affiliate/v1${path}`, { headers })).status] as const,
    ),
  );
  const live = await fetch(`${url}/livez`);
  return Object.fromEntries([...statuses, ['live', live.status]]);
};
const ready = async ({ url }: Run) => {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, body: (await answer.json()) as { reason?: string } };
};
const unrecorded = async ({ url }: Run): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^tributary_visits_unrecorded_total (\d+)/m.exec(text)?.[1]);
};
const ALL_WELL = {
  '/connection': 200,
  '/products?q=product': 200,
  '/leads': 200,
  '/performance?granularity=month': 200,
  live: 200,
};

describe.skipIf(!isMounted)('A service on a full disk (needs the right to mount a tmpfs)', () => {
  it('A service on a full disk refuses writes as full, continues to read, and writes again once there is space', {}, async () => {
    const directory = join(mounting, 'data');
    mkdirSync(directory);
    service = await serveChild(directory);
    const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
    await atDesk(service, '/products/import', { products });
    const key = await agentKey(service);
    const run: Run = { client: httpClient(), url: service.url, key, acknowledged: new Map() };

    const made = await fetch(`${service.url}/api/affiliate/v1/links`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'full-link',
      },
      body: JSON.stringify({ target: { kind: 'product', ref: 'SKU-1' } }),
    });
    const { short_url } = (await made.json()) as { short_url: string };
    const shortUrl = service.url + new URL(short_url).pathname;
    expect(await ready(run)).toMatchObject({ status: 200 });

    let n = 0;
    let answer = await write(run, n);
    for (; answer.status < 300; answer = await write(run, (n += 1))) expect(n).toBeLessThan(5_000);
    expectFull(answer);
    const refusedFirst = n;
    // Every kind of write is refused, one after another and concurrently.
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const next = await write(run, (n += 1));
      if (next.status >= 300) expectFull(next);
    }
    const atOnce = await Promise.all(Array.from({ length: 40 }, () => write(run, (n += 1))));
    for (const one of atOnce) if (one.status >= 300) expectFull(one);
    // Load balancers learn that writes are refused, and visitors of links reach the shop.
    const refused = await write(run, (n += 1));
    if (refused.status === 507)
      expect(await ready(run)).toMatchObject({ status: 503, body: { reason: 'storage_full' } });
    // Some visits may still fit.
    do {
      const visits = Array.from({ length: 20 }, () => fetch(shortUrl, { redirect: 'manual' }));
      for (const { status } of await Promise.all(visits)) expect(status).toBe(302);
    } while ((await unrecorded(run)) === 0);
    // A read model that lacks an event because its file is full says so; all others continue.
    for (const [path, status] of Object.entries(await reads(run)))
      expect(path === 'live' ? [200] : [200, 503], path).toContain(status);
    expect(service.child.exitCode, service.log()).toBeNull();

    expect(mount('remount', 'size=64m')).toBe(true);
    while ((await ready(run)).body.reason === 'storage_full') continue;
    for (
      let back = await write(run, refusedFirst);
      back.status >= 300;
      back = await write(run, refusedFirst)
    )
      expectFull(back);
    await expect.poll(() => reads(run)).toEqual(ALL_WELL);
    // A retry with the same key completes each refused or uncertain write, and replays each acknowledged one.
    for (let again = 0; again <= n; again += 1) expect((await write(run, again)).status).toBe(201);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });

    service = await serveChild(directory);
    const after: Run = { ...run, url: service.url };
    for (let again = 0; again <= n; again += 1)
      expect((await write(after, again)).replayed).toBe(true);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    run.client.close();
  });
});
