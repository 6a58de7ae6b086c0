/** SIGKILL and SIGTERM between the dispatch event and the result of a sending: nothing is sent twice. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { envelopeOf } from '#src/sending/envelope.ts';
import type { OutreachChannel } from '#src/sending/settings.decider.ts';
import type { Service } from '#src/main.ts';
import { withService } from '../support/dispatch/service-in-process.ts';
import { endChildren, runCli, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { outreachActs } from '../support/world/outreach-acts.ts';
import { endReceivers, type Received, receiver } from '../support/world/receivers.ts';

const { fresh, removeAll } = directories('dispatch-');
afterEach(endReceivers);
afterAll(async () => {
  await endChildren();
  removeAll();
});

type Opened = { service: Service; acts: ReturnType<typeof outreachActs> };

/** Opens the service in this process, with a clock ahead by `laterMs`, and acts on its outreach. */
const withActs = <Value>(
  { directory, hosts, laterMs = 0 }: { directory: string; hosts: string; laterMs?: number },
  act: (open: Opened) => Promise<Value>,
): Promise<Value> => {
  const settings = { DATA_DIR: directory, OUTREACH_PRIVATE_HOSTS: hosts };
  return withService({ settings, laterMs }, (service) => {
    const { log, ids, clock } = service.deps;
    return act({ service, acts: outreachActs({ log, ids, now: clock.now }) });
  });
};

/** Creates an approved request for `channel` in the directory; returns its id and the head of the log. */
const prepared = async (directory: string, hosts: string, channel: OutreachChannel) =>
  withActs({ directory, hosts }, async ({ service, acts }) => {
    const { adapter, url } = channel;
    await acts.configure('acme', channel);
    const id = await acts.propose('acme', { adapter, ...(url !== undefined && { url }) });
    await acts.approve('acme', id);
    return { id, position: (await service.deps.log.head()).position };
  });

/** Runs a dispatcher after the lease of the dead sender; returns the state and events of the request. */
const dispatchLater = (directory: string, hosts: string, id: string) =>
  withActs({ directory, hosts, laterMs: 60_000 }, async ({ service, acts }) => {
    service.dispatcher.start();
    await service.dispatcher.idle();
    return { state: await acts.state('acme', id), events: await acts.events('acme', id) };
  });

/** Waits for enough turns of the service's event loop for its dispatcher to act, if it has one. */
const turns = async (url: string): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await fetch(`${url}/readyz`);
};

/** Starts a receiver that never answers, and reports its first request. */
const silent = async () => {
  let arrive = (_received: Received): void => {};
  const arrived = new Promise<Received>((resolve) => {
    arrive = resolve;
  });
  const made = await receiver({ answer: (received) => arrive(received) });
  return { ...made, arrived };
};

describe('A service that is killed while it sends', () => {
  it('A service that is killed while it sends to a webhook sends once, and records that the outcome is unknown', async () => {
    const directory = fresh();
    const { host, received, arrived } = await silent();
    const settings = { OUTREACH_PRIVATE_HOSTS: host };
    const { id } = await prepared(directory, host, { adapter: 'webhook', url: `http://${host}/` });
    const service = await serveChild(directory, settings);
    await arrived;
    await service.end('SIGKILL');
    // A service that starts at once does not repeat the attempt: its sender may still be running.
    const second = await serveChild(directory, settings);
    await turns(second.url);
    expect(await second.end('SIGTERM')).toMatchObject({ code: 0 });
    const waiting = await withActs({ directory, hosts: host }, ({ acts }) =>
      acts.state('acme', id),
    );
    expect(waiting.status).toBe('dispatched');
    const { state, events } = await dispatchLater(directory, host, id);
    expect(state).toMatchObject({ status: 'outcome_unknown', status_reason: 'sender_gone' });
    expect(events.filter((type) => type === 'OutboundDispatched')).toHaveLength(1);
    expect(received).toHaveLength(1);
  });

  it('A service that is killed while it sends to a webhook that accepts each id once sends the same message again', async () => {
    const directory = fresh();
    const { host, received, arrived, answers } = await silent();
    const channel = {
      adapter: 'webhook',
      url: `http://${host}/`,
      receiver_idempotent: true,
    } as const;
    const { id } = await prepared(directory, host, channel);
    const service = await serveChild(directory, { OUTREACH_PRIVATE_HOSTS: host });
    await arrived;
    await service.end('SIGKILL');
    answers((_received, response) => response.writeHead(200).end());
    const { state } = await dispatchLater(directory, host, id);
    expect(state).toMatchObject({ status: 'confirmed', attempts: 2 });
    const [first, second] = received.map(({ headers, body }) => [headers['webhook-id'], body]);
    expect(second).toEqual(first);
  });

  it('A service that is killed while it sends to the outbox leaves one complete file', async () => {
    const directory = fresh();
    const { id, position } = await prepared(directory, '', { adapter: 'file' });
    const folder = join(directory, 'outbox/acme');
    mkdirSync(folder, { recursive: true });
    // A pipe without a reader blocks the first attempt while it writes.
    execFileSync('mkfifo', [join(folder, `.${id}.1.1.tmp`)]);
    const service = await serveChild(directory);
    for (let at = position; at <= position; ) {
      const answer = await fetch(`${service.url}/readyz`);
      at = ((await answer.json()) as { position: number }).position;
    }
    await service.end('SIGKILL');
    expect(readdirSync(folder)).toEqual([`.${id}.1.1.tmp`]);
    const { state, events } = await dispatchLater(directory, '', id);
    expect(events.slice(-4)).toEqual([
      'OutboundDispatched',
      'OutboundDeferred',
      'OutboundDispatched',
      'OutboundConfirmed',
    ]);
    expect(readdirSync(folder)).toEqual([`${id}.1.json`]);
    const file = join(directory, 'outbox', state.evidence ?? '');
    expect(readFileSync(file, 'utf8')).toBe(envelopeOf('acme', state));
  });
});

describe('A service that gets SIGTERM while it sends', () => {
  it('A service that gets SIGTERM while it sends records the outcome as unknown, and exits with 0', async () => {
    const directory = fresh();
    const { host, received, arrived } = await silent();
    const { id } = await prepared(directory, host, { adapter: 'webhook', url: `http://${host}/` });
    const service = await serveChild(directory, { OUTREACH_PRIVATE_HOSTS: host });
    await arrived;
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const state = await withActs({ directory, hosts: host }, ({ acts }) => acts.state('acme', id));
    expect(state).toMatchObject({ status: 'outcome_unknown', status_reason: 'timeout' });
    expect(received).toHaveLength(1);
  });
});

describe('A service in the role of the API', () => {
  it('A service in the role of the API sends no outreach', async () => {
    const directory = fresh();
    const { host, received } = await silent();
    const { id } = await prepared(directory, host, { adapter: 'webhook', url: `http://${host}/` });
    const child = runCli(['serve', '--role', 'api', '--port', '0', '--json', '--data', directory], {
      OUTREACH_PRIVATE_HOSTS: host,
    });
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const { url } = JSON.parse(line.toString()) as { url: string };
    await turns(url);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const state = await withActs({ directory, hosts: host }, ({ acts }) => acts.state('acme', id));
    expect(state.status).toBe('approved');
    expect(received).toEqual([]);
  });
});
