/** The client in C# that NSwag generates: it calls all seven operations. */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { FRAMEWORKS, hasFrameworks } from './packages.ts';

const run = promisify(execFile);

const hasDotnet = ((): boolean => {
  try {
    execFileSync('dotnet', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Restoring packages and compiling takes a minute, and several on a slow machine. */
const BUILD_MS = 600_000;

let app: TestApp;
let origin: string;
let key: string;
let directory: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  await app.publish([feedProduct('MUG-1', { title: 'Stoneware mug' })]);
  ({ key } = await app.agent('acme'));
  origin = await app.service.listen();
  directory = mkdtempSync(join(tmpdir(), 'tributary-dotnet-'));
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true, force: true });
});

describe.skipIf(!hasFrameworks || !hasDotnet)(
  'The client that NSwag generates (make test-frameworks, on a machine with dotnet)',
  () => {
    it(
      'The client that NSwag generates calls all operations, and reads a problem',
      async () => {
        const contract = await fetch(`${origin}/api/affiliate/openapi.json`);
        writeFileSync(join(directory, 'openapi.json'), await contract.text());
        cpSync(join(import.meta.dirname, 'dotnet'), directory, { recursive: true });
        cpSync(join(FRAMEWORKS, '.config'), join(directory, '.config'), { recursive: true });
        const quiet = { ...env, DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' };
        const dotnet = (...args: string[]) => run('dotnet', args, { cwd: directory, env: quiet });
        await dotnet('tool', 'restore');
        await dotnet(
          'nswag',
          'openapi2csclient',
          '/input:openapi.json',
          '/output:Client.cs',
          '/namespace:Tributary',
          '/classname:TributaryClient',
          '/generateOptionalParameters:true',
          '/generateOptionalPropertiesAsNullable:true',
        );
        const { stdout } = await dotnet('run', '--project', 'nswag.csproj', '--', origin, key);
        expect(stdout.trim().split('\n').toSorted()).toEqual(
          [...Object.keys(operations), 'problem'].toSorted(),
        );
      },
      BUILD_MS,
    );
  },
);
