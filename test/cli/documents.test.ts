/**
 * Runs each command of the documents in this process beside the demo, and gives each option every value that its help
 * names. What is only parsed has its reason beside it.
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { program } from '#src/cli/program.ts';
import { writeServerFile } from '#src/cli/service.ts';
import { commandFieldsOf, commandWordsOf } from '#src/cli/verbs.ts';
import { readConfig } from '#src/config.ts';
import { demoClock, ROOT as ROOT_TOKEN } from '#src/demo/cast.ts';
import { Player } from '#src/demo/player.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { type Service, startService } from '#src/main.ts';
import type { Clock } from '#src/ports/system.ts';
import { systemClock } from '#src/system/ids.ts';
import { stdoutHere } from '../support/clients/cli-here.ts';
import { directories } from '../support/processes/directories.ts';
import { codeIn, papers } from '../support/source/papers.ts';
import { ROOT } from '../support/source/tree.ts';
import { UNLIMITED_APP } from '../support/unlimited.ts';

// What is replaced below must be loaded after that, and not be left to the files that this worker runs next.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

/** Set while command lines are parsed and checked against the schema of their operation, and not sent. */
const parsing = vi.hoisted(() => ({ isOn: false }));
class Parsed extends Error {}

vi.mock(import('#src/cli/desk.ts'), async (importActual) => {
  const actual = await importActual();
  const call = (id: DeskOperationId, request: object) => {
    const { input } = deskOperations[id] as DeskOperation;
    const given = Object.entries(request).filter(([, value]) => value !== undefined);
    const fields = Object.fromEntries(given) as Record<string, unknown>;
    const key = 'idempotency_key' in input.shape && { idempotency_key: 'k' };
    const issues = input.safeParse({ ...key, ...fields }).error?.issues ?? [];
    // A reader replaces a word in capitals.
    const wrong = issues.filter(({ path }) => !/^[A-Z]+$/.test(String(fields[String(path[0])])));
    if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
    throw new Parsed();
  };
  return {
    ...actual,
    withDesk: (options, act) =>
      parsing.isOn ? act({ server: undefined, call }) : actual.withDesk(options, act),
  };
});

/** A reader on a terminal, who types what an erasure asks for. Every other command of a document has its yes. */
vi.mock(import('#src/cli/terminal.ts'), async (importActual) => ({
  ...(await importActual()),
  canAsk: () => true,
  async ask(question) {
    const [, typed] = /^Type (.+) to do it: $/.exec(question) ?? [];
    if (typed === undefined)
      throw new Error(`${question}: a document shows this command with --yes`);
    return typed;
  },
}));

/** When the demo starts whose answers AUDITING shows. */
const SHOWN_AT = Date.UTC(2026, 10, 26, 11, 20);
/** The commands of documents run and are audited in real time, so that what they add depends on the machine. */
const LATER = { positions: 50, ms: 600_000 };

/** A clock that shows a time, and continues from it after `go`. */
const clockFrom = (start: number): Clock & { go(): void } => {
  const { monotonic } = systemClock();
  let begun: number | undefined;
  return {
    monotonic,
    now: () => start + (begun === undefined ? 0 : Math.round(monotonic() - begun)),
    go: () => void (begun = monotonic()),
  };
};

const directory = directories('tributary-documents-');
let service: Service;
let data: string;
let player: Player;

beforeAll(async () => {
  data = directory.fresh();
  const env = { LOG_LEVEL: 'silent', PORT: '0', ...UNLIMITED_APP };
  const config = { ...readConfig(env), dataDirectory: data };
  const real = clockFrom(SHOWN_AT);
  const clock = demoClock(real);
  const instance = 'documents';
  const started = await startService(config, { clock, onLog: clock.begin, instance });
  service = started;
  const url = await service.listen();
  await started.ready;
  await ensureDemo(service, clock);
  real.go();
  service.dispatcher.start();
  writeServerFile(data, { url, pid: process.pid, instance });
  player = new Player(service);
  vi.stubEnv('DATA_DIR', data);
  vi.stubEnv('XDG_CONFIG_HOME', data);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await service.close();
  directory.removeAll();
});

