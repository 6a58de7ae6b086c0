/** Compares the operator's pages with the code: the names that they use exist, and what exists is named. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import { RIGHTS } from '#src/stores/redis/connect.ts';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { PROCESS_ROLES } from '#src/config.ts';
import { ROOT, sourceFiles } from './support/source/tree.ts';

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const runbook = textOf('infra/OPERATING.md');
const signals = textOf('infra/SIGNALS.md');
const settingsPage = textOf('infra/SETTINGS.md');

/** Returns the cells of all tables of a page whose first head is `head`, row by row. */
const tablesOf = (page: string, head: string): string[][] => {
  const tables = page.split(`\n| ${head} |`).slice(1);
  if (tables.length === 0) throw new Error(`there is no table of ${head}`);
  return tables.flatMap((table) => {
    const lines = table.split('\n').slice(2);
    const end = lines.findIndex((line) => !line.startsWith('|'));
    return lines.slice(0, end).map((line) => line.slice(2, -2).split(' | '));
  });
};
/** Returns what is between backticks, or between the lines of a fence. */
const quoted = (text: string): string[] =>
  [...text.matchAll(/```([^]*?)```|`([^`]+)`/g)].map(([, block, name]) => block ?? name ?? '');

/** Names that belong to others: EventStoreDB, Redis, licences, protocols. */
const FOREIGN =
  /^(EVENTSTORE_|HTTP|JSON|REST|MCP|NTP|TLS|ACL|BSD|MIT|SSD|AGPL|RSAL|SSPL|SETUSER|EVAL|INFO|PING|FLUSHALL|SLOWLOG|SIGTERM|PASSWORD|HOST$|POST$|README$)/;
/** Words that a reader replaces in a command. */
const PLACEHOLDER =
  /^(AGENT|COMMAND|COPY|FOUND|HANDOFF|HASH|KNOWN|LEAD|OWNER|RECORD|REQUEST|SUBJECT|TOKEN)$/;

/** Returns the names of the settings that the configuration reads, without that of Node. */
const settingsRead = (): string[] =>
  [...textOf('src/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'NODE_ENV');

describe("The operator's pages", () => {
  it('The runbook names an existing test for each failure, or says that there is none', () => {
    const rows = tablesOf(runbook, 'Symptom');
    expect(rows.length).toBeGreaterThan(30);
    for (const [what = '', , , tested = ''] of rows) {
      const files = quoted(tested);
      if (files.length === 0) expect(tested, what).toContain('not tested');
      for (const file of files)
        expect(existsSync(join(ROOT, 'test', `${file}.test.ts`)), `${what}: ${file}`).toBe(true);
    }
  });

  it('The problem codes in the failures of the runbook exist', () => {
    const codes = tablesOf(runbook, 'Symptom')
      .flatMap(([symptom = '', meaning = '']) => [...quoted(symptom), ...quoted(meaning)])
      .filter((name) => /^[a-z]+_[a-z_]+$/.test(name));
    expect(codes).toContain('storage_unavailable');
    for (const code of codes) expect(Object.keys(PROBLEMS)).toContain(code);
  });

  it('SIGNALS explains each line of the log, and none that is not written', () => {
    const explained = tablesOf(signals, 'Line').flatMap(([lines = '']) => quoted(lines));
    const calls = [
      /\b(?:log|logger)(?:\.(?:info|warn|error|debug)|\[level\])\([^;]*?'([^']+)',?\s*\)/g,
      /\b(?:throttledLog|faultLog)\(\s*logger,(?:\s*'\w+',)?\s*'([^']+)'/g,
    ];
    const written = sourceFiles('src').flatMap(({ text }) =>
      calls.flatMap((call) => [...text.matchAll(call)].map(([, line]) => line ?? '')),
    );
    expect(new Set(explained)).toEqual(new Set(written));
  });

  it('SIGNALS names every metric of the service, and no other', async () => {
    const text = await prometheusMetrics().text([]);
    const exported = [...text.matchAll(/^# TYPE (tributary_\w+) /gm)].map(([, name]) => name);
    const rows = tablesOf(signals, 'Name');
    const named = rows
      .flatMap(([names = '']) => quoted(names))
      .filter((name) => name.startsWith('tributary_') || name.startsWith('_lag'))
      .map((name) => (name.startsWith('_') ? `tributary_projection${name}` : name));
    expect(rows[0]?.[0]).toContain('tributary_projection_lag_events');
    expect(named.toSorted()).toEqual(exported.toSorted());
  });

  it('SETTINGS explains every setting that the service reads, and no other', () => {
    const explained = tablesOf(settingsPage, 'Variable').flatMap(([names = '']) => quoted(names));
    expect(explained.toSorted()).toEqual(settingsRead().toSorted());
  });

  it('SETTINGS shows the default of each limit', () => {
    const limits = new Map<string, number>(Object.entries(LIMITS));
    const shown = tablesOf(settingsPage, 'Variable').flatMap(([names = '', values = '']) => {
      const numbers = values.split(', ');
      return quoted(names).map((name, i) => [name, Number(numbers[i])] as const);
    });
    const checked = shown.flatMap(([name, value]) => {
      const limit = limits.get(name) ?? limits.get(`${name}_MAX`);
      return limit === undefined ? [] : [{ name, value, limit }];
    });
    expect(checked.length).toBeGreaterThan(11);
    for (const { name, value, limit } of checked) expect(value, name).toBe(limit);
  });

  it.each(['OPERATING', 'CONCEPTS', 'SIGNALS', 'DESK'])(
    'The page %s names no setting that the service does not read',
    (name) => {
      const named = quoted(textOf(`infra/${name}.md`))
        .flatMap((text) => text.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? [])
        .filter((setting) => !FOREIGN.test(setting) && !PLACEHOLDER.test(setting));
      for (const setting of named) expect(settingsRead(), setting).toContain(setting);
    },
  );

  it('The runbook explains every role of a process', () => {
    expect(runbook).toContain('`ROOT_KEY`');
    for (const role of PROCESS_ROLES) expect(runbook).toContain(`| \`${role}\` |`);
  });

  it('The runbook gives the user of Redis the rights that the service asks for', () => {
    const asked = /\(ACL SETUSER NAME (.*?),/.exec(RIGHTS)?.[1] ?? 'none';
    expect(runbook).toContain(`ACL SETUSER tributary on >PASSWORD ${asked}\n`);
  });
});
