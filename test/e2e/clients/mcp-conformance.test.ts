/** The official conformance suite: every scenario that a product can pass, for each version. */
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../../support/world/app.ts';
import { MCP } from '../../support/clients/mcp.ts';
import { keyProxy, type KeyProxy } from '../../support/clients/mcp-proxy.ts';
import { COMPILED } from '../../support/clients/cli.ts';

const SUITE = join(
  dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))),
  'dist/index.js',
);

let app: TestApp;
let proxy: KeyProxy;
const results = mkdtempSync(join(tmpdir(), 'conformance-'));

beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  await app.publish([feedProduct('MUG-1')]);
  const { key } = await app.agent('acme');
  // The suite sends no key, so a proxy adds it.
  proxy = await keyProxy(await app.service.listen(), key);
});
afterAll(async () => {
  await proxy.close();
  await app.close();
  rmSync(results, { recursive: true, force: true });
});

type Check = { id: string; status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO' };
type Expected = {
  /** Minimum number of checks that pass. */
  passed: number;
  failed?: string[];
  warned?: string[];
};

/** Checks that need diagnostic tools of a test server, which products do not have. */
const DIAGNOSTIC = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
];

const SCENARIOS: Record<string, Record<string, Expected>> = {
  '2025-11-25': {
    'server-initialize': { passed: 2 },
    ping: { passed: 2 },
    'tools-list': { passed: 3 },
    'resources-list': { passed: 2 },
    'prompts-list': { passed: 2 },
    'dns-rebinding-protection': { passed: 2 },
    // The suite only reports information here, because the service creates no sessions.
    'server-session-lifecycle': { passed: 0 },
    'server-sse-multiple-streams': { passed: 0, warned: ['server-sse-multiple-streams-session'] },
  },
  '2025-06-18': {
    'server-initialize': { passed: 2 },
    ping: { passed: 2 },
    'tools-list': { passed: 2 },
    'resources-list': { passed: 2 },
    'prompts-list': { passed: 2 },
  },
  '2026-07-28': {
    'server-stateless': { passed: 21, failed: DIAGNOSTIC },
    'tools-list': { passed: 4 },
    'resources-list': { passed: 2 },
    'prompts-list': { passed: 2 },
    caching: { passed: 8 },
    'sep-2164-resource-not-found': { passed: 4 },
    'dns-rebinding-protection': { passed: 2 },
    'http-header-validation': { passed: 14 },
    'server-sse-multiple-streams': { passed: 1 },
    'input-required-result-unsupported-methods': { passed: 2 },
    'input-required-result-validate-input': { passed: 3 },
    'input-required-result-missing-input-response': {
      passed: 1,
      warned: ['sep-2322-missing-response-rerequests'],
    },
    'input-required-result-ignore-extra-params': {
      passed: 1,
      warned: ['sep-2322-ignore-unexpected-params'],
    },
  },
};

/** Runs one scenario in its own process, and returns the checks of its report. */
const checksOf = async (version: string, scenario: string): Promise<Check[]> => {
  const directory = join(results, `${version}-${scenario}`);
  const url = proxy.url + MCP;
  const args = [
    SUITE,
    'server',
    '--url',
    url,
    '--scenario',
    scenario,
    '--spec-version',
    version,
    '-o',
    directory,
  ];
  const output = await new Promise<string>((resolve) => {
    const env = { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: COMPILED };
    execFile(process.execPath, args, { env }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  const [report] = globSync(join(directory, '**/checks.json'));
  if (!report) throw new Error(`no report of ${scenario}:\n${output}`);
  return JSON.parse(readFileSync(report, 'utf8')) as Check[];
};

describe.each(Object.entries(SCENARIOS))('Conformance to MCP %s', (version, scenarios) => {
  it.concurrent.each(Object.entries(scenarios))(
    'An MCP server has the expected result in the conformance scenario %s',
    async (scenario, expected) => {
      const checks = await checksOf(version, scenario);
      const idsOf = (status: Check['status']): string[] =>
        checks.filter((check) => check.status === status).map(({ id }) => id);
      const report = { failed: [...new Set(idsOf('FAILURE'))], warned: idsOf('WARNING') };
      expect(report).toEqual({ failed: expected.failed ?? [], warned: expected.warned ?? [] });
      expect(idsOf('SUCCESS').length).toBeGreaterThanOrEqual(expected.passed);
    },
  );
});