/** Parses a command line, and checks the input of its operation against the schema. */
const parseHere = async (words: readonly string[]): Promise<void> => {
  parsing.isOn = true;
  try {
    const root = program();
    for (const command of leavesOf(root))
      if (!isDerived(command)) command.action(() => Promise.reject(new Parsed()));
    const err = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    await root.parseAsync(words, { from: 'user' }).finally(() => err.mockRestore());
  } catch (error) {
    if (!(error instanceof Parsed)) throw error;
  } finally {
    parsing.isOn = false;
  }
};

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name();

const operations = Object.values(deskOperations) as DeskOperation[];
const operationOf = (command: Command): DeskOperation | undefined =>
  operations.find((operation) => commandWordsOf(operation) === nameOf(command));
const isDerived = (command: Command): boolean =>
  operationOf(command) !== undefined && helpOf(command).includes('Desk operation:');

/** The help as a person reads it, on a wide terminal. */
const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 10_000 });
  command.outputHelp();
  return text;
};

/** Splits a command line at spaces outside quotes. */
const wordsOf = (line: string): string[] =>
  (line.replace(COMMAND, '').match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));

/** In this order: the runbook halts outreach, and the page for the desk approves some. */
const DOCUMENTS = [
  'README.md',
  'infra/DESK.md',
  'infra/FEEDS.md',
  'infra/OPERATING.md',
  'infra/READ-MODELS.md',
];

/** Lines that are parsed and not run, by their beginning, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'serve ': 'starts a process: test/e2e/cli',
  'log adopt ': 'needs a log on a server that was replaced: test/e2e/remote/replaced',
  'backup ': 'writes a directory where it runs: test/e2e/cli/backup',
  'restore ': 'needs a backup: test/e2e/cli/backup',
  'projections watch': 'needs a rebuild that lasts: test/e2e/cli/rebuilding',
  'projections pause': 'needs a rebuild that lasts: test/e2e/cli/rebuilding',
  'projections resume': 'needs a rebuild that lasts: test/e2e/cli/rebuilding',
  'projections throttle': 'needs a rebuild that lasts: test/e2e/cli/rebuilding',
  'projections drop': 'needs another held build: test/e2e/cli/rebuilding',
  'log copy ': 'needs a log on a server: test/e2e/remote',
  'log verify': 'needs a directory without a server: test/e2e/cli/own-files',
  'projections skip': 'needs a parked event: test/e2e/cli/parked',
  'projections approve-skip': 'needs a parked event: test/e2e/cli/parked',
  'clock accept': 'needs a log that is ahead of the clock: test/writing/clock',
  'approvals observe': 'needs an unknown outcome: test/outreach/uncertain-outcomes',
  'mail show ID': 'has the id in the next test',
  'rfq answer ': 'needs a question of the buyer: test/handoffs/quotations',
  'login ': 'needs a person with a browser: test/e2e/cli/login',
  'logout ': 'needs a login: test/e2e/cli/login',
};
const reasonOf = (line: string): string | undefined =>
  Object.entries(NOT_RUN).find(([start]) => `${line} `.startsWith(`./tributary ${start}`))?.[1];

/** A line that runs a command, perhaps with a token that a promoter was given. */
const COMMAND = /^(?:DESK_TOKEN=TOKEN )?\.\/tributary /;
/** Lines that name a group of commands or the help, which is walked below. */
const NO_COMMAND = /^\.\/tributary (?:audit$|help |--help$|--version$)/;

/** Returns the handoff of an RFQ in one of these states. */
const handoffIn = async (...states: string[]): Promise<string> => {
  const { data: rfqs } = await player.perform(ROOT_TOKEN, 'listRfqs', {});
  const found = states.flatMap((state) => rfqs.filter((rfq) => rfq.state === state))[0];
  if (!found) throw new Error(`the demo has no RFQ that is ${states.join(' or ')}`);
  return found.handoff_id;
};

/** A token of the person who decides: of staff on access, of the promoter of the demo on outreach. */
const tokenFor = async (line: string): Promise<string> => {
  const asked = line.includes(' access approve ')
    ? { name: 'Ann Lee', roles: ['staff' as const] }
    : { name: 'Olga Orr', roles: ['owner' as const], owner_id: 'northwind' };
  return (await player.perform(ROOT_TOKEN, 'issueDeskToken', asked)).token;
};

