/** Push notifications to a receiver on a loopback socket, which verifies them as the documentation says. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { readNotification } from '#contracts/examples/read-notification.ts';
import { readConfig } from '#src/config.ts';
import { openService } from '../../support/world/open-service.ts';
import { exported } from '../../support/audit/export.ts';
import {
  a2aApp,
  act,
  message,
  POST,
  requestChanges,
  rpc,
  sent,
} from '../../support/clients/a2a.ts';
import type { TestApp } from '../../support/world/app.ts';
import { endReceivers, receiver, type Received } from '../../support/world/receivers.ts';

const SECRETS = {
  token: 'token-of-the-receiver',
  authentication: { scheme: 'Bearer', credentials: 'credentials-of-the-receiver' },
};

const open: TestApp[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
  await endReceivers();
});

/** A receiver that answers `status`, and a service with a task that it is registered to follow. */
const world = async (status = 204) => {
  const arrived = Promise.withResolvers<Received>();
  const hook = await receiver({
    answer: (received, response) => {
      response.writeHead(status).end();
      arrived.resolve(received);
    },
  });
  const env = { OUTREACH_PRIVATE_HOSTS: hook.host };
  const app = await a2aApp(env);
  open.push(app);
  const { key } = await app.agent('acme');
  const task = await sent(app, key, message(POST));
  const url = `http://${hook.host}/in`;
  const params = { taskId: task.id, url, ...SECRETS };
  const { error } = await rpc(app, key, 'CreateTaskPushNotificationConfig', params);
  if (error) throw new Error(JSON.stringify(error));
  const change = () => act(app, 'acme', task.metadata.record ?? '', requestChanges);
  return { app, env, hook, task, url, change, arrived: arrived.promise };
};

const keysOf = async (app: TestApp) => {
  const answer = await app.send({ method: 'GET', url: '/.well-known/jwks.json' });
  return (answer.body as { keys: (JsonWebKey & { kid: string })[] }).keys;
};

describe('A push notification', () => {
  it("A push notification carries the receiver's secrets, and a signature of its body, its receiver and its time", async () => {
    const w = await world();
    w.app.service.dispatcher.start();
    await w.change();
    const { headers, body } = await w.arrived;
    expect(headers).toMatchObject({
      authorization: `Bearer ${SECRETS.authentication.credentials}`,
      'content-type': 'application/a2a+json',
      'x-a2a-notification-token': SECRETS.token,
    });
    const own = {
      url: w.url,
      keys: await keysOf(w.app),
      seen: new Set<string>(),
      now: w.app.clock.now(),
    };
    expect(await readNotification(headers, body, own)).toMatchObject({
      id: w.task.id,
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    });
    expect(own.seen).toEqual(new Set([headers['x-a2a-notification-id']]));
    expect(await readNotification(headers, body, own)).toBeUndefined();
    const fresh = () => ({ ...own, seen: new Set<string>() });
    const changed = body.replace('INPUT_REQUIRED', 'COMPLETED');
    await expect(readNotification(headers, changed, fresh())).rejects.toThrow(/another body/);
    const other = { ...fresh(), url: 'https://other.example/' };
    await expect(readNotification(headers, body, other)).rejects.toThrow(/another receiver/);
    const stranger = { ...fresh(), keys: [] };
    await expect(readNotification(headers, body, stranger)).rejects.toThrow(/not signed/);
    const later = { ...fresh(), now: own.now + 301_000 };
    await expect(readNotification(headers, body, later)).rejects.toThrow(/another time/);
    const { 'x-a2a-notification-signature': jws = '', ...unsigned } = headers;
    await expect(readNotification(unsigned, body, fresh())).rejects.toThrow();
    const [header = '', , signature = ''] = jws.split('.');
    const params = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
    const moved = Buffer.from(JSON.stringify({ ...params, aud: other.url })).toString('base64url');
    const replayed = { ...headers, 'x-a2a-notification-signature': `${moved}..${signature}` };
    await expect(readNotification(replayed, body, other)).rejects.toThrow(/another body/);
  });

  it('A push notification that failed with 500 is sent again after a restart, and its outcome was uncertain meanwhile', async () => {
    const w = await world(500);
    const { dispatcher, deps } = w.app.service;
    dispatcher.start();
    await w.change();
    const first = await w.arrived;
    await dispatcher.idle();
    const events = await deps.log.readAll({ after: 0, limit: 10_000, types: ['PushDeferred'] });
    expect(events.map(({ data }) => data)).toMatchObject([
      { reason: 'http_500', uncertain: true, attempt: 1 },
    ]);
    await w.app.service.close();

    const again = Promise.withResolvers<Received>();
    w.hook.answers((received, response) => {
      response.writeHead(204).end();
      again.resolve(received);
    });
    w.app.clock.advance(3_600_000);
    const config = readConfig({ DATA_DIR: w.app.directory, PORT: '0', ...w.env });
    const log = pino({ level: 'silent' });
    const service = await openService(config, { clock: w.app.clock, log });
    service.dispatcher.start();
    const second = await again.promise;
    await service.dispatcher.idle();
    expect(second.headers['x-a2a-notification-id']).toBe(first.headers['x-a2a-notification-id']);
    expect(second.body).toBe(first.body);
    const end = await service.deps.log.readAll({ after: 0, limit: 9, types: ['PushDelivered'] });
    expect(end.map(({ data }) => data)).toMatchObject([{ attempt: 2, evidence: 'http_204' }]);
    await service.close();
  });
});

describe('The secrets of a receiver', () => {
  it("A receiver's secrets are in no file of the service, no answer of the desk and no audit export, not even an opened one", async () => {
    const w = await world();
    w.app.service.dispatcher.start();
    await w.change();
    await w.arrived;
    await w.app.service.dispatcher.idle();
    const texts = [];
    for (const path of ['/events?owner_id=acme&limit=100', '/events?last=100'])
      texts.push((await w.app.desk('GET', path)).text);
    for (const query of ['', '&reason=Audit'])
      texts.push(readFileSync(await exported(w.app, 'acme', { query }), 'utf8'));
    await w.app.service.close();
    for (const name of readdirSync(w.app.directory, { recursive: true, encoding: 'utf8' })) {
      const file = join(w.app.directory, name);
      if (/\.(db|db-wal|audit)$/.test(name)) texts.push(readFileSync(file, 'latin1'));
    }
    // The log has the configuration, so the texts that are searched can have the secrets.
    expect(texts.filter((text) => text.includes(w.url)).length).toBeGreaterThan(4);
    for (const text of texts) expect(text).not.toMatch(/-of-the-receiver/);
  });
});
