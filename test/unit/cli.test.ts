/** What the command line says by itself: the way on from a problem, and the end of a bar. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/desk/index.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { banner } from '#src/cli/service/banner.ts';
import { problemText, refused } from '#src/cli/terminal/problem-text.ts';
import { program } from '#src/cli/program.ts';
import { typed } from '#src/cli/desk/typed.ts';
import { ROOT } from '../support/source/tree.ts';

describe('the way on from a problem', () => {
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

  it.each([...codes])('from %s is one that a terminal has', (code) => {
    const { title, hint } = PROBLEMS[code];
    const text = problemText({ code, title, detail: 'It is so.', recovery: { hint } });
    expect(text).toContain(`${title}: It is so.`);
    expect(text).not.toMatch(HTTP);
  });

  it('names what was typed: flags that there are, and arguments', () => {
    const optionsOf = (command: Command): string[] => [
      ...command.options.map(({ long }) => long ?? ''),
      ...command.commands.flatMap(optionsOf),
    ];
    const flags = new Set(optionsOf(program()));
    // Lines of a feed are told by the import itself; the others are for programs alone.
    const untyped = ['products', 'as_of', 'after', 'run'];
    for (const { input } of Object.values(deskOperations))
      for (const field of Object.keys(input.shape)) {
        const word = typed(`/${field}`);
        if (untyped.includes(field)) expect(word).toBe(`/${field}`);
        else if (word.startsWith('--')) expect(flags, field).toContain(word);
        else expect(word).toMatch(/^the [a-z]+$/);
      }
    expect(typed('/channels/1/url')).toBe('--channel, no. 2, url');
    expect(typed('')).toBe('/');
  });

  it('from a write of which nobody knows names its key', () => {
    const { title, hint } = PROBLEMS.storage_unavailable;
    const problem = { code: 'storage_unavailable', title, detail: 'Away.', recovery: { hint } };
    const { exit, message } = refused({ ...problem, outcome: 'unknown' }, 'k-1');
    expect(exit).toBe(5);
    expect(message).toContain('repeat it with --idempotency-key k-1');
  });
});

/** Draws a bar, as on a terminal, and stops itself with a signal in the middle of it. */
const interrupted = (signal: string, isTerminal: boolean) =>
  new Promise<{ said: string; signal: string | null }>((resolve) => {
    const script = `
      process.stderr.isTTY = ${isTerminal};
      const { progress } = await import(${JSON.stringify(join(ROOT, 'src/cli/terminal/progress.ts'))});
      progress('done.csv', 9, 'bytes').stop();
      progress('feed.csv', 100, 'bytes').update(40);
      setInterval(() => undefined, 1_000);
      process.kill(process.pid, '${signal}');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => (said += String(chunk)));
    child.once('close', (_code, by) => resolve({ said, signal: by }));
  });

describe.each(['SIGINT', 'SIGTERM'])('a bar that %s breaks off', (signal) => {
  it('gives the terminal back, says how far it came, and the process ends by the signal', async () => {
    const end = await interrupted(signal, true);
    expect(end.signal).toBe(signal);
    const [last = ''] = end.said.split('interrupted: ').slice(0, 1);
    for (const back of ['\u001b[?25h', '\u001b[?7h'])
      expect(last.lastIndexOf(back)).toBeGreaterThan(last.lastIndexOf(back.replace('h', 'l')));
    expect(end.said).toMatch(/interrupted: feed\.csv, 40 of 100 bytes done\. .* run again\.\n$/);
  });

  it('says so elsewhere, too, without a code for terminals', async () => {
    const { said } = await interrupted(signal, false);
    expect(said).toBe(
      'interrupted: feed.csv, 40 of 100 bytes done. The same command may simply be run again.\n',
    );
  });
});

describe('the banner', () => {
  it('names the read models that are parked', () => {
    const config = { dataDirectory: 'data', eventLogUrl: 'memory:' };
    const of = (parked: readonly unknown[]) =>
      banner({
        url: 'http://127.0.0.1',
        config,
        head: 9,
        readModels: [
          { name: 'leads', lagEvents: 3, parked },
          { name: 'links', lagEvents: 0, parked: [] },
        ],
      });
    expect(of([{}])).toContain(
      '1 of 2 caught up, parked: leads (see tributary projections status)',
    );
    expect(of([])).toMatch(/1 of 2 caught up\n/);
  });
});