/** The state of an RFQ that a line can act on. */
const STATES: readonly { pattern: RegExp; states: string[] }[] = [
  { pattern: /--to confirmed/, states: ['unconfirmed'] },
  { pattern: /rfq quote/, states: ['confirmed', 'in_progress'] },
  { pattern: /rfq move .*--to won/, states: ['quoted'] },
  { pattern: /rfq correct/, states: ['won'] },
  { pattern: /rfq (?:allocate|ship|deliver|return|cancel)/, states: ['won'] },
  { pattern: /rfq show/, states: ['confirmed'] },
];

/** What a reader puts in for a word, from the demo and from the answer of the line before. */
const valueFor = async (word: string, line: string, before: Answer): Promise<string> => {
  const approval = async () => {
    const { data: waiting } = await player.perform(ROOT_TOKEN, 'listApprovals', {});
    return waiting.find(({ status }) => status === 'pending_approval');
  };
  if (word === 'RECORD' && line.includes('plan ')) return handoffIn('confirmed', 'quoted');
  const values: Record<string, () => string | undefined | Promise<string | undefined>> = {
    AGENT: () => before.agent,
    FILE: () => join(data, 'northwind.audit'),
    HANDOFF: () => handoffIn(...(STATES.find(({ pattern }) => pattern.test(line))?.states ?? [])),
    HASH: async () => (await approval())?.content_sha256,
    OWNER: () => 'northwind',
    RECORD: () => before.record,
    REQUEST: async () => (line.includes('audit ') ? before.request_id : (await approval())?.id),
    SKU: () => 'KIT-101',
    SUBJECT: () => handoffIn('lost'),
    'feed.csv': () => join(data, 'feed.csv'),
    data: () => data,
    DIR: () => data,
  };
  return (await values[word]?.()) ?? word;
};

type Answer = { record?: string; request_id?: string; agent?: string | undefined };

const TIME = /\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\dZ)?/g;
/** An id that begins with its time. */
const TIMED_ID = /\b01a[0-9a-f]{5}-[0-9a-f-]*/g;
const NUMBER = /(?<![\w.:-])\d{1,4}(?![\w.:-])/g;

/** A line without what differs in another demo: ids, hashes, times and numbers, of which it has the last two apart. */
const plainLine = (line: string) => {
  const bare = line.replaceAll(TIMED_ID, 'UUID').replaceAll(TIME, 'TIME');
  const text = bare
    .replaceAll(NUMBER, 'N')
    .replaceAll(/\b(agt|hnd|led|lnk|out)_[0-9a-z]{4,24}/g, '$1_')
    .replaceAll(/\bdesk:\w{12}\b/g, 'desk:TOKEN')
    .replaceAll(/sha256=[0-9a-f]+/g, 'sha256=')
    .replaceAll(/\b[0-9A-Za-z]{12}\b/g, 'KEY')
    .replaceAll(/ +/g, ' ')
    .trim();
  const parts = text.split('…').map((part) => RegExp.escape(part.trim()));
  return {
    text,
    pattern: new RegExp(`^${parts.join('.*')}`),
    times: line.match(TIME) ?? [],
    ids: line.match(TIMED_ID) ?? [],
    numbers: bare.match(NUMBER) ?? [],
  };
};

const msOf = (time: string): number => Date.parse(time.replace(' ', 'T'));

/** A line of the page as the demo prints it now. It stays as it is if it differs by the moment of the run only. */
const renewLine = (line: string, printed: string): string => {
  const [shown, now] = [plainLine(line), plainLine(printed)];
  const isLater = now.times.length === 0 || msOf(now.times[0] ?? '') >= SHOWN_AT;
  const apart = isLater ? LATER : { positions: 0, ms: 0 };
  const same = {
    times: (a: string, b: string) => Math.abs(msOf(a) - msOf(b)) <= apart.ms,
    numbers: (a: string, b: string) => Math.abs(Number(a) - Number(b)) <= apart.positions,
  };
  const isSame = (['times', 'numbers'] as const).every((kind) =>
    shown[kind].every((value, i) => same[kind](value, now[kind][i] ?? '')),
  );
  if (isSame) return line;
  const inOrder = (values: string[]) => (old: string) => (values.shift() ?? old).padEnd(old.length);
  const [ids, times] = [inOrder(now.ids), inOrder(now.times)];
  const number = inOrder(now.numbers);
  return line
    .replaceAll(TIMED_ID, (id) => ids(id).slice(0, id.length))
    .split(new RegExp(`(${TIME.source}|${TIMED_ID.source})`))
    .map((part, i) => (i % 2 === 0 ? part.replaceAll(NUMBER, number) : part))
    .join('')
    .replaceAll(TIME, times);
};

