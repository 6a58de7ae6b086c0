import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { lockDirectory } from '#src/adapters/sqlite/lock.ts';
import { inspectLog } from '#src/adapters/sqlite/log/log-open.ts';
import { sqliteLogSource } from '#src/adapters/sqlite/log/log-source.ts';
import { requireSqlite } from '#src/adapters/sqlite/open.ts';
import {
  filesOpenToOthers,
  isOpenToOthers,
  isThere,
  requireOwnDirectory,
} from '#src/adapters/system/directory.ts';
import { type Config, isRemoteLog, redactUrl } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { type Common, configOf, leaf } from '../command.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { count, note, say, styled, table } from '../terminal/output.ts';
import { readsCheck } from '../service/reads-check.ts';
import { serverChecks } from '../service/server-checks.ts';
import { findProcess, type RunningServer } from '../service/server-file.ts';
import { unreadableSubjects, unreadableText } from '../service/unreadable.ts';

type Check = { name: string; state: 'ok' | 'warning' | 'fault'; detail: string };

const NODE_MIN = [24, 12] as const;
const GIB = 1_073_741_824;
const DISK_FAULT_BYTES = GIB / 10;
const KEYS_EVENTS = 1_000;

/** A check that throws is a fault with what was thrown. */
const check = (name: string, look: () => Omit<Check, 'name'>): Check => {
  try {
    return { name, ...look() };
  } catch (error) {
    return { name, state: 'fault', detail: (error as Error).message };
  }
};

const ok = (detail: string) => ({ state: 'ok' as const, detail });
const warning = (detail: string) => ({ state: 'warning' as const, detail });
const fault = (detail: string) => ({ state: 'fault' as const, detail });

const versions = (): Check[] => {
  const { node, sqlite = '0' } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const fits = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
  return [
    check('node', () =>
      fits ? ok(node) : fault(`${node}; ${NODE_MIN.join('.')} or newer is needed`),
    ),
    check('sqlite', () => {
      requireSqlite(sqlite);
      return ok(sqlite);
    }),
  ];
};

const settings = (config: Config): Check =>
  check('settings', () => {
    const { host, port, eventLogUrl, readModelUrl, publicUrl } = config;
    const stores = `log ${redactUrl(eventLogUrl)}, read models ${redactUrl(readModelUrl.href)}`;
    const open = `${host}:${port}${publicUrl === undefined ? '' : ` as ${publicUrl}`}`;
    return ok(
      `${open}, ${stores}, NODE_ENV ${config.production ? 'production' : 'not production'}`,
    );
  });

const disk = (directory: string): Check[] => [
  check('data directory', () => {
    if (!isThere(directory))
      return warning(`${directory} does not exist; serve makes it, and a projector needs none`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    requireOwnDirectory(directory);
    return ok(`${directory}, writable`);
  }),
  check('free disk', () => {
    if (!existsSync(directory)) return ok('not known yet');
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const text = `${(free / GIB).toFixed(1)} GiB`;
    if (free < DISK_FAULT_BYTES) return fault(`${text}: writes will be refused soon`);
    return free < GIB ? warning(text) : ok(text);
  }),
];

const permissions = (directory: string): Check =>
  check('permissions', () => {
    // In a directory that is closed to others, the modes of its files do not matter.
    if (!existsSync(directory) || !isOpenToOthers(directory))
      return ok('nobody else can look into the data directory');
    const open = filesOpenToOthers(directory);
    return warning(
      `others can ${open.length === 0 ? `look into ${directory}` : `get at ${open.join(', ')}`}: ` +
        `chmod 700 ${directory}`,
    );
  });

const lock = (directory: string, server: RunningServer | undefined): Check =>
  check('server', () => {
    if (server) return ok(`${server.role ?? 'server'} runs: ${server.url}, process ${server.pid}`);
    if (!isThere(join(directory, 'lock'))) return ok('none has run here');
    try {
      lockDirectory(directory, 0).release();
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return warning('none answers, but a process holds the directory: it is starting or stopping');
    }
    const stale = existsSync(join(directory, 'server.json'));
    return ok(stale ? 'none runs; the last one ended without a word' : 'none runs');
  });

const log = (directory: string): Check =>
  check('log', () => {
    const last = inspectLog(directory);
    if (last === null) return ok('none yet');
    const size = `${(statSync(join(directory, 'log.db')).size / 1_048_576).toFixed(1)} MiB`;
    return ok(`${count(last)} events, ${size}, the newest looked at; all: tributary log verify`);
  });

/** The newest are the ones that a vault older than its log has no key of. */
const unreadableOfNewest = async (directory: string, end: number): Promise<number | null> => {
  const source = sqliteLogSource(directory);
  try {
    return await unreadableSubjects(directory, source, end - KEYS_EVENTS);
  } finally {
    await source.close();
  }
};

const keys = async (directory: string): Promise<Check> => {
  const name = 'keys';
  try {
    const end = inspectLog(directory, 0);
    if (end === null) return { name, ...ok('none yet') };
    const unreadable = await unreadableOfNewest(directory, end);
    if (unreadable === null)
      return { name, ...fault('keys.db is gone: restore it, or no personal data can be read') };
    if (unreadable > 0) return { name, ...warning(unreadableText(unreadable)) };
    const looked = count(Math.min(end, KEYS_EVENTS));
    return { name, ...ok(`of all personal data in the newest ${looked} events`) };
  } catch (error) {
    return { name, ...fault((error as Error).message) };
  }
};

const SIGNS = { ok: ['green', '✓'], warning: ['yellow', '!'], fault: ['red', '✗'] } as const;

const doctor = async (options: Common): Promise<void> => {
  const config = configOf(options);
  const { dataDirectory: directory } = config;
  const server = await findProcess(directory);
  const checks = [
    ...versions(),
    settings(config),
    ...disk(directory),
    permissions(directory),
    lock(directory, server),
    ...(isRemoteLog(config) ? [] : [log(directory), await keys(directory)]),
    ...(await serverChecks(config)),
    ...(await readsCheck(server)),
  ];
  const rows = checks.map(({ name, state, detail }) => {
    const [style, sign] = SIGNS[state];
    return [styled(style, sign), name, detail];
  });
  (options.json ? note : say)(table(rows));
  const faults = checks.filter(({ state }) => state === 'fault').map(({ name }) => name);
  const report = { healthy: faults.length === 0, checks };
  if (faults.length > 0) throw new Failure(EXIT.differs, `not well: ${faults.join(', ')}`, report);
  if (options.json) say(JSON.stringify(report));
};

export const doctorCommand = (program: Command): void => {
  leaf(program, 'doctor', 'check versions, settings, disk, permissions, lock and log').action(
    doctor,
  );
};
