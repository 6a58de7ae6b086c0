/**
 * Runs every benchmark with its control, and prints one table:
 * `make bench [ONLY=W] [BENCH_JSON=FILE] [BENCH_PROFILE=DIRECTORY]`. The exit code is 1 if a
 * benchmark fails to run or an answer is an error, and 0 whatever the numbers are. With the argument `peers`, it measures
 * other software beside the service, and skips what this machine lacks.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { endStandIns } from '../support/eventstoredb/start.ts';
import { endRedis, hasRedis } from '../support/redis/redis-server.ts';
import { benchA2a } from './rows/a2a.ts';
import type { Bench, Context } from './bench.ts';
import { killAll, profileInto } from './children.ts';
import { benchEventStoreDb } from './rows/eventstoredb.ts';
import { benchNotary } from './rows/notary.ts';
import { benchFeed } from './rows/feed.ts';
import { benchLists } from './rows/lists.ts';
import { benchMcp } from './rows/mcp.ts';
import { million } from './rows/million.ts';
import { readOptions } from './options.ts';
import { benchAudit } from './rows/audit.ts';
import { benchAuditCheck } from './rows/audit-check.ts';
import {
  benchFewLinks,
  benchHotLink,
  benchLargeInRedis,
  benchLargePerformance,
  benchSmallInRedis,
  benchSmallPerformance,
} from './rows/performance.ts';
import { benchProcesses } from './processes.ts';
import { benchReads } from './rows/read.ts';
import { benchRedisRebuild } from './rows/redis-rebuild.ts';
import { benchRedis } from './rows/redis.ts';
import { benchOverload } from './rows/overload.ts';
import { benchReady } from './rows/ready.ts';
import { benchMemoryRebuild, benchSqliteRebuild } from './rows/rebuild.ts';
import { benchRedirects } from './rows/redirect.ts';
import { benchSearch } from './rows/search.ts';
import { missingPeers } from './peers/packages.ts';
import { endPostgres } from './peers/postgres.ts';
import { benchSums } from './peers/sums.ts';
import { benchPeerRebuilds } from './peers/rebuild.ts';
import { benchPeerWrites } from './peers/writes.ts';
import { type Row, tableText } from './table.ts';
import { removeTemporary } from './temporary.ts';
import { benchTokens } from './rows/tokens.ts';
import { benchRemoteVisibility } from './rows/visible-remote.ts';
import { benchVisibility } from './rows/visible.ts';
import { benchWriteCpu } from './rows/write-cpu.ts';
import { benchWrites } from './rows/write.ts';

const OURS: Record<string, Bench> = {
  W: benchWrites,
  'W-cpu': benchWriteCpu,
  R: benchReads,
  'R-100x30': benchFewLinks,
  'R-1000x30': benchSmallPerformance,
  'R-5000x90': benchLargePerformance,
  'R-1000x30-redis': benchSmallInRedis,
  'R-5000x90-redis': benchLargeInRedis,
  hot: benchHotLink,
  audit: benchAudit,
  'audit-check': benchAuditCheck,
  lists: benchLists,
  C: benchRedirects,
  O: benchOverload,
  'P-memory': benchMemoryRebuild,
  'P-sqlite': benchSqliteRebuild,
  L: benchVisibility,
  I: benchFeed,
  start: benchReady,
  Q: benchSearch,
  N: benchNotary,
  M: benchMcp,
  T: benchTokens,
  A: benchA2a,
  E: benchEventStoreDb,
  K: benchRedis,
  J: benchRedisRebuild,
  V: benchRemoteVisibility,
  D: benchProcesses,
};

/** What `make bench-peers` runs: other software beside the service. */
const PEERS: Record<string, Bench> = {
  'R-1000x30': benchSums({ links: 1_000, days: 30 }),
  'R-5000x90': benchSums({ links: 5_000, days: 90 }),
  W: benchPeerWrites,
  P: benchPeerRebuilds,
  M: benchMcp,
  A: benchA2a,
};

/** Takes minutes: only if ONLY names it. */
const ON_REQUEST = 'R-5000x90';

/** Benchmarks that need a redis-server; they are skipped without one. */
const NEEDS_REDIS = new Set(['R-1000x30-redis', 'R-5000x90-redis', 'K', 'J', 'V', 'D']);

/** Above this share the generator may limit the result. */
const BUSY_MAX = 0.95;

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const warn = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const commit = (): string => {
  try {
    const git = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { stdio: 'pipe' });
    return `commit ${git.toString().trim()}`;
  } catch {
    return 'no commit';
  }
};

/** Load of the machine before the run; near the number of cores, no result is reliable. */
const busyBefore = loadavg()[0] ?? 0;

const machine = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ` +
  `node ${process.version}, ${commit()}, load ${busyBefore.toFixed(1)} before`;

const context = (): Context => ({
  million: million(),
  note: (id, variants) => {
    for (const [name, samples] of Object.entries(variants)) {
      const busy = Math.max(...samples.map((sample) => sample.busy));
      if (busy > BUSY_MAX) warn(`${id}: the generator was busy ${busy.toFixed(2)} for ${name}`);
    }
  },
});

const options = readOptions();
const withPeers = process.argv[2] === 'peers';
const benches = withPeers ? PEERS : OURS;
/** `ONLY` is the beginning of an id, whatever the case. */
const chosen = Object.entries(benches).filter(([id]) =>
  options.only ? id.toUpperCase().startsWith(options.only) : !withPeers || id !== ON_REQUEST,
);
if (chosen.length === 0) {
  warn(`there is no benchmark ${options.only}: choose one of ${Object.keys(benches).join(' ')}`);
  process.exit(1);
}
profileInto(options.profiles);
const shared = context();
process.on('exit', removeTemporary);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    killAll();
    // Both kill their processes before they wait.
    void endRedis();
    void endPostgres();
    void endStandIns();
    process.exit(1);
  });
for (const missing of withPeers ? missingPeers() : []) warn(`skipped: ${missing}`);
const rows: Row[] = [];
const failed: string[] = [];
const startedAt = performance.now();
for (const [id, bench] of chosen) {
  if (NEEDS_REDIS.has(id) && !hasRedis) {
    warn(`${id} skipped: there is no redis-server`);
    continue;
  }
  const at = performance.now();
  try {
    rows.push(...(await bench(shared)));
    warn(`${id} took ${((performance.now() - at) / 1_000).toFixed(1)} s`);
  } catch (error) {
    failed.push(id);
    warn(`${id} failed: ${error instanceof Error ? String(error.stack) : String(error)}`);
    killAll();
  }
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(rows, undefined, 2)}\n`);
print(tableText(rows));
const seconds = Math.round((performance.now() - startedAt) / 1_000);
print(`${machine()}; ${seconds} s; ratio is value / control, both of this run; quote ratios.`);
const judged = rows.filter(({ met }) => met !== null);
const reached = judged.filter(({ met }) => met).length;
if (judged.length > 0)
  print(
    `${reached} of ${judged.length} goals are met; infra/BENCHMARKS.md says why others are missed.`,
  );
if (failed.length > 0) print(`failed: ${failed.join(' ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