/** Renews the answers that a page shows from what its commands have printed, in the same order. */
const renewAnswers = (
  page: string,
  printed: readonly string[],
): { page: string; wrong: string[] } => {
  const wrong: string[] = [];
  let next = 0;
  const renew = (line: string): string => {
    const { pattern, text } = plainLine(line);
    if (text === '') return line;
    const at = printed.findIndex((one, i) => i >= next && pattern.test(plainLine(one).text));
    if (at < 0) wrong.push(line);
    else next = at + 1;
    return at < 0 ? line : renewLine(line, printed[at] ?? '');
  };
  const renewed = page.replaceAll(
    /^```(\w*)\n([^]*?)^```$/gm,
    (whole, language: string, block: string) =>
      language ? whole : `\`\`\`\n${block.split('\n').map(renew).join('\n')}\`\`\``,
  );
  return { page: renewed, wrong };
};

/** The positions that AUDITING names in its commands and sentences, from the demo. */
const renewPositions = async (page: string): Promise<string> => {
  const events = await service.deps.log.readAll({ after: 0, limit: 10_000 });
  const lastBefore = (at: number) => events.findLast(({ meta }) => meta.at < at)?.position;
  const [report, diff] = [Date.UTC(2026, 10, 17, 17), Date.UTC(2026, 10, 20, 20)].map(lastBefore);
  const revoked = events.find(({ type }) => type === 'KeyRevoked')?.position;
  return page
    .replace(/(up to which it counts, here )\d+/, `$1${report}`)
    .replace(/(--granularity total --at )\d+/, `$1${report}`)
    .replace(/--from \d+ --to \d+/, `--from ${report} --to ${diff}`)
    .replace(/(Its revocation is at position )\d+/, `$1${revoked}`);
};

const linesIn = (text: string): string[] =>
  codeIn(text)
    .map((line) => line.trim())
    .filter((line) => COMMAND.test(line) && !NO_COMMAND.test(line));

const AUDITING = 'infra/AUDITING.md';
const textOfPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Dates in a command that a person will run later than it was written. */
const expiringIn = (line: string): string[] =>
  (line.match(/\b20\d\d-\d\d-\d\d/g) ?? []).filter((day) => day < '2090');

/** Runs the lines of a document one after the other, and returns what they have printed. */
const runLines = async (lines: readonly string[]): Promise<string> => {
  let printed = '';
  let before: Answer = {};
  for (const line of lines) {
    if (reasonOf(line) !== undefined) {
      await parseHere(wordsOf(line));
      continue;
    }
    const words: string[] = [];
    for (const word of wordsOf(line)) words.push(await valueFor(word, line, before));
    const isRead = /^(?:audit|rfq (?:list|show)|access requests)/.test(words.join(' '));
    if (line.startsWith('DESK_TOKEN=')) vi.stubEnv('DESK_TOKEN', await tokenFor(line));
    const shown = await stdoutHere(words)
      .catch((error: unknown) => {
        throw new Error(`${line}: ${(error as Error).message}`);
      })
      .finally(() => vi.stubEnv('DESK_TOKEN', undefined));
    printed += shown;
    const [agent] = /agt_\w{24}/.exec(shown) ?? [];
    if (agent !== undefined) before = { ...before, agent };
    if (!isRead) continue;
    const [answer = '{}'] = (await stdoutHere([...words, '--json'])).split('\n');
    before = { ...(JSON.parse(answer) as Answer), agent };
  }
  return printed;
};

