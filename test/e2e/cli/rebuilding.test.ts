/** How an operator watches, interrupts, pauses and continues a rebuild, with a service and without one. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import {
  ended,
  killAll,
  run,
  serve,
  type Server,
  start,
  until,
} from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

/** Enough that a rebuild lasts for seconds. */
const LINKS = 60_000;
const PER_APPEND = 2_000;
/** Ends a hang of a test that runs a dozen commands, also on a busy machine. */
const SEVERAL_COMMANDS_MS = 300_000;

const directory = directories('tributary-rebuilding-');
let data: string;
let server: Server | undefined;

const appendLinks = async (): Promise<void> => {
  const log = sqliteEventLog({ directory: data });
  const ids = systemIds();
  const meta = {
    at: systemClock().now(),
    actor: 'agt_1',
    surface: 'rest',
    operation: 'createLink',
    request: 'r',
    v: 1,
  };
  for (let made = 0; made < LINKS; made += PER_APPEND)
    await log.appendAll(
      Array.from({ length: PER_APPEND }, (_, n) => {
        const id = String(made + n).padStart(24, '0');
        const link = {
          link_id: `lnk_${id}`,
          agent_id: 'agt_1',
          target: { kind: 'search', ref: 'candles' },
          destination_url: 'https://shop.example/s',
          code: id.slice(12),
          short_url: `https://t.example/r/${id.slice(12)}`,
          dims: {},
        };
        const event = { id: ids.uuid(), type: 'LinkCreated', data: link };
        const stream = `northwind-link_${id}`;
        return { stream, expected: -1, events: [{ ...event, meta }] };
      }),
    );
  await log.close();
};

beforeAll(async () => {
  data = directory.fresh();
  await (await serve(data, '--demo')).stop();
  await appendLinks();
  server = await serve(data);
}, SEVERAL_COMMANDS_MS);
afterAll(() => {
  killAll(server ? [server] : []);
  directory.removeAll();
});

/** Waits until the command has printed a text on stderr. */
const printed = (child: ChildProcess, text: string): Promise<void> =>
  new Promise((resolve) => {
    let shown = '';
    child.stderr?.on('data', (chunk) => {
      shown += String(chunk);
      if (shown.includes(text)) resolve();
    });
  });

