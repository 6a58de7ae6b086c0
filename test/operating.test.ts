/** The operator's page, held against what there is: names that it says exist, and lines that exist it says. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '#contracts/problems.ts';
import { RIGHTS } from '#src/stores/redis/ready.ts';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { program } from '#src/cli/program.ts';
import { PROCESS_ROLES } from '#src/wiring/process-roles.ts';
import { ROOT, sourceFiles } from './support/source/tree.ts';

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = textOf('infra/OPERATING.md');

/** Cells of the table whose first head is this, row by row. */
const tableOf = (head: string): string[][] => {
  const from = page.indexOf(`\n| ${head} |`);
  if (from < 0) throw new Error(`there is no table of ${head}`);
  const lines = page.slice(from + 1).split('\n');
  const rows = lines.slice(
    2,
    lines.findIndex((line) => !line.startsWith('|')),
  );
  return rows.map((line) => line.slice(2, -2).split(' | '));
};
/** What is between backticks, or between the lines of a fence. */
const quoted = (text: string): string[] =>
  [...text.matchAll(/```([^]*?)```|`([^`]+)`/g)].map(([, block, name]) => block ?? name ?? '');

/** Of others: EventStoreDB, Redis, licences, protocols. */
const FOREIGN =
  /^(EVENTSTORE_|HTTP|JSON|REST|MCP|NTP|TLS|ACL|BSD|MIT|SSD|AGPL|RSAL|SSPL|SETUSER|EVAL|INFO|PING|FLUSHALL|SLOWLOG|PASSWORD|HOST$|NEW_DIR|POST$|README$|REASON$)/;

describe("the operator's page", () => {
  it('names a test for each failure, or says that there is none', () => {
    const rows = tableOf('What fails');
    expect(rows.length).toBeGreaterThan(12);
    for (const [what = '', , , tested = ''] of rows) {
      const files = quoted(tested);
      if (files.length === 0) expect(tested, what).toContain('not tested');
      for (const file of files)
        expect(existsSync(join(ROOT, 'test', `${file}.test.ts`)), `${what}: ${file}`).toBe(true);
    }
  });

  it('names problems that there are', () => {
    const codes = tableOf('What fails').flatMap(([, happens = '']) =>
      quoted(happens).filter((name) => /^[a-z]+_[a-z_]+$/.test(name)),
    );
    expect(codes).toContain('storage_unavailable');
    for (const code of codes) expect(Object.keys(PROBLEMS)).toContain(code);
  });

  it('explains each line of the log, and none that is not written', () => {
    const explained = tableOf('Line').flatMap(([lines = '']) => quoted(lines));
    const calls = [
      /\b(?:log|logger)(?:\.(?:info|warn|error|debug)|\[level\])\([^;]*?'([^']+)',?\s*\)/g,
      /\b(?:throttledLog|faultLog)\(\s*logger,(?:\s*'\w+',)?\s*'([^']+)'/g,
    ];
    const written = sourceFiles('src').flatMap(({ text }) =>
      calls.flatMap((call) => [...text.matchAll(call)].map(([, line]) => line ?? '')),
    );
    expect(new Set(explained)).toEqual(new Set(written));
  });

  it('names every metric of ours, and no other', async () => {
    const told = await prometheusMetrics().text([]);
    const exported = [...told.matchAll(/^# TYPE (tributary_\w+) /gm)].map(([, name]) => name);
    const [first] = tableOf('Name')[0] ?? [];
    const named = tableOf('Name')
      .flatMap(([names = '']) => quoted(names))
      .filter((name) => name.startsWith('tributary_') || name.startsWith('_lag'))
      .map((name) => (name.startsWith('_') ? `tributary_projection${name}` : name));
    expect(first).toContain('tributary_projection_lag_events');
    expect(named.toSorted()).toEqual(exported.toSorted());
  });

  it('names settings that the service reads', () => {
    const known = new Set(
      [...textOf('src/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name]) => name),
    );
    const named = quoted(page).flatMap((text) => text.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? []);
    const settings = named.filter((name) => !FOREIGN.test(name));
    expect(settings).toContain('ROOT_KEY');
    for (const name of settings) expect(known, name).toContain(name);
  });

  it('names commands and roles that there are', () => {
    const commands = [...page.matchAll(/`(?:\.\/)?tributary ([a-z]+(?: [a-z]+)?)/g)].map(
      ([, words = '']) => words.split(' '),
    );
    expect(commands.length).toBeGreaterThan(5);
    const find = (from: Command, name: string): Command | undefined =>
      from.commands.find((command) => command.name() === name);
    for (const words of commands) {
      let at: Command | undefined = program();
      for (const word of words) if (at && at.commands.length > 0) at = find(at, word);
      expect(at, words.join(' ')).toBeDefined();
    }
    for (const role of PROCESS_ROLES) expect(page).toContain(`| \`${role}\` |`);
  });

  it('gives the user of Redis the rights that the service asks for', () => {
    const asked = /\(ACL SETUSER NAME (.*?),/.exec(RIGHTS)?.[1] ?? 'none';
    expect(page).toContain(`ACL SETUSER tributary on >PASSWORD ${asked}\n`);
  });
});
