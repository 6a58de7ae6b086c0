/** An event that no version can fold, on a service of its own process: listed, tried again, and skipped by two people. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { systemIds } from '#src/system/ids.ts';
import {
  ended,
  json,
  killAll,
  lastLine,
  run,
  serve,
  type Server,
  start,
} from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-cli-parked-');
const servers: Server[] = [];
const OWNER = 'northwind';
let data: string;
let tokens: string[];
const position = { bad: 0 };

const as = (token: string | undefined, ...args: string[]) =>
  ended(start([...args, '--data', data], [`DESK_TOKEN=${token}`]));
const issue = async (name: string): Promise<string> => {
  const asked = ['--name', name, '--roles', 'operator', '--data', data];
  return (await json<{ token: string }>('token', 'issue', ...asked)).token;
};
const serveAgain = async (): Promise<void> => {
  const server = await serve(data, '--demo');
  servers.push(server);
};

beforeAll(async () => {
  data = directory.fresh();
  await serveAgain();
  tokens = [await issue('Ada Lovelace'), await issue('Ben Smith')];
  await servers[0]?.stop();
  const log = sqliteEventLog({ directory: data });
  const digits = '0'.repeat(24);
  const meta = { at: 1, actor: 'x', surface: 'cli', operation: 'x', request: 'x', v: 1 };
  const result = await log.append(`${OWNER}-lead_${digits}`, -1, [
    {
      id: systemIds().uuid(),
      type: 'LeadContacted',
      data: { lead_id: `led_${digits}`, agent_id: `agt_${digits}`, dims: {} },
      meta,
    },
  ]);
  if (result.outcome === 'appended') position.bad = result.position;
  await log.close();
  await serveAgain();
});
afterAll(() => {
  killAll(servers);
  directory.removeAll();
});

it('A parked event of a running service is listed with its reason, stays parked when it is tried again, and is skipped by two people, after which all comparisons are equal', async () => {
  const [ada, ben] = tokens;
  const bad = String(position.bad);
  const listed = await as(ada, 'projections', 'parked');
  expect(listed.code, listed.stderr).toBe(0);
  expect(listed.stdout).toMatch(new RegExp(`leads: LeadContacted at position ${bad} of ${OWNER}-`));
  expect(listed.stdout).toContain('reason    LeadContacted: ');
  expect(listed.stdout).toContain('projections retry');
  const { data: parked } = lastLine((await as(ada, 'projections', 'parked', '--json')).stdout) as {
    data: { name: string }[];
  };
  expect(parked.map(({ name }) => name)).toContain('leads');

  const retried = await as(ada, 'projections', 'retry', 'leads');
  expect(retried.stdout).toContain(`leads: LeadContacted at position ${bad} is still parked: `);
  for (const { name } of parked) {
    const skip = ['projections', 'skip', name, bad, '--reason', 'Written by hand'];
    const proposed = await as(ada, ...skip);
    expect(proposed.stdout, proposed.stderr).toContain('Nothing has changed yet.');
    const alone = await as(ada, 'projections', 'approve-skip', name, bad);
    expect(alone).toMatchObject({ code: 1, stdout: '' });
    expect(alone.stderr).toContain('Another person must approve it.');
    const approved = await as(ben, 'projections', 'approve-skip', name, bad);
    expect(approved.stdout, approved.stderr).toContain(
      `${name} is folded without the LeadContacted`,
    );
  }
  expect((await as(ada, 'projections', 'parked')).stdout).toMatch(
    /^No event is parked\.\nSkipped:\n/,
  );
  const status = await run('status', '--data', data);
  expect(status.stdout).toMatch(/folded without skipped events: .*leads 1/);
  const again = await as(ben, 'projections', 'skip', 'nothing', bad, '--reason', 'x');
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain('There is no read model nothing.');

  const at = ['--data', data];
  expect(await json('projections', 'verify', ...at)).toMatchObject({ equal: true });
  await json('projections', 'rebuild', 'leads', ...at);
  expect(await json('projections', 'verify', 'leads', ...at)).toMatchObject({ equal: true });
  expect((await run('audit', 'check', '--all', ...at)).code).toBe(0);
  expect((await run('audit', 'check', '--owner', OWNER, ...at)).code).toBe(0);
  const file = join(data, 'northwind.audit');
  await json('audit', 'export', file, '--owner', OWNER, ...at);
  const ofFile = await run('audit', 'state', '--owner', OWNER, '--file', file);
  expect(ofFile.code, ofFile.stderr).toBe(0);
  expect((await run('audit', 'verify', file)).code).toBe(0);

  await servers[1]?.stop();
  await serveAgain();
  expect((await as(ada, 'projections', 'parked')).stdout).toMatch(/^No event is parked\./);
}, 120_000);
