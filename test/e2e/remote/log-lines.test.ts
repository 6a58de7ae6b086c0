/** The log lines of running processes: request, stream and position. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { systemClock } from '#src/system/ids.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { ChildService } from '../../support/processes/child-service.ts';
import { agentKey, atDesk, serveChild } from '../../support/processes/child-service.ts';
import { until } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { freshId, metaAt } from '../../conformance/log-events.ts';
import { linesOf, linesOn } from '../../support/processes/log-lines.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import type { Answer, RemoteWorld } from '../../support/processes/remote.ts';
import {
  ask,
  askOnce,
  endRemote,
  positionOf,
  remoteWorld,
} from '../../support/processes/remote.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';

const INFO = 30;
const WARN = 40;
const AHEAD_MS = 3_600_000;
const PERSONAL = ['Ada Quirk', 'ada.quirk@shop.example', 'call her after six', 'Quirk & Daughters'];

const contact = { name: PERSONAL[0], email: PERSONAL[1] };
const consent = { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' };
const company = { name: PERSONAL[3], country: 'GB' };

const temporary = directories('log-lines-');
afterAll(temporary.removeAll);

it('The first start shows the created secrets in its banner, and in no log line', async () => {
  const service = await serveChild(temporary.fresh());
  // A slow append is a warning, whatever it appends, and the notary may have marked the tree already.
  const appended = linesOn(service, 'appended', { level: INFO });
  expect(appended.filter(({ operation }) => operation !== 'markTree')).toEqual([]);
  expect(service.log()).not.toContain(service.deskToken);
  await agentKey(service);
  expect(await until(() => linesOn(service, 'appended').length > 0)).toBe(true);
  await service.end('SIGTERM');
});

describe.skipIf(!hasRedis)(`The log lines of processes, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let api: ChildService;
  let talkative: ChildService;
  let projector: ChildService;
  let key: string;

  beforeAll(async () => {
    world = await remoteWorld();
    const role = ['--role', 'api'];
    [api, talkative, projector] = await Promise.all([
      world.start('api'),
      serveChild(world.directory(), { ...world.settings, LOG_LEVEL: 'trace' }, role),
      world.start('projector'),
    ]);
    await atDesk(api, '/products/import', { products: [feedProduct('SKU-1')] });
    key = await agentKey(api, 'acme', [talkative]);
  });
  afterAll(endRemote);

  const requestOf = ({ headers }: Answer): string => headers.get('request-id') ?? '';
  const lead = (to: ChildService, name: string): Promise<Answer> =>
    ask(to, key, '/leads', {
      body: { external_id: name, company, contact, consent },
      'idempotency-key': name,
    });

  it('Log lines contain request, stream and position of a write in one line', async () => {
    const response = await lead(api, 'crm-1');
    expect(response.status, JSON.stringify(response.body)).toBe(201);
    const request = requestOf(response);
    const lines = () => linesOf(api).filter((line) => line['request'] === request);
    expect(await until(() => lines().length > 0)).toBe(true);
    expect(lines()).toMatchObject([
      {
        msg: 'appended',
        operation: 'submitLead',
        surface: 'rest',
        actor: expect.stringMatching(/^agt_/) as string,
        stream: expect.stringMatching(/^acme-lead_\w+$/) as string,
        type: 'LeadSubmitted',
        position: positionOf(response.headers),
        revision: 0,
      },
    ]);
    const leads = await ask(api, key, '/leads');
    expect(leads.status).toBe(200);
    // After a later line, a line about the read would have been written, too.
    await lead(api, 'crm-2');
    expect(await until(() => linesOn(api, 'appended').length > 1)).toBe(true);
    expect(linesOf(api).filter((line) => line['request'] === requestOf(leads))).toEqual([]);
  });

  it('Log lines contain no personal data at any level', async () => {
    const response = await lead(talkative, 'crm-3');
    expect(response.status).toBe(201);
    const handoff = await ask(talkative, key, '/handoffs', {
      body: {
        title: 'Mugs',
        line_items: [{ sku: 'SKU-1', quantity: 48 }],
        buyer: { note: PERSONAL[2], name: PERSONAL[0] },
      },
      'idempotency-key': 'hnd-1',
    });
    const lines = () => linesOn(talkative, 'appended', { request: requestOf(response) });
    expect(await until(() => lines().length > 0)).toBe(true);
    // The claims of the contact and of the key, and the lead.
    expect(lines()).toMatchObject([{ type: 'LeadSubmitted', events: 3 }]);
    for (const text of [...PERSONAL, key, talkative.deskToken])
      expect(talkative.log() + api.log() + projector.log()).not.toContain(text);
    const review = /\/h\/(\w+)/.exec(JSON.stringify(handoff.body))?.[1];
    if (review !== undefined) expect(talkative.log()).not.toContain(review);
  });

  it('Log lines report a dropped subscription with its position, and its continuation', async () => {
    const before = linesOf(api).length;
    await world.log.kill();
    await world.log.restart();
    const later = (msg: string) =>
      linesOf(api)
        .slice(before)
        .find((line) => line.msg === msg);
    expect(await until(() => later('subscription resumed') !== undefined)).toBe(true);
    const dropped = later('subscription dropped');
    expect(dropped).toMatchObject({
      level: WARN,
      position: expect.any(Number) as number,
      reason: expect.stringMatching(/\w/) as string,
    });
    const position = later('subscription resumed')?.['position'];
    expect(position).toBeGreaterThanOrEqual(Number(dropped?.['position']));
  });

  it('Log lines report the event before which a projection is parked', async () => {
    const log = await patientLog({ url: world.log.url });
    const stream = 'acme-handoff_neverMade';
    const data = { handoff_id: 'hnd_neverMade', sealed_reason: 's1.hnd_neverMade.x' };
    const event = { id: freshId(), type: 'HandoffWithdrawn', data, meta: metaAt(1) };
    const result = await log.append(stream, NO_STREAM, [event]);
    await log.close();
    const { position } = result as { position: number };
    const parked = () => linesOn(projector, 'projection parked', { projection: 'handoffs' });
    expect(await until(() => parked().length > 0)).toBe(true);
    expect(parked()).toMatchObject([{ stream, position, partition: expect.any(Number) as number }]);
  });

  it('Log lines report which projector took over the partitions of another', async () => {
    const second = await world.start('projector');
    const isTold = () => linesOn(second, 'partitions assigned').length > 0;
    expect(await until(isTold)).toBe(true);
    const name = linesOn(second, 'partitions assigned')[0]?.['projector'];
    // A projector that a busy machine delays counts as gone, too, so only the last line is decisive.
    const last = () => linesOf(projector).findLast(({ msg }) => msg.startsWith('partitions '));
    expect(await until(() => last()?.['projectors'] === 2)).toBe(true);
    await second.end('SIGKILL');
    expect(await until(() => last()?.['projectors'] === 1)).toBe(true);
    expect(last()).toMatchObject({
      level: WARN,
      msg: 'partitions taken over',
      gone: [name],
      partitions: 64,
    });
  });

  it('Log lines report failed requests and the failed append', async () => {
    let request = '';
    const notServed = () => linesOn(api, 'request not served', { request });
    const failed = () => linesOn(api, 'append failed', { request });
    // On a busy machine the last confirmation can be too old, and then the write is not sent to the log.
    const isSent = async (): Promise<boolean> => {
      world.log.thaw();
      expect((await lead(api, freshId())).status).toBe(201);
      world.log.freeze();
      const response = await askOnce(api, key, '/links', {
        body: { target: { kind: 'search', ref: 'mug' } },
        'idempotency-key': 'link-1',
      });
      expect(response.status, JSON.stringify(response.body)).toBe(503);
      request = requestOf(response);
      expect(await until(() => notServed().length > 0)).toBe(true);
      return failed().length > 0;
    };
    try {
      expect(await until(isSent)).toBe(true);
      const fields = { status: 503, code: 'storage_unavailable', method: 'POST' };
      expect(notServed()).toMatchObject([{ ...fields, route: '/api/affiliate/v1/links' }]);
      expect(failed()).toMatchObject([
        {
          stream: expect.stringMatching(/^acme-link_/) as string,
          operation: 'createLink',
          reason: 'fault',
          applied: 'unknown',
        },
      ]);
      const mcp = await askOnce(api, key, '/../mcp', {
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name: 'create_link',
            arguments: { target: { kind: 'search', ref: 'mug' }, idempotency_key: 'link-2' },
          },
        },
        'mcp-protocol-version': '2025-11-25',
        accept: 'application/json, text/event-stream',
      });
      expect(mcp.status).toBe(503);
      const of = { request: requestOf(mcp), code: 'storage_unavailable' };
      const isTold = () => linesOn(api, 'request not served', of).length === 1;
      expect(await until(isTold)).toBe(true);
    } finally {
      world.log.thaw();
    }
  });

  it('Log lines are not the only sign of a slow clock: no process is ready, and metrics say so', async () => {
    const log = await patientLog({ url: world.log.url });
    const meta = { ...metaAt(1), at: systemClock().now() + AHEAD_MS };
    const data = { stream: 's', fingerprint: 'f' };
    const appendAhead = (number: number) =>
      log.append(`acme-key_ahead${number}`, NO_STREAM, [
        { id: freshId(), type: 'RequestBound', data, meta },
      ]);
    let appends = 0;
    for (const { url } of [api, talkative, projector]) {
      // Until each process has seen the conflict they record calls, after which the newest event is theirs.
      const isReported = async () => {
        await appendAhead((appends += 1));
        const ready = await fetch(`${url}/readyz`);
        const { reason } = (await ready.json()) as { reason?: string };
        const metrics = await (await fetch(`${url}/metrics`)).text();
        const isMeasured = metrics.includes('\ntributary_clock_behind 1\n');
        return ready.status === 503 && reason === 'clock_behind' && isMeasured;
      };
      expect(await until(isReported)).toBe(true);
    }
    await log.close();
  });
});
