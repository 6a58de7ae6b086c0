/** Clients in C#: those that NSwag and Kiota generate call all seven operations, and the official one of MCP does its round. */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolName } from '#contracts/places.ts';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
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
  cpSync(join(import.meta.dirname, 'dotnet'), directory, { recursive: true });
  cpSync(join(FRAMEWORKS, '.config'), join(directory, '.config'), { recursive: true });
  const contract = await fetch(`${origin}/api/affiliate/openapi.json`);
  writeFileSync(join(directory, 'openapi.json'), await contract.text());
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Without messages, and without the search for updates that both tools begin with. */
const QUIET = {
  ...env,
  DOTNET_CLI_TELEMETRY_OPTOUT: '1',
  DOTNET_NOLOGO: '1',
  KIOTA_UPDATE__DISABLED: 'true',
};

const dotnet = (...args: string[]) => run('dotnet', args, { cwd: directory, env: QUIET });

/** What a program prints, by line. */
const printed = async (program: string, ...more: string[]): Promise<string[]> => {
  const { stdout } = await dotnet('run', '--project', program, '--', origin, key, ...more);
  return stdout.trim().split('\n');
};

const EACH = [...Object.keys(operations), 'problem'].toSorted();

describe.skipIf(!hasFrameworks || !hasDotnet)(
  'Clients in C# (make test-frameworks, on a machine with dotnet)',
  () => {
    it.each(['NewtonsoftJson', 'SystemTextJson'])(
      'The client that NSwag generates for %s calls all operations, and reads a problem',
      async (library) => {
        await dotnet('tool', 'restore');
        await dotnet(
          'nswag',
          'openapi2csclient',
          '/input:openapi.json',
          '/output:nswag/Client.cs',
          '/namespace:Tributary',
          '/classname:TributaryClient',
          `/jsonLibrary:${library}`,
          '/generateOptionalParameters:true',
          '/generateOptionalPropertiesAsNullable:true',
        );
        expect((await printed('nswag')).toSorted()).toEqual(EACH);
      },
      BUILD_MS,
    );

    it(
      'The client that Kiota generates calls all operations, and reads a problem',
      async () => {
        await dotnet('tool', 'restore');
        const names = ['--class-name', 'TributaryClient', '--namespace-name', 'Tributary'];
        const files = ['--openapi', 'openapi.json', '--output', 'kiota/Client'];
        await dotnet('kiota', 'generate', '--language', 'CSharp', ...files, ...names);
        expect((await printed('kiota')).toSorted()).toEqual(EACH);
      },
      BUILD_MS,
    );

    it.each([undefined, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
      'The C# client of MCP lists and calls tools, and reads prompts and resources (version %s)',
      async (version) => {
        const lines = await printed('mcp', ...(version === undefined ? [] : [version]));
        const named = (kind: string, names: readonly string[]) =>
          names.map((name) => `${kind} ${name}`);
        expect(lines).toEqual([
          `version ${version ?? '2026-07-28'}`,
          ...named('tool', Object.values(agentOperations).map(toolName)),
          'title Stoneware mug',
          'handoff awaiting_buyer',
          'refused True',
          ...named('prompt', ['promote_product', 'review_performance']),
          'resources True',
        ]);
      },
      BUILD_MS,
    );
  },
);
