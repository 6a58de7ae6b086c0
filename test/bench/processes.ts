/**
 * D: two API processes against one, on one log and one Redis with a projector. All of these share
 * the machine's cores: a row says how much of them one process alone leaves to a second.
 */
import { cpus } from 'node:os';
import type { Bench } from './bench.ts';
import type { Load, Loaded, Started, Target } from './children.ts';
import { compared, start, startLoad } from './children.ts';
import type { Call } from './load.ts';
import { interleaved, middleOf } from './measure.ts';
import { READS, type ReadDetails } from './rows/read.ts';
import { type Settings, withServers } from './rows/remote.ts';
import { type Row, rowOf } from './table.ts';
import { temporaryDirectory } from './temporary.ts';
import { callsFor } from './rows/write.ts';
import { BARE_US } from './rows/write-cpu.ts';

const CONNECTIONS = 64;
const SAMPLE_MS = 1_500;

type Server = Started<{ url: string }>;
type Taken = Loaded & { coresBusy: number };

/** Returns busy and total milliseconds of all cores. */
const coreTimes = (): { busy: number; all: number } => {
  const sums = { busy: 0, all: 0 };
  for (const { times } of cpus()) {
    const all = Object.values(times).reduce((sum, ms) => sum + ms, 0);
    sums.all += all;
    sums.busy += all - times.idle;
  }
  return sums;
};

/** Divides the same number of connections among the servers. */
const loadOn = async (load: Load, servers: readonly Server[], calls: Call[]): Promise<Taken> => {
  const targets = servers.map((server): Target => {
    const connections = CONNECTIONS / servers.length;
    return { server, order: { url: server.details.url, connections, ms: SAMPLE_MS, calls } };
  });
  const before = coreTimes();
  const samples = await Promise.all(targets.map(load));
  const after = coreTimes();
  const sum = (of: (sample: Loaded) => number): number =>
    samples.reduce((total, sample) => total + of(sample), 0);
  const answers = sum((sample) => sample.answers);
  return {
    ...(samples[0] as Loaded),
    answers,
    perSecond: sum(({ perSecond }) => perSecond),
    busy: Math.max(...samples.map(({ busy }) => busy)),
    p99: Math.max(...samples.map(({ p99 }) => p99)),
    cpuUs: sum((sample) => sample.cpuUs * sample.answers) / answers,
    coresBusy: (after.busy - before.busy) / (after.all - before.all),
  };
};

/** The goal of createLink, in microseconds of CPU of an API process. */
const LINK_US = 600;

type Variants = Record<'one' | 'two' | 'bare', Taken[]>;

const rowsOf = (what: string, { one, two, bare }: Variants): Row[] => {
  const share = (taken: readonly Taken[]): number => middleOf(taken, ({ coresBusy }) => coresBusy);
  return [
    rowOf(
      { id: 'D', what: `${what}, two API processes, vs one`, ...compared(two, one, 'perSecond') },
      { of: 'ratio', atLeast: 1.5 },
    ),
    rowOf({ id: 'D', what: '  API CPU a request', ...compared(two, one, 'cpuUs') }),
    rowOf(
      { id: 'D', what: '  of one process, vs a bare POST', ...compared(one, bare, 'cpuUs') },
      what.startsWith('createLink') ? { of: 'ratio', atMost: LINK_US / BARE_US } : undefined,
    ),
    rowOf({
      id: 'D',
      what: '  all cores busy with all processes',
      value: share(two),
      unit: 'share',
      control: share(one),
    }),
  ];
};

const measure = async (settings: Settings, note: Parameters<Bench>[0]['note']): Promise<Row[]> => {
  const args = () => ({ directory: temporaryDirectory(), settings });
  const projector = await start('projector', args());
  const first = await start<ReadDetails>('read', { ...args(), role: 'api' });
  const second = await start<{ url: string }>('api', args());
  const bare = await start<{ url: string }>('barePost');
  const load = await startLoad();
  const { url, key } = first.details;
  const authorization = `Bearer ${key}`;
  const path = READS['getPerformance, 30 days'];
  const { headers } = await fetch(url + path, { headers: { authorization } });
  const token = headers.get('consistency-token') ?? '';
  const kinds: Record<string, Call[]> = {
    // The token makes every request ask Redis.
    'getPerformance, rows in Redis': [
      { path, headers: { authorization, 'consistency-token': token } },
    ],
    'createLink on EventStoreDB': callsFor(key),
  };
  const bareCalls = callsFor(key).map((call) => ({ ...call, path: '/bare' }));
  const warmUp = (server: Server, calls: Call[]) =>
    load.warmUp({ server, order: { url: server.details.url, connections: 32, ms: 0, calls } });
  await warmUp(bare, bareCalls);
  const rows: Row[] = [];
  for (const [what, calls] of Object.entries(kinds)) {
    for (const server of [first, second]) await warmUp(server, calls);
    const taken = await interleaved({
      one: () => loadOn(load, [first], calls),
      two: () => loadOn(load, [first, second], calls),
      bare: () => loadOn(load, [bare], bareCalls),
    });
    note('D', taken);
    rows.push(...rowsOf(what, taken));
  }
  await Promise.all([load, bare, first, second, projector].map((child) => child.stop()));
  return rows;
};

export const benchProcesses: Bench = ({ note }) =>
  withServers((settings) => measure(settings, note));
