/**
 * audit-state, audit-later: CPU seconds of the state of an owner with a million visits, folded from the start and then to
 * later positions. audit-history: a page of old acts. audit-trace: a link by its id. A new link is written before each
 * question, and each question is another one. audit-export, audit-open: events a second of CPU of a user's command on a
 * data directory, and on its file, which is checked and folded; start and memory of the processes count. Controls have a
 * tenth of the events.
 */
import { execFile } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { promisify } from 'node:util';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import type { Role } from '../children.ts';
import { median } from '../measure.ts';
import { AGENTS, deskOf, openBench, ROOT_KEY, sender } from '../service.ts';
import { type Goal, rowOf, type Unit } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { cpuMs, type Size, writeVisits } from './performance.ts';
import { once } from './rebuild.ts';

const OWNER = 'acme';
const LARGE: Size = { links: 3_704, days: 90 };
const SMALL: Size = { links: 370, days: 90 };
/** The first ones compile the code. */
const ROUNDS = 15;

type Answers = Record<'state' | 'later' | 'history' | 'trace', number>;

/** Asks about an owner with so many visits; returns CPU seconds. */
export const auditServer: Role<Size & { directory: string }, Answers> = async (args) => {
  const { directory, ...size } = args;
  await writeVisits(directory, size);
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const agent = sender(service, await desk.agent(OWNER));
  const send = sender(service, desk.token);
  const read = (path: string) => send('GET', `/api/desk/v1/audit/${path}owner_id=${OWNER}`);
  const createLink = async (): Promise<string> => {
    const target = { kind: 'product', ref: 'SKU1' };
    return String((await agent('POST', `${AGENTS}/links`, { target }))['id']);
  };
  const secondsOf = async (question: string): Promise<number> =>
    (await cpuMs(() => read(question))) / 1_000;
  const medianOf = async (question: (round: number, link: string) => string): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      times.push(await secondsOf(question(round, await createLink())));
    return median(times);
  };
  const details = {
    state: await secondsOf('state?'),
    later: await medianOf((round) => `state?limit=${10 + round}&`),
    history: await medianOf((round) => `history?before=${2_000 + round}&limit=100&`),
    trace: await medianOf((_round, link) => `trace/${link}?`),
  };
  return { details, close: () => service.close() };
};

type Used = { seconds: number; peakMb: number };

const COMMAND = join(import.meta.dirname, '../../../tributary');
const PRELOADED = join(import.meta.dirname, '../usage-at-exit.ts');

/** Runs a command as a user does; returns the CPU seconds and the maximum resident set, in MiB, of its process. */
const runCommand = async (directory: string, args: readonly string[]): Promise<Used> => {
  const usage = join(directory, 'usage.json');
  await promisify(execFile)(COMMAND, ['audit', ...args, '--owner', OWNER], {
    env: { ...env, ROOT_KEY, USAGE_FILE: usage, NODE_OPTIONS: `--import=${PRELOADED}` },
  });
  const text = await readFile(usage, 'utf8');
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(text) as NodeJS.ResourceUsage;
  return { seconds: (userCPUTime + systemCPUTime) / 1e6, peakMb: maxRSS / 1_024 };
};

/** Returns the number of events that the head of an exported file names. */
const eventsIn = async (path: string): Promise<number> => {
  await using file = await open(path);
  for await (const head of file.readLines()) return (JSON.parse(head) as { events: number }).events;
  throw new Error(`${path} is empty`);
};

const measure = async (size: Size) => {
  const directory = temporaryDirectory();
  const path = join(directory, 'owner.audit');
  const answers = await once<Answers>('audit', { directory, ...size });
  const exported = await runCommand(directory, ['export', path, '--data', directory]);
  const opened = await runCommand(directory, ['state', '--file', path, '--kind', 'key']);
  const events = await eventsIn(path);
  return {
    ...answers,
    events,
    export: events / exported.seconds,
    exportMb: exported.peakMb,
    open: events / opened.seconds,
    openMb: opened.peakMb,
  };
};

type Measured = Awaited<ReturnType<typeof measure>>;

type Line = [id: string, what: string, of: keyof Measured, unit: Unit, goal: Goal, factor?: number];

const atMost = (value: number): Goal => ({ of: 'value', atMost: value });
const atLeast = (value: number): Goal => ({ of: 'value', atLeast: value });

const LINES: Line[] = [
  ['audit-state', 'state of the owner, from the start', 'state', 's', atMost(12)],
  ['audit-later', '  the same at later positions', 'later', 's', atMost(2)],
  ['audit-history', 'page of 100 old acts', 'history', 'ms', atMost(5), 1_000],
  ['audit-trace', 'trace of a link', 'trace', 'ms', atMost(20), 1_000],
  ['audit-export', 'export without a server, events', 'export', '1/s', atLeast(60_000)],
  ['audit-export', '  peak memory (RSS)', 'exportMb', 'MB', atMost(300)],
  ['audit-open', 'open, check and fold, events', 'open', '1/s', atLeast(80_000)],
  ['audit-open', '  peak memory (RSS)', 'openMb', 'MB', atMost(300)],
];

export const benchAudit: Bench = async () => {
  const small = await measure(SMALL);
  const large = await measure(LARGE);
  const sizes = `${large.events.toLocaleString('en')} events, vs ${small.events.toLocaleString('en')}`;
  return LINES.map(([id, text, of, unit, goal, factor = 1], index) => {
    const what = index === 0 ? `${text}, ${sizes}` : text;
    return rowOf({ id, what, value: factor * large[of], unit, control: factor * small[of] }, goal);
  });
};
