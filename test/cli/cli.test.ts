/** Output of the command line itself: problems, progress and the banner. */
import { spawn, spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { METRICS } from '#contracts/performance/records.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { commandLine } from '#src/cli/options.ts';
import { program } from '#src/cli/program.ts';
import { formatBanner } from '#src/cli/service.ts';
import { auditPerformanceText, formatAnswer, formatData } from '#src/cli/texts.ts';
import { formatProblem, problemError } from '#src/cli/problem-text.ts';
import { COMMAND } from '../support/clients/cli.ts';
import { ROOT, sourceFiles } from '../support/source/tree.ts';

describe('A table of the command line', () => {
  it('A table of the command line shows money as its commands read it, with the decimals of the currency', () => {
    const money = [
      { amount: 29_800, currency: 'GBP' },
      { amount: 5, currency: 'EUR' },
      { amount: 700, currency: 'JPY' },
    ];
    const data = [{ id: 'hnd_1', totals: money }];
    expect(formatAnswer({ data }, 'id totals')).toContain('298.00 GBP,0.05 EUR,700 JPY');
    expect(formatData({ data: { values: money }, stream: 's', actor: 'a' })).toBe(
      'values=298.00:GBP,0.05:EUR,700:JPY',
    );
  });

  it('A table of the command line shows times of events as times', () => {
    const data = { schedule: { not_after: 0 }, until: 0, expires_at: 0, revision: 0 };
    expect(formatData({ data, stream: 's', actor: 'a' })).toBe(
      'schedule.not_after=1970-01-01T00:00:00.000Z until=1970-01-01T00:00:00.000Z ' +
        'expires_at=1970-01-01T00:00:00.000Z revision=0',
    );
  });

  it('A table of the command line shows numbers that are all zero as one word', () => {
    const totals = {
      ...Object.fromEntries(METRICS.map((name) => [name, 0])),
      rfq_value: [],
      won_value: [],
    };
    const answer = {
      data: [{ bucket_start: '2026-11-01', dimensions: {}, metrics: totals }],
      totals,
      period: { from: '2026-11-01', to: '2026-11-01', granularity: 'day', time_zone: 'UTC' },
      page: { next_cursor: null, has_more: false },
      as_of: { position: 0, at: null, shown_at: '2026-11-01T00:00:00.000Z' },
      classifier_version: 1,
    };
    expect(auditPerformanceText(answer as never)).toBe(
      'As of position 0, before the first event.\nPerformance from 2026-11-01 to 2026-11-01 (UTC)\nNone.',
    );
  });

  it('A table of the command line that cannot be written ends its command with status 1 and one sentence', () => {
    const { status, stderr } = spawnSync('sh', ['-c', `'${COMMAND}' --help > /dev/full`]);
    expect(status).toBe(1);
    expect(String(stderr)).toBe(
      'tributary: the output cannot be written: ENOSPC: no space left on device, write\n',
    );
  });
});

describe('The text of a problem', () => {
  const codes = new Set<ProblemCode>([
    ...Object.values(deskOperations).flatMap(({ problems }): readonly ProblemCode[] => problems),
    'credential_invalid',
    'credential_revoked',
    'payload_too_large',
    'read_model_rebuilding',
    'internal_error',
  ]);
  const HTTP =
    /Idempotency-Key|Retry-After|errors\[\]|still free|header|content_sha256|owner's records/;

  it.each([...codes])(
    'The text of a problem of %s has its title and detail, and nothing about HTTP',
    (code) => {
      const { title, hint } = PROBLEMS[code];
      const text = formatProblem({ code, title, detail: 'It is so.', recovery: { hint } }, {});
      expect(text).toContain(`${title}: It is so.`);
      expect(text).not.toMatch(HTTP);
    },
  );

  it("A problem's text names the idempotency key of a write whose outcome is unknown", () => {
    const { title, hint } = PROBLEMS.storage_unavailable;
    const problem = { code: 'storage_unavailable', title, detail: 'Away.', recovery: { hint } };
    const { exit, message } = problemError({ ...problem, outcome: 'unknown' }, { key: 'k-1' });
    expect(exit).toBe(5);
    expect(message).toContain('repeat it with --idempotency-key k-1');
  });
});

/** Shows progress and sends a signal to its own process in the middle of it. */
const interruptProgress = (signal: string, isTerminal: boolean) =>
  new Promise<{ stderr: string; signal: string | null }>((resolve) => {
    const script = `
      process.stderr.isTTY = ${isTerminal};
      const { startProgress } = await import(${JSON.stringify(join(ROOT, 'src/cli/terminal.ts'))});
      startProgress({ label: 'done.csv', total: 9, unit: 'bytes' }).stop();
      startProgress({ label: 'feed.csv', total: 100, unit: 'bytes' }).update(40);
      setInterval(() => undefined, 1_000);
      process.kill(process.pid, '${signal}');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    child.once('close', (_code, by) => resolve({ stderr, signal: by }));
  });

const INTERRUPTED =
  'interrupted: feed.csv, 40 of 100 bytes done. Run the same command again to continue.\n';

describe.each(['SIGINT', 'SIGTERM'])('Progress that %s interrupts', (signal) => {
  it('Progress that a signal interrupts erases its line on a terminal, prints the progress so far, and lets the signal end the process', async () => {
    const end = await interruptProgress(signal, true);
    expect(end.signal).toBe(signal);
    const erase = '\r\u001b[K';
    const line = 'feed.csv  40 %  40/100 bytes';
    expect(end.stderr).toBe(`${erase}${erase}${line}${erase}${INTERRUPTED}`);
  });

  it('Progress that a signal interrupts prints the progress so far without control codes where stderr is no terminal', async () => {
    expect((await interruptProgress(signal, false)).stderr).toBe(INTERRUPTED);
  });
});

describe('A command that a text names', () => {
  it.each([
    ['data', './tributary mail list'],
    ['other/data', './tributary mail list --data other/data'],
    ['.', './tributary mail list --data .'],
    ["It's here", String.raw`./tributary mail list --data 'It'\''s here'`],
    ['/srv/tributary', './tributary mail list --data /srv/tributary'],
  ])('A command that a text names acts on the data directory %s', (directory, line) => {
    expect(commandLine('mail list', resolve(directory))).toBe(line);
  });

  it('A command that a text names contains the data directory wherever the code of the command line names one', () => {
    const names = new Set(program().commands.map((command) => command.name()));
    const bare = sourceFiles('src/cli').flatMap(({ path, text }) =>
      [...text.replaceAll(/^ *(?:\/?\*|\/\/).*$/gm, '').matchAll(/\btributary ([a-z-]+)/g)]
        .filter(([, name = '']) => names.has(name))
        .map(([words]) => `${path}: ${words}`),
    );
    expect(bare).toEqual([]);
  });
});

