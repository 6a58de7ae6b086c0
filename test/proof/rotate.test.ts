/** The change of the notary's key by its command: how long the former one signs, and what each verifies. */
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { verifyExport } from '#src/proof/verifier.ts';
import { exported } from '../support/audit/export.ts';
import { runHere } from '../support/clients/cli-here.ts';
import { directories } from '../support/processes/directories.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { openService } from '../support/world/open-service.ts';

const { fresh, removeAll } = directories('tributary-keys-');
const path = join(fresh(), 'notary.keys');

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await app.agent('acme');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await app.close();
  removeAll();
});

const rotate = async (...more: string[]) => {
  vi.stubEnv('NOTARY_KEY', path);
  const ended = await runHere('notary', 'rotate', '--data', app.directory, ...more, '--json');
  vi.unstubAllEnvs();
  expect(ended.code, ended.stderr).toBe(0);
  return (JSON.parse(ended.stdout) as { keys: string[] }).keys;
};

const restart = async (): Promise<void> => {
  await app.service.close();
  const config = { ...app.service.config, notaryKey: path };
  const log = pino({ level: 'silent' });
  Object.assign(app.service, await openService(config, { clock: app.clock, log }));
};

/** The status of a new export with each of these keys. */
const statuses = async (keys: readonly string[]): Promise<number[]> => {
  const file = await exported(app, 'acme');
  const verdicts = keys.map((key) => verifyExport(createReadStream(file), { keys: [key] }));
  return (await Promise.all(verdicts)).map(({ status }) => status);
};

const published = async (): Promise<string> =>
  (await app.send({ method: 'GET', url: '/proof/key' })).text;

it('A rotated key signs beside the former one until that is ended, and exports of each time verify with the keys that signed then', async () => {
  const [former = ''] = app.service.deps.proof().signers.map(({ text }) => text);
  expect(await statuses([former])).toEqual([0]);

  await app.service.close();
  const keys = await rotate();
  const [newest = ''] = keys;
  expect(keys).toEqual([newest, former]);
  expect(newest).not.toBe(former);
  expect(statSync(path).mode & 0o777).toBe(0o600);

  await restart();
  expect(await published()).toBe(`${newest}\n${former}\n`);
  expect(await statuses([newest, former])).toEqual([0, 0]);
  const both = readFileSync(await exported(app, 'acme'));

  expect(await rotate('--end-others')).toEqual([newest]);
  // The running service has the keys that it started with.
  expect(await statuses([newest, former])).toEqual([0, 0]);
  await restart();
  expect(await published()).toBe(`${newest}\n`);
  expect(await statuses([newest, former])).toEqual([0, 1]);
  async function* kept(): AsyncGenerator<Uint8Array> {
    yield both;
  }
  expect(await verifyExport(kept(), { keys: [former, newest] })).toMatchObject({ status: 0 });
});

it('The command writes no key unless NOTARY_KEY names its file, nor over what is none', async () => {
  const unset = await runHere('notary', 'rotate', '--data', app.directory);
  expect(unset).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('NOTARY_KEY is not set'),
  });
  const other = join(fresh(), 'notes.txt');
  writeFileSync(other, 'No key\n');
  vi.stubEnv('NOTARY_KEY', other);
  const refused = await runHere('notary', 'rotate', '--data', app.directory);
  vi.unstubAllEnvs();
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('PRIVATE+KEY+') });
  expect(readFileSync(other, 'utf8')).toBe('No key\n');
});
