/** `serve --role dispatcher` beside API processes: approved outreach is sent once. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { atDesk, type ChildService, serveChild } from '../../support/processes/child-service.ts';
import { ended, lastLine, start, until } from '../../support/clients/cli.ts';
import { linesOf, linesOn } from '../../support/processes/log-lines.ts';
import { endReceivers, receiver } from '../../support/world/receivers.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { readDesk } from '../upgrade/services.ts';

const MANY = 12;
const PROMOTER = { name: 'Promoter', roles: ['owner'], owner_id: 'acme' };
const DISPATCH = /^Outbound(?:Dispatched|Deferred|Confirmed|Failed|OutcomeUnknown)$/;

describe.skipIf(!hasRedis)(`Dispatchers on one log, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let api: ChildService;
  let dispatchers: { service: ChildService; directory: string }[];
  let webhook: Awaited<ReturnType<typeof receiver>>;
  let outbox: string;
  let key: string;
  /** Of the promoter, who decides. */
  let deskToken: string | undefined;
  let asked = 0;

  const dispatcher = async () => {
    const directory = world.directory();
    const settings = { OUTREACH_PRIVATE_HOSTS: webhook.host, OUTBOX_DIR: outbox };
    const role = ['--role', 'dispatcher'];
    const service = await serveChild(directory, { ...world.settings, ...settings }, role);
    return { service, directory };
  };

  beforeAll(async () => {
    [world, webhook] = await Promise.all([remoteWorld(), receiver()]);
    outbox = world.directory();
    const [started] = await Promise.all([world.start('api'), world.start('projector')]);
    api = started;
    const scopes = ['social:write', 'messages:write'];
    const agent = { owner_id: 'acme', name: 'A', purpose: 'Tests', scopes };
    const { id } = await atDesk(api, '/access-grants', { ...agent, reason: 'Known' });
    key = (await atDesk(api, `/agents/${id}/keys`, {}))['api_key'] ?? '';
    await atDesk(api, '/outreach/acme', {
      mode: 'owner_controlled',
      approvals_required: 1,
      channels: [
        { kind: 'social_post', adapter: 'webhook', url: `http://${webhook.host}/` },
        { kind: 'message', adapter: 'file' },
      ],
    });
    dispatchers = [await dispatcher()];
  });
  afterAll(async () => {
    await endRemote();
    await endReceivers();
  });

  /** What an agent asks for over MCP; answers the request's id. */
  const propose = async (name: string, input: object): Promise<string> => {
    asked += 1;
    const params = { name, arguments: { ...input, idempotency_key: `ask-${asked}` } };
    const { body } = await ask(api, key, '/../mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      'mcp-protocol-version': '2025-11-25',
      accept: 'application/json, text/event-stream',
    });
    const result = body['result'] as { structuredContent?: { id?: string } } | undefined;
    const id = result?.structuredContent?.id;
    if (id === undefined) throw new Error(JSON.stringify(body));
    return id;
  };
  const post = (): Promise<string> =>
    propose('request_social_post', {
      network: 'mastodon',
      account_ref: 'shop',
      text: `Mugs are back, ${asked}.`,
    });
  type Shown = { request?: { status: string }; exact?: { sha256: string } };
  /** As staff see it; what is at its end is found under its owner. */
  const shown = (id: string): Promise<Shown> => readDesk(api, `/approvals/${id}?owner_id=acme`);
  const approve = async (id: string): Promise<void> => {
    deskToken ??= (await atDesk(api, '/desk-tokens', PROMOTER))['token'];
    const { exact } = await shown(id);
    // With its owner it can be read from the log.
    const body = { content_sha256: exact?.sha256, owner_id: 'acme' };
    await atDesk({ url: api.url, deskToken: deskToken ?? '' }, `/approvals/${id}/approve`, body);
  };
  const statusOf = async (id: string): Promise<unknown> => (await shown(id)).request?.status;
  /** What the log has of the sendings of this request. */
  const sendings = async (id: string): Promise<StoredEvent[]> => {
    const log = await patientLog({ url: world.log.url });
    const stored = await log.readStream(`acme-outbound_${id.slice(id.indexOf('_') + 1)}`);
    await log.close();
    return stored.filter(({ type }) => DISPATCH.test(type));
  };
  const isConfirmed = (id: string) => until(async () => (await statusOf(id)) === 'confirmed');

  it('Dispatchers on one log send nothing before approval, and approved outreach once', async () => {
    const id = await post();
    expect(await until(async () => (await statusOf(id)) === 'pending_approval')).toBe(true);
    expect(webhook.received).toEqual([]);
    await approve(id);
    expect(await isConfirmed(id)).toBe(true);
    expect(webhook.received).toHaveLength(1);
    expect((await sendings(id)).map(({ type }) => type)).toEqual([
      'OutboundDispatched',
      'OutboundConfirmed',
    ]);
  });

  it('Dispatchers on one log write outreach on the file channel to the outbox', async () => {
    const id = await propose('request_message', {
      channel: 'email',
      recipient_ref: 'list:cafes',
      text: 'Mugs are back.',
    });
    await approve(id);
    expect(await isConfirmed(id)).toBe(true);
    expect(readdirSync(join(outbox, 'acme'))).toEqual([`${id}.1.json`]);
    expect(readFileSync(join(outbox, 'acme', `${id}.1.json`), 'utf8')).toContain('Mugs are back.');
  });

  it('Dispatchers on one log log each sending with its stream, and serve only the health endpoint', async () => {
    const [{ service }] = dispatchers as [{ service: ChildService; directory: string }];
    const lines = () => linesOn(service, 'appended', { type: 'OutboundConfirmed' });
    expect(await until(() => lines().length >= 2)).toBe(true);
    for (const line of lines())
      expect(line).toMatchObject({
        stream: expect.stringMatching(/^acme-outbound_/) as string,
        position: expect.any(Number) as number,
        request: expect.stringMatching(/\w/) as string,
      });
    expect(JSON.stringify(linesOf(service))).not.toContain('Mugs');
    const status = async (path: string) => (await fetch(service.url + path)).status;
    for (const path of ['/livez', '/readyz', '/metrics']) expect(await status(path)).toBe(200);
    for (const path of ['/', '/api/affiliate/v1/connection', '/api/desk/v1/approvals'])
      expect(await status(path), path).toBe(404);
  });

  it('Dispatchers on one log are found by the command line, which sends its commands to an API process', async () => {
    const [{ service, directory }] = dispatchers as [{ service: ChildService; directory: string }];
    const set = Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);
    const command = (...args: string[]) => ended(start([...args, '--data', directory], set));
    const status = await command('status', '--json');
    expect(status.code, status.stderr).toBe(0);
    expect(lastLine(status.stdout)).toMatchObject({
      running: true,
      role: 'dispatcher',
      url: service.url,
    });
    const checked = await command('status', '--check');
    expect(checked.stdout).toContain(`dispatcher runs: ${service.url}, process `);
    const tail = await command('events', 'tail');
    expect(tail.code).toBe(3);
    expect(tail.stderr).toMatch(
      /a dispatcher \(process \d+\) runs on .* Use another data directory/,
    );
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  });

  it('Dispatchers on one log deliver nothing twice when two are running', async () => {
    dispatchers.push(await dispatcher());
    const before = webhook.received.length;
    const ids: string[] = [];
    for (let n = 0; n < MANY; n += 1) ids.push(await post());
    for (const id of ids) await approve(id);
    for (const id of ids) expect(await isConfirmed(id), id).toBe(true);
    const received = webhook.received.slice(before);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(MANY);
    expect(received).toHaveLength(MANY);
    for (const id of ids)
      expect((await sendings(id)).map(({ type }) => type)).toEqual([
        'OutboundDispatched',
        'OutboundConfirmed',
      ]);
  });

  it('Dispatchers on one log continue with one when the other is killed', async () => {
    const [first] = dispatchers;
    await first?.service.end('SIGKILL');
    const id = await post();
    await approve(id);
    expect(await isConfirmed(id)).toBe(true);
    expect(await sendings(id)).toHaveLength(2);
    expect(await dispatchers[1]?.service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
