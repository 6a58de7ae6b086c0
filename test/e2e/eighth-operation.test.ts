import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/source/tree.ts';

/*
 * What contracts/README.md promises, done in a scratch copy: a contract, a line in the registry, a
 * handler; nothing else.
 */
const scratch = mkdtempSync(join(tmpdir(), 'eighth-'));
beforeAll(() => {
  for (const folder of ['contracts', 'src', 'projections', 'infra/scripts'])
    cpSync(join(ROOT, folder), join(scratch, folder), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json'])
    cpSync(join(ROOT, file), join(scratch, file));
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

const CONTRACT = `
import { z } from 'zod';
import { defineOperation } from '../operation.ts';

export const getGreeting = defineOperation({
  id: 'getGreeting',
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
import type { Handler } from '../pipeline/agent-handler.ts';
import { done } from '../pipeline/outcome.ts';

export const getGreeting: Handler<'getGreeting'> = async (_deps, { name }) =>
  done({ text: \`Hello, \${name}\` });
`;

describe('an eighth operation', () => {
  it('does not compile without its handler, and needs nothing but it', () => {
    writeFileSync(join(scratch, 'contracts/operations/get-greeting.ts'), CONTRACT);
    edit('contracts/index.ts', (text) =>
      `import { getGreeting } from './operations/get-greeting.ts';\n${text}`.replace(
        '  getPerformance,\n}',
        '  getPerformance,\n  getGreeting,\n}',
      ),
    );
    const without = typecheck();
    expect(without.status).not.toBe(0);
    expect(without.stdout).toMatch(
      /src\/app\/pipeline\/agent-handlers\.ts.*'getGreeting' is missing/,
    );

    writeFileSync(join(scratch, 'src/app/links/get-greeting.ts'), HANDLER);
    edit('src/app/pipeline/agent-handlers.ts', (text) =>
      `import { getGreeting } from '../links/get-greeting.ts';\n${text}`.replace(
        '  getPerformance,\n',
        '  getPerformance,\n  getGreeting,\n',
      ),
    );
    expect(typecheck().stdout).toBe('');
    // The compiler twice over everything, on a machine that may be busy.
  }, 180_000);

  it('is served, documented and guarded', () => {
    const probe = `
      import { openApi } from './src/interfaces/rest/openapi.ts';
      import { toolNamed } from './src/interfaces/mcp/tools.ts';
      import { restMarkdown } from './src/interfaces/rest/docs.ts';
      import { llmsText } from './src/interfaces/text/llms.ts';
      import { openService } from './src/main.ts';
      import { readConfig } from './src/config.ts';
      const config = readConfig({ EVENT_LOG_URL: 'memory:', DATA_DIR: './data', LOG_LEVEL: 'silent' });
      const service = await openService(config);
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
    const output = execFileSync(
      process.execPath,
      ['--input-type=module-typescript', '--eval', probe],
      {
        cwd: scratch,
        encoding: 'utf8',
      },
    );
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
});
