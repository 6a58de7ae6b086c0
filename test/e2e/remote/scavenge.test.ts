/** A scavenge of a real server after an erasure: what it removes, and what continues. */
import { EventStoreDBClient } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '#src/ports/event-log.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import { ended, start, until } from '../../support/clients/cli.ts';
import { COMMAND, ON_COMMAND, scavenge } from '../../support/eventstoredb/eventstoredb-command.ts';
import { follow, positionsOf } from '../../conformance/log-events.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import type { Answer, RemoteWorld } from '../../support/processes/remote.ts';
import { ask, endRemote, remoteWorld } from '../../support/processes/remote.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';

describe.skipIf(!hasRedis || !COMMAND)(`A scavenge, ${ON_REDIS}, ${ON_COMMAND},`, () => {
  let world: RemoteWorld;
  let api: ChildService;
  let projector: ChildService;
  let directory: string;
  let client: EventStoreDBClient;
  let log: EventLog;
  let key: string;
  /** Of the lead that is erased. */
  let gone: string;

  const lead = async (name: string): Promise<{ id: string; token: string }> => {
    const response = await ask(api, key, '/leads', {
      body: {
        external_id: name,
        company: { name: 'Shop', country: 'GB' },
        contact: { name, email: `${name}@shop.example` },
        consent: { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' },
      },
      'idempotency-key': name,
    });
    expect(response.status, JSON.stringify(response.body)).toBe(201);
    return {
      id: String(response.body['id']),
      token: response.headers.get('consistency-token') ?? '',
    };
  };
  const leads = (token: string): Promise<Answer> =>
    ask(api, key, '/leads', { 'consistency-token': token });
  /** Where the record of the key stands in `$all`; undefined when nobody can read it there. */
  const keyPosition = async (): Promise<number | undefined> => {
    let found: number | undefined;
    for await (const { event } of client.readAll())
      if (event?.streamId === `tributary_keys-${gone}` && event.type === '$TributaryKey')
        found = Number(event.position.commit);
    return found;
  };
  const projections = async (command: string): Promise<void> => {
    const on = Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);
    const args = ['projections', command, '--data', directory, '--json'];
    const { code, stdout, stderr } = await ended(start(args, on));
    expect(code, stdout + stderr).toBe(0);
  };

  beforeAll(async () => {
    world = await remoteWorld();
    directory = world.directory();
    [api, projector] = await Promise.all([world.start('api', directory), world.start('projector')]);
    client = EventStoreDBClient.connectionString(world.log.url);
    log = await patientLog({ url: world.log.url });
    key = await agentKey(api);
    ({ id: gone } = await lead('ada'));
    const { token } = await lead('bea');
    await leads(token);
  });
  afterAll(async () => {
    await log?.close();
    await client?.dispose();
    await endRemote();
  });

  it('A scavenge removes the key of an erased subject, and no other event', async () => {
    const erase = () => atDesk(api, `/subjects/${gone}/erase`, { reason: 'Asked' });
    // A projector that lags answers 503; the test repeats the request.
    const isErased = () =>
      erase().then(
        () => true,
        () => false,
      );
    expect(await until(isErased)).toBe(true);
    const { body } = await leads((await lead('cem')).token);
    expect(JSON.stringify(body)).not.toContain('ada@shop.example');
    expect(JSON.stringify(body)).toContain('bea@shop.example');
    const position = (await keyPosition()) ?? 0;
    expect(position).toBeGreaterThan(0);
    const before = await log.readFold({ after: position, limit: 100 });
    expect(before.length).toBeGreaterThan(1);
    await scavenge(world.log.url);
    expect(await keyPosition()).toBeUndefined();
    // The position of a removed record is still valid.
    expect(await log.readFold({ after: position, limit: before.length })).toEqual(before);
    const { events } = await follow(log, position, (item) => item.kind === 'caughtUp');
    expect(positionsOf(events).slice(0, before.length)).toEqual(positionsOf(before));
  });

  it('A scavenge leaves read models that match the log, rebuilt or not', async () => {
    await projections('verify');
    await projections('rebuild');
    await projections('verify');
  });

  it('A scavenge stops no process that runs or starts', async () => {
    expect(await projector.end('SIGTERM')).toMatchObject({ code: 0 });
    projector = await world.start('projector');
    const { token } = await lead('dan');
    const { body } = await leads(token);
    expect(JSON.stringify(body)).toContain('dan@shop.example');
    expect(JSON.stringify(body)).not.toContain('ada@shop.example');
    await world.redis.control.flushall();
    expect((await leads(token)).status).toBe(200);
  });
});