const atDesk = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server?.ready.url}/api/desk/v1${path}`, {
    ...init,
    headers: {
      authorization: `Bearer ${readFileSync(join(data, 'desk.token'), 'utf8').trim()}`,
      'content-type': 'application/json',
      'idempotency-key': systemIds().uuid(),
    },
  });

type Projections = { data: { name: string; space: string; rebuilding?: { position: number } }[] };
const linksNow = async () =>
  ((await (await atDesk('/projections')).json()) as Projections).data.find(
    ({ name }) => name === 'links',
  );

describe('A rebuild', () => {
  it(
    'A rebuild of a running service continues after Ctrl-C, is watched from another terminal, and can be paused and slowed',
    async () => {
      const here = ['--data', data];
      const spaceBefore = (await linksNow())?.space;
      const first = start(['projections', 'rebuild', 'links', ...here]);
      const end = ended(first);
      const isFilled = async () => ((await linksNow())?.rebuilding?.position ?? 0) > 0;
      expect(await until(isFilled)).toBe(true);
      const pause = { method: 'POST', body: JSON.stringify({ paused: true }) };
      expect((await atDesk('/projections/fills', pause)).status).toBe(200);
      await printed(first, 'paused');
      first.kill('SIGINT');
      const interrupted = await end;
      expect(interrupted).toMatchObject({ code: 130, stdout: '' });
      expect(interrupted.stderr).toMatch(/links {2}\d+ % {2}[\d,]+\/6\d,\d{3} events {2}.*paused/);
      expect(interrupted.stderr).toContain('the service continues to rebuild links');
      expect(interrupted.stderr).toMatch(
        /Watch it again with: \.\/tributary projections watch links --data /,
      );
      const { position = 0 } = (await linksNow())?.rebuilding ?? {};
      expect(position).toBeGreaterThan(0);

      const again = await run('projections', 'rebuild', 'links', ...here);
      expect(again).toMatchObject({ code: 1, stdout: '' });
      expect(again.stderr).toContain('links is already being rebuilt. Watch it with:');

      const watching = start(['projections', 'watch', ...here]);
      const watched = ended(watching);
      await printed(watching, 'paused');
      const slowed = await run('projections', 'throttle', '5000000', ...here);
      expect(slowed.stdout).toContain('paused, at most 5,000,000 events a second');
      expect((await run('projections', 'resume', ...here)).stdout).toContain('at most 5,000,000');
      const { code, stdout } = await watched;
      expect(code).toBe(0);
      expect(stdout).toMatch(/✓ links: up to position 6\d,\d{3} into links@/);
      const { space, rebuilding } = (await linksNow()) ?? {};
      expect(rebuilding).toBeUndefined();
      expect(space).not.toBe(spaceBefore);
    },
    SEVERAL_COMMANDS_MS,
  );

  it.each([
    ['pause', [], 'No read model is being filled'],
    ['resume', [], 'No read model is being filled'],
    ['throttle', ['100'], 'No read model is being filled'],
    ['watch', [], 'no read model is being filled. Rebuild with: ./tributary projections rebuild'],
    ['watch', ['nothing'], 'there is no read model nothing'],
    ['rebuild', ['nothing'], 'there is no read model nothing'],
    ['rebuild', ['catalog', '--hold'], 'must be one read model other than the catalog'],
    ['rebuild', ['links', '--owner', 'nobody'], 'The owner nobody has no events'],
    [
      'rebuild',
      ['catalog', '--owner', 'northwind'],
      'must be one read model other than the catalog',
    ],
    ['rebuild', ['links', '--hold', '--owner', 'northwind'], 'must not be given together with'],
    ['held', ['links'], 'No build of this read model is held'],
  ])(
    'The command projections %s %j is refused while nothing is being filled',
    async (verb, words, sentence) => {
      const refused = await run('projections', verb, ...words, '--data', data);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain(sentence);
    },
  );

  it(
    'A held build is compared, survives a restart of the service, and is dropped or switched to',
    async () => {
      const here = ['--data', data];
      const spaceBefore = (await linksNow())?.space;
      const held = await run('projections', 'rebuild', 'leads', '--hold', ...here);
      expect(held.code, held.stderr).toBe(0);
      expect(held.stdout).toMatch(/^leads@[\d.]+ is held, and equal to the \d+ live rows\n/);
      expect(held.stdout).toContain(
        'Make it live with: ./tributary projections switch leads --data',
      );
      const again = await run('projections', 'rebuild', 'leads', ...here);
      expect(again).toMatchObject({ code: 1, stdout: '' });
      expect(again.stderr).toMatch(
        /The build leads@[\d.]+ is held. Switch to it or drop it before another rebuild/,
      );
      expect((await run('projections', 'rebuild', ...here)).code).toBe(1);
      await server?.stop();
      server = await serve(data);
      expect((await run('projections', 'status', ...here)).stdout).toMatch(
        /leads .*; leads@[\d.]+ is held/,
      );
      expect((await run('projections', 'held', 'leads', ...here)).stdout).toContain('not compared');
      const switched = await run('projections', 'switch', 'leads', ...here);
      expect(switched.stdout, switched.stderr).toMatch(/✓ leads: up to position .* live/);
      expect((await run('projections', 'rebuild', 'links', '--hold', ...here)).code).toBe(0);
      const dropped = await run('projections', 'drop', 'links', ...here);
      expect(dropped.stdout).toContain('is dropped. The live rows of links are as they were.');
      expect((await linksNow())?.space).toBe(spaceBefore);
      for (const verb of ['switch', 'drop']) {
        const none = await run('projections', verb, 'links', ...here);
        expect(none).toMatchObject({ code: 1, stdout: '' });
        expect(none.stderr).toContain('No build of this read model is held.');
      }
      const events = (await run('events', 'tail', '--owner', 'desk', ...here)).stdout;
      expect(events).toContain('BuildSwitched');
      expect(events).toContain('BuildDropped');
    },
    SEVERAL_COMMANDS_MS,
  );

  it('A rebuild of the rows of an owner says what was compared, replaced and not looked for', async () => {
    const owned = ['--owner', 'northwind', '--data', data];
    const { code, stdout, stderr } = await run('projections', 'rebuild', 'leads', ...owned);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(
      /^✓ leads: \d+ rows of northwind compared, 0 replaced\nNot looked for: /,
    );
    const unnamed = await run('projections', 'rebuild', ...owned);
    expect(unnamed).toMatchObject({ code: 2, stdout: '' });
    expect(unnamed.stderr).toContain('name the read model of the rows');
  });

  it(
    'A rebuild without a service stops at Ctrl-C, and the next run continues it',
    async () => {
      const spaceBefore = (await linksNow())?.space ?? '';
      await server?.stop();
      server = undefined;
      const first = start(['projections', 'rebuild', '--data', data]);
      const end = ended(first);
      await printed(first, ' events');
      first.kill('SIGINT');
      const interrupted = await end;
      expect(interrupted).toMatchObject({ code: 130, stdout: '' });
      expect(interrupted.stderr).toContain('has stopped. The next run continues');
      const second = await run('projections', 'rebuild', '--data', data);
      expect(second.code, second.stderr).toBe(0);
      const build = Number(spaceBefore.slice(spaceBefore.lastIndexOf('.') + 1)) + 1;
      expect(second.stdout).toMatch(new RegExp(`links: up to .* into links@\\d+\\.${build} `));
    },
    SEVERAL_COMMANDS_MS,
  );
});