describe('A command in a document', () => {
  it.each(DOCUMENTS)(
    'A command in a document of %s runs beside the demo as it is written',
    async (path) => {
      copyFileSync(join(ROOT, 'contracts/examples/demo-catalog.csv'), join(data, 'feed.csv'));
      const lines = linesIn(textOfPage(path));
      expect(lines.length).toBeGreaterThan(1);
      expect(lines.flatMap(expiringIn)).toEqual([]);
      await runLines(lines);
    },
  );

  // -u writes the page.
  it('A command in a document of AUDITING prints what the page shows', async () => {
    const page = await renewPositions(textOfPage(AUDITING));
    const printed = await runLines(linesIn(page));
    expect(printed).not.toContain('None.');
    const renewed = renewAnswers(page, printed.split('\n'));

    expect(renewed.wrong).toEqual([]);
    await expect(renewed.page).toMatchFileSnapshot(join(ROOT, AUDITING));
  });

  it('A command in a document of every other document has options and values that are accepted', async () => {
    const others = papers().filter(({ path }) => ![...DOCUMENTS, AUDITING].includes(path));
    const faults: string[] = [];
    for (const { path } of others)
      for (const line of linesIn(textOfPage(path))) {
        expect(expiringIn(line), path).toEqual([]);
        await parseHere(wordsOf(line)).catch((error: unknown) => {
          faults.push(`${path}: ${line}: ${(error as Error).message}`);
        });
      }
    expect(faults).toEqual([]);
  });

  it('A command in a document reads a message that mail list names', async () => {
    const [, id = ''] = /^(mal_\w+)/.exec(await stdoutHere(['mail', 'list'])) ?? [];
    expect(await stdoutHere(['mail', 'show', id])).toContain('Subject: ');
  });
});

/** Values that the help of an option names: in its usage, or in a list at the end of its description. */
const valuesIn = (flags: string, description: string): string[] => {
  const [, inUsage] = /[<[]([\w.-]+(?:\|[\w.-]+)+)[>\]]/.exec(flags) ?? [];
  const [, listed] = /: (\w[\w-]*(?:, \w[\w-]*)+)(?: \(.*\))?$/.exec(description) ?? [];
  const [, fallback] = /\(default: ("[^"]+"|\d+)\)$/.exec(description) ?? [];
  return [
    inUsage?.split('|') ?? [],
    listed?.split(', ') ?? [],
    fallback?.replaceAll('"', '') ?? [],
  ].flat();
};

/** A value for each field that a command requires, from the examples of its operation. */
const requiredWords = (command: Command): string[] => {
  const operation = operationOf(command);
  if (!operation || !isDerived(command)) {
    const flags = command.options.filter(({ mandatory }) => mandatory);
    const words = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
    return [...words, ...flags.flatMap(({ long }) => [long ?? '', 'x'])];
  }
  const [example] = operation.examples;
  const input: Record<string, unknown> = example?.input ?? {};
  return commandFieldsOf(operation).flatMap((field) => {
    if (!field.isRequired && !field.isArgument && !field.form.isOptional) return [];
    const text = textOf(field.name, input[field.name]);
    return field.isArgument ? [text] : [field.word, text];
  });
};

/** Writes a value as its flag accepts it. */
const textOf = (name: string, value: unknown): string => {
  if (name === 'channels') return 'message=file';
  if (name === 'values') return '129.50 GBP';
  if (name === 'lines') return '2=5';
  if (Array.isArray(value)) return value.map(String).join(',');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'x');
};

const commands = leavesOf(program()).map((command): [string, Command] => [
  nameOf(command),
  command,
]);

describe('The help of a command', () => {
  it.each(commands)(
    'The help of a command of %s names only values that its options accept',
    async (name, command) => {
      helpOf(command);
      for (const { long = '', flags, description } of command.options) {
        for (const value of valuesIn(flags, description)) {
          const required = requiredWords(command);
          const at = required.indexOf(long);
          const words = at < 0 ? required : required.toSpliced(at, 2);
          await parseHere([...name.split(' '), ...words, long, value]).catch((error: unknown) => {
            throw new Error(`${name} ${long} ${value}: ${(error as Error).message}`);
          });
        }
      }
    },
  );

  it('The help of a command of the numbers of an owner names values that count them', async () => {
    const [, command] = commands.find(([name]) => name === 'audit performance') ?? [];
    const options = command?.options ?? [];
    for (const long of ['--granularity', '--group-by', '--compare-to', '--channel']) {
      const { flags = '', description = '' } = options.find((one) => one.long === long) ?? {};
      const values = valuesIn(flags, description);
      expect(values.length, long).toBeGreaterThan(1);
      for (const value of values) {
        const shown = await stdoutHere([
          'audit',
          'performance',
          '--owner',
          'northwind',
          long,
          value,
        ]);
        expect(shown).toMatch(/^As of position \d+/);
        expect(shown.includes('Before: from '), value).toBe(long === '--compare-to');
      }
    }
  });
});