describe('The banner', () => {
  it('The banner names the parked read models, and those that are folded without skipped events', () => {
    const config = { dataDirectory: 'data' };
    const bannerWith = (parked: readonly unknown[], skipped = 0) =>
      formatBanner({
        url: 'http://127.0.0.1',
        config,
        head: 9,
        readModels: [
          { name: 'leads', lagEvents: 3, parked, skipped: 0 },
          { name: 'links', lagEvents: 0, parked: [], skipped },
        ],
      });
    expect(bannerWith([{}])).toContain(
      '1 of 2 caught up, parked: leads (see ./tributary projections status)',
    );
    expect(bannerWith([])).toMatch(/1 of 2 caught up\n/);
    expect(bannerWith([], 2)).toContain('1 of 2 caught up, folded without skipped events: links 2');
  });

  it('The banner calls the end of a log events in a file, and a position on a server', () => {
    const shown = { url: 'http://127.0.0.1', config: { dataDirectory: 'data' }, readModels: [] };
    expect(formatBanner({ ...shown, head: 9 })).toContain('log.db  9 events');
    const onServer = formatBanner({ ...shown, head: 81_920, logHosts: 'db:2113' });
    expect(onServer).toContain('EventStoreDB  db:2113  position 81,920');
    expect(onServer).not.toContain('event ');
  });
});
