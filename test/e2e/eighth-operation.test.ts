import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/source/tree.ts';

/*
 * Checks the promise of contracts/README.md in a copy of the repository, for an operation of agents and for one of the
 * desk: each needs only a contract, a line in the registry, and a handler.
 */
const scratch = mkdtempSync(join(tmpdir(), 'eighth-'));
beforeAll(() => {
  for (const folder of ['contracts', 'src', 'projections'])
    cpSync(join(ROOT, folder), join(scratch, folder), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json'])
    cpSync(join(ROOT, file), join(scratch, file));
  for (const folder of ['contracts', 'src']) mkdirSync(join(scratch, folder, 'greetings'));
  symlinkSync(join(ROOT, 'node_modules'), join(scratch, 'node_modules'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const edit = (file: string, change: (text: string) => string): void => {
  const path = join(scratch, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
};
const typecheck = () =>
  spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], {
    cwd: scratch,
    encoding: 'utf8',
  });

const registry = (table: string): string => join(scratch, `src/registries/${table}.ts`);

/** What the compiler says of a registry without the handler of an operation. */
const missingIn = (path: string, id: string): RegExp =>
  new RegExp(`${RegExp.escape(path)}.*'${id}' is missing`);

const CONTRACT = `
import { z } from 'zod';
import { defineOperation } from '#contracts/operation.ts';

export const getGreeting = defineOperation({
  kind: 'query',
  scope: 'products:read',
  http: { method: 'GET', path: '/greetings/{name}', status: 200 },
  summary: 'Say hello',
  guidance: 'Politely.',
  input: z.strictObject({ name: z.string().min(1) }),
  output: z.object({ text: z.string() }),
  problems: ['scope_missing', 'parameter_invalid'],
  examples: [
    { name: 'hello', input: { name: 'Ada' }, output: { text: 'Hello, Ada' }, after: 'createLink' },
  ],
});
`;
const HANDLER = `
import type { Handler } from '#src/calls/handlers.ts';
import { done } from '#src/shared/outcome.ts';

export const getGreeting: Handler<'getGreeting'> = async (_deps, { name }) =>
  done({ text: \`Hello, \${name}\` });
`;

const DESK_CONTRACT = `
import { z } from 'zod';
import { deskCommand } from '#contracts/desk-operation.ts';

export const sendGreeting = deskCommand({
  roles: ['staff'],
  path: '/greetings/{name}/send',
  summary: 'Send a greeting',
  guidance: 'Without how_often it is sent once.',
  fields: {
    name: z.string().min(3, { error: 'must have three letters' }),
    how_often: z.int().min(1).max(9).default(1).describe('Number of greetings'),
  },
  output: z.object({ text: z.string() }),
  example: {
    name: 'hello',
    input: { idempotency_key: 'hello-1', name: 'Ada' },
    output: { text: 'Hello, Ada' },
  },
});
`;
const DESK_HANDLER = `
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { done } from '#src/shared/outcome.ts';

export const sendGreeting: DeskHandler<'sendGreeting'> = async (_deps, { name, how_often }) =>
  done({ text: \`Hello, \${name}\`.repeat(how_often) });
`;

/** Runs a script in the copy, from a file: a thread of the log cannot start under `--eval`. */
const run = (probe: string): string => {
  writeFileSync(join(scratch, 'probe.ts'), probe);
  return execFileSync(process.execPath, ['probe.ts'], { cwd: scratch, encoding: 'utf8' });
};

describe('A new operation', () => {
  it('A new operation of agents and of the desk compiles with its contract, its line and its handler, and not without', () => {
    writeFileSync(join(scratch, 'contracts/greetings/get-greeting.ts'), CONTRACT);
    edit('contracts/registries/agents.ts', (text) =>
      `import { getGreeting } from '#contracts/greetings/get-greeting.ts';\n${text}`.replace(
        '  getPerformance,\n}',
        '  getPerformance,\n  getGreeting,\n}',
      ),
    );
    writeFileSync(join(scratch, 'contracts/greetings/send-greeting.ts'), DESK_CONTRACT);
    edit('contracts/registries/desk.ts', (text) =>
      `import { sendGreeting } from '#contracts/greetings/send-greeting.ts';\n${text}`.replace(
        'export const deskOperations = registryOf({\n',
        'export const deskOperations = registryOf({\n  sendGreeting,\n',
      ),
    );
    // Tables without the handlers, so that the compiler reads everything once.
    for (const table of ['agents', 'desk']) cpSync(registry(table), registry(`${table}-without`));

    writeFileSync(join(scratch, 'src/greetings/get-greeting.ts'), HANDLER);
    edit('src/registries/agents.ts', (text) =>
      `import { getGreeting } from '#src/greetings/get-greeting.ts';\n${text}`.replace(
        '  getPerformance,\n',
        '  getPerformance,\n  getGreeting,\n',
      ),
    );
    writeFileSync(join(scratch, 'src/greetings/send-greeting.ts'), DESK_HANDLER);
    edit('src/registries/desk.ts', (text) =>
      `import { sendGreeting } from '#src/greetings/send-greeting.ts';\n${text}`.replace(
        ': DeskHandlers = {\n',
        ': DeskHandlers = {\n  sendGreeting,\n',
      ),
    );
    const faults = typecheck()
      .stdout.split('\n')
      .filter((line) => /^\S/.test(line));
    expect(faults).toEqual([
      expect.stringMatching(missingIn('src/registries/agents-without.ts', 'getGreeting')),
      expect.stringMatching(missingIn('src/registries/desk-without.ts', 'sendGreeting')),
    ]);
    for (const table of ['agents', 'desk']) rmSync(registry(`${table}-without`));
  });

  it('A new operation of agents is served over REST and MCP, documented, and needs a credential', () => {
    const probe = `
      import { openApi } from './src/interfaces/rest/openapi.ts';
      import { toolNamed } from './src/interfaces/mcp/tools.ts';
      import { restMarkdown } from './src/interfaces/rest/docs.ts';
      import { llmsText } from './src/interfaces/documents/llms.ts';
      import { startService } from './src/main.ts';
      import { readConfig } from './src/config.ts';
      const config = readConfig({ DATA_DIR: './data', LOG_LEVEL: 'silent' });
      const service = await startService(config);
      await service.ready;
      const answer = await service.server.inject({ url: '/api/affiliate/v1/greetings/Ada' });
      const page = restMarkdown('https://t.example', config);
      const shown = page.slice(page.indexOf('Example, hello'));
      process.stdout.write(JSON.stringify({
        code: answer.json().code,
        documented: openApi('https://t.example').includes('"getGreeting"'),
        listed: llmsText('https://t.example').includes('getGreeting'),
        shown: shown.split('\\n').slice(0, 4),
        tool: toolNamed('get_greeting')?.entry.annotations.readOnlyHint,
      }));
      await service.close();
    `;
    const output = run(probe);
    expect(JSON.parse(output)).toEqual({
      code: 'credential_missing',
      documented: true,
      listed: true,
      shown: [
        'Example, hello (call createLink first, and put in what it answered):',
        '',
        '```http',
        'GET /api/affiliate/v1/greetings/Ada',
      ],
      tool: true,
    });
  });

  it('A new operation of the desk has a route, an entry in OpenAPI and in the documentation', () => {
    const probe = `
      import { deskOpenApi } from './src/interfaces/rest/openapi.ts';
      import { deskMarkdown } from './src/interfaces/rest/docs.ts';
      import { startService } from './src/main.ts';
      import { readConfig } from './src/config.ts';
      const config = readConfig({ DATA_DIR: './data', LOG_LEVEL: 'silent' });
      const service = await startService(config);
      await service.ready;
      const answer = await service.server.inject({
        method: 'POST', url: '/api/desk/v1/greetings/Ada/send', payload: {},
      });
      const page = deskMarkdown('https://t.example');
      process.stdout.write(JSON.stringify({
        code: answer.json().code,
        inOpenApi: deskOpenApi('https://t.example').includes('"sendGreeting"'),
        inDocs: page.split('\\n').filter((line) => line.includes('/greetings/')),
      }));
      await service.close();
    `;
    const output = run(probe);
    expect(JSON.parse(output)).toEqual({
      code: 'credential_missing',
      inOpenApi: true,
      inDocs: [
        'Send a greeting. `POST /api/desk/v1/greetings/{name}/send`, roles `staff`.',
        'POST /api/desk/v1/greetings/Ada/send',
      ],
    });
  });

  it('A new operation of the desk has a command with flags, help and validation', () => {
    const tributary = (...args: string[]) =>
      spawnSync(process.execPath, ['src/cli.ts', ...args], { cwd: scratch, encoding: 'utf8' });
    const help = tributary('greeting', 'send', '--help');
    expect(help.stdout).toContain('Usage: tributary greeting send [options] <name>');
    expect(help.stdout).toMatch(/--how-often <n> +Number of greetings \(default: 1\)/);
    expect(help.stdout).toContain('Without --how-often it is sent once.');
    expect(tributary('--help').stdout).toContain('Commands of greeting');

    const data = ['--data', join(scratch, 'cli-data'), '--json'];
    const sent = tributary('greeting', 'send', 'Ada', '--how-often', '2', ...data);
    // An append that takes long adds a log line.
    expect(sent.stderr).toMatch(/^Acting as the machine\. To act as yourself: [^\n]+\n/);
    expect(JSON.parse(sent.stdout)).toEqual({ text: 'Hello, AdaHello, Ada' });
    const flag = tributary('greeting', 'send', 'Ada', '--how-often', '10', ...data);
    expect(flag).toMatchObject({ status: 2, stdout: '' });
    expect(flag.stderr).toContain('It must be a whole number from 1 to 9.');
    const argument = tributary('greeting', 'send', 'Al', ...data);
    expect(argument.status).toBe(1);
    expect(argument.stderr).toContain('<name>: must have three letters');
  });
});
