/** A command waits where the desk of a running server asks it to. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { writeServerFile } from '#src/cli/service.ts';
import { readConfig } from '#src/config.ts';
import { type Service, startService } from '#src/main.ts';
import { stdoutHere } from '../support/clients/cli-here.ts';
import { directories } from '../support/processes/directories.ts';

const directory = directories('tributary-waits-');
let service: Service;
/** Requests to the desk that are still answered 429, and with which Retry-After. */
let refusals = 0;
let retryAfter = '0';

beforeAll(async () => {
  const data = directory.fresh();
  const env = { LOG_LEVEL: 'silent', PORT: '0' };
  const instance = 'waits';
  const started = await startService({ ...readConfig(env), dataDirectory: data }, { instance });
  service = started;
  service.server.addHook('onRequest', async ({ url }, reply) => {
    if (refusals === 0 || !url.startsWith('/api/desk/')) return;
    refusals -= 1;
    reply.code(429).header('retry-after', retryAfter);
    return reply.send({ title: 'Too much at once', status: 429, code: 'rate_limited' });
  });
  const url = await service.listen();
  await started.ready;
  writeServerFile(data, { url, pid: process.pid, instance });
  vi.stubEnv('DATA_DIR', data);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await service.close();
  directory.removeAll();
});

const issue = (): Promise<string> =>
  stdoutHere(['token', 'issue', '--name', 'Ann Lee', '--roles', 'staff', '--json']);
const issuedNow = async () => {
  const { log } = service.deps;
  const events = await log.readAll({ after: 0, limit: 100, types: ['DeskTokenIssued'] });
  return events.filter(({ data }) => 'name' in data && data.name === 'Ann Lee').length;
};

it('A command that is refused as too much at once is sent again, and done once', async () => {
  refusals = 3;
  expect(JSON.parse(await issue())).toMatchObject({ token: expect.any(String) as string });
  expect(refusals).toBe(0);
  expect(await issuedNow()).toBe(1);
});

it('A command that would wait for more than a minute ends with the problem', async () => {
  [refusals, retryAfter] = [1, '61'];
  await expect(issue()).rejects.toThrow(/Too much at once/);
  expect(await issuedNow()).toBe(1);
});
