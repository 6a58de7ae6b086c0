/**
 * audit-state, audit-later: CPU seconds of the state of an owner with a million visits, folded from the start and then to
 * later positions. audit-history: a page of old acts. audit-trace: a link by its id. A new link is written before each
 * question, and each question is another one. audit-export, audit-open: events a second of CPU of the command on a data
 * directory, and of checking and folding its file, with the memory of their processes. Controls have a tenth of the events.
 */
import { join } from 'node:path';
import { env } from 'node:process';
import { askFile } from '#src/app/audit/file-desk.ts';
import { exportAudit } from '#src/cli/commands/audit-export.ts';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
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

type Transfer = { seconds: number; peakMb: number };

/** The maximum resident set size of this process, in MiB. */
const peakMb = (): number => process.resourceUsage().maxRSS / 1_024;

export const auditExporter: Role<{ directory: string; path: string }, Transfer> = async ({
  directory,
  path,
}) => {
  env['ROOT_KEY'] = ROOT_KEY;
  const ms = await cpuMs(() => exportAudit(path, { owner: OWNER, data: directory, json: true }));
  return { details: { seconds: ms / 1_000, peakMb: peakMb() } };
};

export const auditOpener: Role<{ path: string }, Transfer & { events: number }> = async ({
  path,
}) => {
  let events = 0;
  const ms = await cpuMs(async () => {
    const { deps, file } = await openFileForAudits(path);
    await askFile(deps, 'auditState', { input: { owner_id: OWNER }, requestId: 'bench' });
    events = file.about.events;
    file.close();
  });
  return { details: { events, seconds: ms / 1_000, peakMb: peakMb() } };
};

const measure = async (size: Size) => {
  const directory = temporaryDirectory();
  const path = join(directory, 'owner.audit');
  const answers = await once<Answers>('audit', { directory, ...size });
  const exported = await once<Transfer>('auditExport', { directory, path });
  const opened = await once<Transfer & { events: number }>('auditOpen', { path });
  const { events } = opened;
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
