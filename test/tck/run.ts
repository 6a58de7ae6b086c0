/**
 * Runs a local checkout of the official A2A TCK against a fresh service: `make test-a2a-tck DIR=…`. Fails if a test that
 * `expected.json` does not name fails or is skipped, if a named one passes, and if fewer than `passedMin` pass.
 */
import { spawnSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { freePort } from '../support/processes/free-port.ts';

type Outcome = 'passed' | 'failed' | 'skipped';
type Result = { test: string; outcome: Outcome; why: string };
/** Tests by the reason why they are named. */
type ByReason = Record<string, readonly string[]>;
type Expected = { commit: string; passedMin: number } & Record<
  'deselected' | 'failed' | 'skipped',
  ByReason
>;

const HERE = import.meta.dirname;
const EXPECTED = JSON.parse(readFileSync(join(HERE, 'expected.json'), 'utf8')) as Expected;

const testsIn = (named: ByReason): string[] => Object.values(named).flat();

/** Adds the key to each request, and makes each `messageId` unique: the TCK sends one id for several messages. */
const shim = async (service: { url: string; apiKey: string }, port: number) => {
  let messages = 0;
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const text = (await buffer(incoming)).toString('utf8');
      const body = text.replaceAll(/("messageId":\s*"[^"]+)"/g, (_all, id: string) => {
        messages += 1;
        return `${id}-${messages}"`;
      });
      const {
        'content-length': _length,
        'transfer-encoding': _encoding,
        ...rest
      } = incoming.headers;
      const headers = {
        ...rest,
        authorization: `Bearer ${service.apiKey}`,
        ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }),
      };
      const { method, url: path } = incoming;
      const { port: at } = new URL(service.url);
      const onward = request({ port: at, host: '127.0.0.1', path, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      outgoing.on('close', () => onward.destroy());
      onward.end(body);
    })();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return () => {
    server.close();
    server.closeAllConnections();
  };
};

const runSuite = async (
  directory: string,
  sut: string,
  { results, webhook }: { results: string; webhook: number },
): Promise<void> => {
  const deselected = testsIn(EXPECTED.deselected);
  const args = ['-m', 'pytest', '-c', '/dev/null', '--rootdir', directory, '-q', '--no-header'];
  args.push('-p', 'no:cacheprovider', '-p', 'tck_shim', '-o', 'asyncio_mode=auto', '-W', 'ignore');
  args.push(
    '--ignore=tests/compatibility/grpc',
    '--transport=jsonrpc,http_json',
    `--sut-host=${sut}`,
    '--webhook-host=127.0.0.1',
  );
  args.push(...deselected.map((test) => `--deselect=${test}`), 'tests/compatibility');
  const suite = spawn(python, args, {
    cwd: directory,
    env: {
      PATH: '/usr/bin:/bin',
      PYTHONPATH: `${directory}:${HERE}`,
      PYTHONDONTWRITEBYTECODE: '1',
      TCK_RESULTS: results,
      TCK_WEBHOOK_PORT: String(webhook),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  suite.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(suite, 'exit');
  process.stdout.write(output.split('\n').slice(-3).join('\n'));
};

/** The results that differ from what is expected, one text each. */
const surprisesIn = (results: readonly Result[]): string[] => {
  const seen = new Map(results.map((result) => [result.test, result]));
  const other = results.flatMap(({ test, outcome, why }) =>
    outcome === 'passed' || testsIn(EXPECTED[outcome]).includes(test)
      ? []
      : [`${outcome}: ${test}\n    ${why.replaceAll('\n', '\n    ')}`],
  );
  const named = (['failed', 'skipped'] as const).flatMap((outcome) =>
    testsIn(EXPECTED[outcome]).map((test) => ({ test, outcome })),
  );
  const gone = named.filter(({ test, outcome }) => seen.get(test)?.outcome !== outcome);
  return [
    ...other,
    ...gone.map(({ test, outcome }) => `no longer ${outcome}, so remove it: ${test}`),
  ];
};

const [, , directory, python = 'python3'] = process.argv;
if (!directory) throw new Error('name a checkout of a2aproject/a2a-tck: make test-a2a-tck DIR=…');
const git = spawnSync('git', ['-C', directory, 'rev-parse', '--short', 'HEAD'], {
  encoding: 'utf8',
});
process.stdout.write(`TCK ${git.stdout.trim() || 'without git'}, expected ${EXPECTED.commit}\n`);
const temporary = directories('tributary-tck-');
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const webhook = await freePort();
const settings = { PUBLIC_URL: url, OUTREACH_PRIVATE_HOSTS: `127.0.0.1:${webhook}` };
const service = await serveChild(temporary.fresh(), settings, ['--demo']);
const close = await shim(service, port);
try {
  const file = join(temporary.fresh(), 'results');
  await runSuite(directory, url, { results: file, webhook });
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const results = lines.map((line) => JSON.parse(line) as Result);
  const count = (outcome: Outcome): number =>
    results.filter((one) => one.outcome === outcome).length;
  const surprises = surprisesIn(results);
  if (count('passed') < EXPECTED.passedMin)
    surprises.push(`fewer than ${EXPECTED.passedMin} passed`);
  for (const surprise of surprises) process.stdout.write(`${surprise}\n`);
  process.stdout.write(
    `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`,
  );
  process.exitCode = surprises.length > 0 ? 1 : 0;
} finally {
  close();
  await service.end('SIGTERM');
  await endChildren();
  temporary.removeAll();
}
