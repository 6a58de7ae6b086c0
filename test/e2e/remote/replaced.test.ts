/** Another log behind the address of EventStoreDB, while processes of the service run. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProved, served } from '../../support/audit/export.ts';
import { feedProduct } from '../../support/world/app.ts';
import { ended, start, until } from '../../support/clients/cli.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import type { Answer, RemoteWorld } from '../../support/processes/remote.ts';
import {
  ask,
  askOnce,
  endRemote,
  positionOf,
  remoteWorld,
} from '../../support/processes/remote.ts';
import { backUp, replaceData, writeOtherLog } from '../../support/eventstoredb/replace-data.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';

const newestIn = (mark: string): number =>
  Number((JSON.parse(mark) as { newest: { position: number } | null }).newest?.position);

const KINDS = ['an empty database', 'an older backup', 'the log of another installation'] as const;

describe.skipIf(!hasRedis).each(KINDS)(`%s behind the address, ${ON_REDIS},`, (kind) => {
  let world: RemoteWorld;
  let api: ChildService;
  let idle: ChildService;
  let projector: ChildService;
  let directory: string;
  /** Of the process that only reads. */
  let idleDirectory: string;
  let key: string;
  let copy: string | undefined;
  let names = 0;
  /** Of the last write before the log was replaced. */
  let token: string;

  const write = async (service = api, send = ask): Promise<Answer> => {
    const name = `crm-${(names += 1)}`;
    const body = { external_id: name, company: { name: 'Shop', country: 'GB' } };
    return send(service, key, '/leads', { body, 'idempotency-key': name });
  };
  const settings = (): string[] =>
    Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);
  const serveAgain = (role: string, at: string) =>
    ended(start(['serve', '--data', at, '--port', '0', '--role', role], settings()));
  const ready = async (): Promise<Record<string, unknown>> => {
    const response = await fetch(`${api.url}/readyz`);
    return { code: response.status, ...((await response.json()) as object) };
  };

  beforeAll(async () => {
    world = await remoteWorld();
    directory = world.directory();
    idleDirectory = world.directory();
    [api, idle, projector] = await Promise.all([
      world.start('api', directory),
      world.start('api', idleDirectory),
      world.start('projector'),
    ]);
    await atDesk(api, '/products/import', { products: [feedProduct('SKU-1')] });
    key = await agentKey(api);
    expect((await write()).status).toBe(201);
    if (kind === 'an older backup') copy = await backUp(world.log, world.directory());
    if (kind === 'the log of another installation')
      copy = await writeOtherLog(world.directory(), 100);
    const { status, headers } = await write();
    expect(status).toBe(201);
    token = headers.get('consistency-token') ?? '';
    await ask(api, key, '/leads', { 'consistency-token': token });
    // A process stores its newest acknowledged append for the others up to a second later.
    const acknowledged = positionOf(headers);
    const isShared = async () =>
      Number(await world.redis.control.hget('tributary:log', 'position')) >= acknowledged;
    expect(await until(isShared)).toBe(true);
    // So does a process that only reads, before it stores rows.
    const mark = join(idleDirectory, 'remote-log.mark');
    const isRead = async () =>
      existsSync(mark) && newestIn(readFileSync(mark, 'utf8')) >= acknowledged;
    expect(await until(isRead)).toBe(true);
    await replaceData(world.log, copy);
  });
  afterAll(endRemote);

  it('A replaced log makes every process refuse writes as log_replaced, even one that has written nothing', async () => {
    for (const service of [api, idle, api, idle]) {
      // A busy server does not answer the first call in time.
      const isFound = async (): Promise<boolean> => {
        const written = await write(service, askOnce);
        expect(written.status, JSON.stringify(written.body)).toBe(503);
        expect(written.body['outcome']).toMatch(/^(?:unknown|none)$/);
        expect(written.headers.get('retry-after')).toMatch(/^\d+$/);
        return written.body['code'] === 'log_replaced';
      };
      expect(await until(isFound)).toBe(true);
    }
    const later = await write(api, askOnce);
    expect(later.body).toMatchObject({ code: 'log_replaced', outcome: 'none' });
  });

  it('A replaced log makes the process unready with the reason and the way forward', async () => {
    expect(await ready()).toMatchObject({
      code: 503,
      status: 'not_ready',
      reason: 'log_replaced',
      detail: expect.stringContaining('tributary log adopt') as string,
    });
    expect((await fetch(`${api.url}/livez`)).status).toBe(200);
    const metrics = await (await fetch(`${api.url}/metrics`)).text();
    expect(metrics).toContain('\ntributary_log_replaced 1\n');
    expect(api.log()).toContain('the log was replaced');
  });

  it('A replaced log leaves reads as they were, and they say so', async () => {
    for (const path of ['/leads', '/connection', '/products?q=SKU-1']) {
      const { status, headers, body } = await ask(api, key, path);
      expect(status, path + JSON.stringify(body)).toBe(200);
      expect(headers.get('log-state')).toBe('replaced');
    }
    const { body } = await ask(api, key, '/leads');
    expect(JSON.stringify(body)).toContain('crm-1');
    expect(api.log()).not.toContain('are rebuilt');
    // Also by the process that did not write it, and may never have seen its position.
    for (const service of [api, idle]) {
      const read = await askOnce(service, key, '/leads', { 'consistency-token': token });
      expect([undefined, 'log_replaced']).toContain(read.body['code']);
    }
  });

  it('A replaced log makes a restart refuse to start with the same text, with the data directory or with Redis', async () => {
    const { detail } = await ready();
    // Sentences: each begins with a capital letter, and the last one ends.
    expect(detail).toMatch(
      /^EventStoreDB at .* has .*\. [A-Z].* belongs? to log \S+, .*\. If .*\. To .*`\.$/,
    );
    const [sentence = ''] = String(detail).split('. ');
    await api.end('SIGTERM');
    const again = await serveAgain('api', directory);
    expect(again.code, again.stderr).toBe(3);
    expect(again.stderr.replaceAll(/\s+/g, ' ')).toContain(sentence);
    for (const role of ['api', 'projector']) {
      const fresh = await serveAgain(role, world.directory());
      expect(fresh.code, fresh.stderr).toBe(3);
      expect(fresh.stderr.replaceAll(/\s+/g, ' ')).toContain(sentence);
    }
  });

  it('A replaced log is accepted by log adopt with both identities, after which writes work', async () => {
    const response = await fetch(`${idle.url}/readyz`);
    const { detail } = (await response.json()) as { detail: string };
    const [, known = '', found = ''] = /`tributary log adopt (\S+) (\S+)`\.$/.exec(detail) ?? [];
    await Promise.all([idle.end('SIGKILL'), projector.end('SIGKILL')]);
    const adoptAt = (data: string, ...ids: string[]) =>
      ended(start(['log', 'adopt', ...ids, '--data', data], settings()));
    const adopt = (...ids: string[]) => adoptAt(directory, ...ids);
    const wrong = await adopt(known, 'f'.repeat(32));
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain('Nothing was changed');
    const { code, stdout, stderr } = await adopt(known, found);
    expect(code, stdout + stderr).toBe(0);
    for (const word of ['Local databases', 'Redis', 'Credentials', 'Outbox'])
      expect(stdout).toContain(word);
    expect((await adopt(known, found)).stdout).toContain('Nothing to adopt');
    // The other process wrote nothing, and has rows of what the log no longer has.
    expect((await adoptAt(idleDirectory, known, found)).stdout).toContain('Local databases');
    [api] = await Promise.all([world.start('api', directory), world.start('projector')]);
    await expect.poll(async () => (await ready())['code']).toBe(200);
    key = await agentKey(api);
    const written = await write();
    expect(written.status, JSON.stringify(written.body)).toBe(201);
    // The tree of the known log is gone: this one is of the log that was found.
    await expectProved(served(api, world.directory()), ['acme']);
    const after = written.headers.get('consistency-token') ?? '';
    const { status, headers } = await ask(api, key, '/leads', { 'consistency-token': after });
    expect(status).toBe(200);
    expect(headers.get('log-state')).toBeNull();
  });
});
