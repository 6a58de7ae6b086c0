/** The service as commands see it: its data directory, its server, and checks of both. */
import {
  existsSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  accessSync,
  constants,
  statfsSync,
  statSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { pino } from 'pino';
import { z } from 'zod';
import { UNBOUND_ROLES } from '#contracts/scopes.ts';
import { type Config, isRemoteLog, hasRemoteReadModels, redactUrl } from '#src/config.ts';
import type { CoreOptions } from '#src/core.ts';
import type { DemoClock } from '#src/demo/cast.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { beginDemo } from '#src/demo/story.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { parkedOf, skippedOf } from '#src/reading/lag.ts';
import { inspectKeys, sqliteKeyring } from '#src/stores/sqlite/keys/key-vault.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { inspectLog, sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { fileAt } from '#src/stores/sqlite/log/log-mark.ts';
import {
  isThere,
  makeDirectory,
  filesOpenToOthers,
  isOpenToOthers,
  requireOwnDirectory,
} from '#src/system/directory.ts';
import { hostsOf } from '#src/system/hosts.ts';
import { openKeyringText } from '#src/system/keyring.ts';
import { hasRoot, requireRoot } from '#src/system/secrets.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { NEWEST_EVENTS, subjectsWithoutKey } from '#src/wiring/vault.ts';
import { commandLine, LOGIN } from './options.ts';
import { formatCount, formatPlural, style, VERSION, CommandError, EXIT } from './terminal.ts';

/** A link that signs in as a person of the demo. */
export type SignInLink = { name: string; roles: readonly string[]; url: string };

/** `links`: only of the start that printed them. */
type DemoAccess = { facts: DemoFacts; deskToken: string; links?: readonly SignInLink[] };

type BannerFacts = {
  url: string;
  config: Pick<Config, 'dataDirectory'>;
  /** Hosts of the log's server; undefined if the log is a file of the data directory. */
  logHosts?: string | undefined;
  /** Seconds from the start of the process; absent if it started long ago. */
  readyS?: number;
  /** End of the log: the number of its events, or bytes if it is on a server. */
  head: number;
  readModels: { name: string; lagEvents: number; parked: readonly unknown[]; skipped: number }[];
  /** Without it, no secret is printed. */
  demo?: DemoAccess;
};

export const incompleteDemoText = (directory: string): string =>
  'The demo was interrupted while it was written, or demo.json is missing, so its data may be incomplete. ' +
  `Stop the service, run ${commandLine('demo-reset', directory)}, and start it again.`;

/** Members of the JSON report of serve and status. */
export const accessReport = (
  url: string,
  facts: DemoFacts | undefined,
  deskToken: string | null,
) => ({
  owner: facts?.owner ?? null,
  agent: facts?.agent_id ?? null,
  api_key: facts?.api_key ?? null,
  desk_token: deskToken,
  ...(facts?.review_path && { review_url: url + facts.review_path }),
});

const shortPath = (directory: string): string => {
  const path = relative(process.cwd(), directory) || '.';
  return path.startsWith('..') ? directory : `./${path}`.replace('./.', '.');
};

const row = (label: string, text: string): string => `  ${label.padEnd(12)} ${text}`;

const titleText = ({ readyS }: BannerFacts): string => {
  const ready = readyS === undefined ? 'running' : `ready in ${readyS.toFixed(1)} s`;
  return style('bold', `tributary ${VERSION}`) + ` · node ${process.versions.node} · ${ready}`;
};

const logText = ({ config: { dataDirectory }, logHosts, head }: BannerFacts): string =>
  logHosts === undefined
    ? `sqlite  ${shortPath(dataDirectory)}/log.db  ${formatPlural(head, 'event')}`
    : `EventStoreDB  ${logHosts}  position ${formatCount(head)}`;

/** The file of log lines that a demo writes in place of stderr, where they would hide the banner. */
export const logLinesOf = ({ dataDirectory }: Pick<Config, 'dataDirectory'>): string =>
  join(dataDirectory, 'service.log');

const storeRows = (banner: BannerFacts): string[] => {
  const { readModels, demo } = banner;
  const caughtUp = readModels.filter(({ lagEvents }) => lagEvents === 0).length;
  const parked = parkedOf(readModels).join(', ');
  const seeText = commandLine('projections status', banner.config.dataDirectory);
  const parkedText = parked && `, parked: ${parked} (see ${seeText})`;
  const skipped = skippedOf(readModels);
  const skippedText = skipped && `, folded without skipped events: ${skipped}`;
  const demoText = demo ? ' (with demo data; DATA=dir starts elsewhere)' : '';
  const counts = `${formatCount(caughtUp)} of ${formatCount(readModels.length)} caught up`;
  return [
    row('Log', logText(banner) + demoText),
    row('Read models', counts + parkedText + skippedText),
    ...(demo ? [row('Log lines', shortPath(logLinesOf(banner.config)))] : []),
  ];
};

const pageRows = ({ url, demo, config }: BannerFacts): string[] => [
  row('Start page', `${url}/`),
  row('For agents', `${url}/llms.txt`),
  row('Docs', `${url}/docs`),
  row('OpenAPI', `${url}/api/affiliate/openapi.json`),
  row('Agent Card', `${url}/.well-known/agent-card.json`),
  row('Problems', `${url}/problems`),
  ...(demo ? [row('Buyer page', buyerPage(url, demo.facts, config.dataDirectory))] : []),
];

const buyerPage = (url: string, { review_path: path }: DemoFacts, directory: string): string =>
  path ? url + path : style('yellow', `none. ${incompleteDemoText(directory)}`);

/** One line for each person, because each works once. */
const linkRows = (links: readonly SignInLink[]): string[] => [
  ...links.map(({ name, roles: [role = ''], url }) =>
    row(`As ${role}`, `${url}  ${style('dim', name)}`),
  ),
  row('', style('dim', 'open a link to sign in as that person: it works once, and until tomorrow')),
];

const credentialRows = ({ facts, deskToken }: DemoAccess): string[] => [
  row('Demo key', `SERVICE_API_KEY=${facts.api_key}`),
  row('', style('dim', `agent of ${facts.owner} with all nine scopes; outreach needs an approval`)),
  row('Desk token', deskToken),
  row(
    '',
    style('dim', `has the roles ${UNBOUND_ROLES.join(', ')}; ./tributary reads it by itself`),
  ),
];

const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });

/** Commands that work as they are pasted. */
const exampleRows = ({ url, config }: BannerFacts, { facts }: DemoAccess): string[] => {
  const api = `${url}/api/affiliate/v1`;
  const key = `-H "Authorization: Bearer ${facts.api_key}"`;
  const link = JSON.stringify({ target: { kind: 'product', ref: facts.sku }, campaign: 'hello' });
  return [
    row('Try', `curl -s ${api}/connection ${key}`),
    row('Search', `curl -s "${api}/products?q=mug&facets=category" ${key}`),
    row('Link', `curl -s ${api}/links ${key} -H "Content-Type: application/json" \\`),
    row('', `  -H "Idempotency-Key: hello-1" -d '${link}'`),
    row('Performance', `curl -s "${api}/performance?granularity=week" ${key}`),
    row('MCP', `curl -s ${url}/api/affiliate/mcp ${key} -H "Content-Type: application/json" \\`),
    row('', `  -d '${INITIALIZE}'`),
    row('Approvals', commandLine('approvals list', config.dataDirectory)),
  ];
};

/** Formats what a person sees when the service is ready, and again with `tributary status`. */
export const formatBanner = (banner: BannerFacts): string => {
  const { demo, config } = banner;
  const access = demo
    ? [
        ...(demo.links?.length ? [linkRows(demo.links)] : []),
        credentialRows(demo),
        exampleRows(banner, demo),
        [row('', style('yellow', 'Demo mode, plain HTTP, this machine only.')).trimEnd()],
      ]
    : [[row('Desk token', `${shortPath(config.dataDirectory)}/desk.token (only you can read it)`)]];
  const blocks = [[titleText(banner)], storeRows(banner), pageRows(banner), ...access];
  return `${blocks.map((block) => block.join('\n')).join('\n\n')}\n`;
};

const LIVEZ_MS_MAX = 2_000;

/** The file in a data directory by which commands find the server that runs on it. */
const shape = z.object({
  url: z.string(),
  pid: z.int(),
  /** Random name of the process; its /livez answers it. */
  instance: z.string(),
  /** Role of a process that has no desk. */
  role: z.literal('dispatcher').optional(),
  /**
   * Hosts of the log's server. The directory does not say which log the process uses: it keeps the file of a log that was moved
   * to a server.
   */
  log_hosts: z.string().optional(),
  /** Where the file was written: a copy of the directory has the file, but no server. */
  directory: z.string(),
  inode: z.string(),
});
export type RunningServer = Pick<
  z.infer<typeof shape>,
  'url' | 'pid' | 'instance' | 'role' | 'log_hosts'
>;

const live = z.object({ instance: z.string() });

const fileIn = (directory: string): string => join(directory, 'server.json');

const locationOf = (directory: string) => ({
  directory: realpathSync(directory),
  inode: fileAt(directory) ?? '',
});

/** Returns undefined if the file does not exist or is not valid. */
const readServerFile = (directory: string) => {
  try {
    return shape.safeParse(JSON.parse(readFileSync(fileIn(directory), 'utf8'))).data;
  } catch {
    return undefined;
  }
};

/** Undefined if the log is a file of the data directory. */
export const logHostsOf = (config: Pick<Config, 'eventLogUrl'>): string | undefined =>
  isRemoteLog(config) ? hostsOf(config.eventLogUrl) : undefined;

export const writeServerFile = (directory: string, server: RunningServer): void => {
  const text = JSON.stringify({ ...server, ...locationOf(directory) });
  writeFileSync(fileIn(directory), `${text}\n`, { mode: 0o600 });
};

/** Removes the file of this process, and leaves that of a server that started after it. */
export const removeServerFile = (directory: string): void => {
  if (readServerFile(directory)?.pid === process.pid) rmSync(fileIn(directory));
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
};

/** Whether the instance answers at the URL. The request carries nothing secret. */
const isAnswering = async ({ url, instance }: RunningServer): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(LIVEZ_MS_MAX) });
    return live.safeParse(await answer.json()).data?.instance === instance;
  } catch {
    return false;
  }
};

/**
 * Finds the process that runs on this directory. A file that was copied with another directory, or that a
 * crash left, names none: its process number and its port may belong to other programs by now.
 */
export const findProcess = async (directory: string): Promise<RunningServer | undefined> => {
  const server = readServerFile(directory);
  if (!server || !isAlive(server.pid)) return undefined;
  const location = locationOf(directory);
  if (server.directory !== location.directory || server.inode !== location.inode) return undefined;
  return (await isAnswering(server)) ? server : undefined;
};

/** Finds the server that accepts commands: a dispatcher has no desk. */
export const findServer = async (directory: string): Promise<RunningServer | undefined> => {
  const server = await findProcess(directory);
  return server?.role === undefined ? server : undefined;
};

/** Whether there is a log; a log on a server always exists. Throws the error of the file system if it cannot be determined. */
export const hasLog = (config: Config): boolean =>
  isRemoteLog(config) || isThere(join(config.dataDirectory, 'log.db'));

/** Whether a service is or was here, so that commands without flags act on it. */
export const hasService = (config: Config): boolean =>
  hasLog(config) || isThere(fileIn(config.dataDirectory));

export const noDataError = ({ dataDirectory }: Config): CommandError =>
  new CommandError(
    EXIT.cannotStart,
    `${dataDirectory} holds no Tributary data. Name the directory of a service with --data DIR or DATA_DIR, sign in at ` +
      `one elsewhere with ${LOGIN}, or start one here: ${commandLine('serve', dataDirectory)} (with --demo for a demo)`,
  );

/** Prepares the demo before anything is appended. It throws StartupError if the log is not the demo's. */
export const demoStart =
  (config: Config, clock: DemoClock): NonNullable<CoreOptions['onLog']> =>
  (last, id) => {
    makeDirectory(config.dataDirectory);
    beginDemo(config.dataDirectory, { ...last, id, isRemote: isRemoteLog(config) });
    clock.begin(last);
  };

type Result = { state: 'ok' | 'warning' | 'fault'; detail: string };

export type Check = { name: string } & Result;

export const ok = (detail: string): Result => ({ state: 'ok', detail });
const warning = (detail: string): Result => ({ state: 'warning', detail });
export const fault = (detail: string): Result => ({ state: 'fault', detail });

/** Runs a check; what it throws is a fault. */
export const runCheck = async (
  name: string,
  run: () => Result | Promise<Result>,
): Promise<Check> => {
  try {
    return { name, ...(await run()) };
  } catch (error) {
    return { name, ...fault((error as Error).message) };
  }
};

export const unreadableText = (subjects: number): string =>
  `The personal data of ${formatPlural(subjects, 'subject')} cannot be read, because keys.db has no key ` +
  'for it: restore a keys.db that is as new as the log.';

const GIB = 1_073_741_824;
const MIB = 1_048_576;
const FREE_BYTES_FAULT = GIB / 10;

const checkAccess = (directory: string) =>
  runCheck('data directory', () => {
    if (!isThere(directory))
      return warning(`${directory} does not exist; serve creates it, and a projector needs none`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    requireOwnDirectory(directory);
    return ok(`${directory}, writable`);
  });

const checkFreeDisk = (directory: string) =>
  runCheck('free disk', () => {
    if (!existsSync(directory)) return ok('not known, because the directory does not exist');
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const text = `${(free / GIB).toFixed(1)} GiB`;
    if (free < FREE_BYTES_FAULT) return fault(`${text}: writes will soon be refused`);
    return free < GIB ? warning(text) : ok(text);
  });

const checkPermissions = (directory: string) =>
  runCheck('permissions', () => {
    // The modes of files do not matter in a directory that is closed to others.
    if (!existsSync(directory) || !isOpenToOthers(directory))
      return ok('no other user can read the data directory');
    const files = filesOpenToOthers(directory);
    return warning(
      `other users can ${files.length === 0 ? `list ${directory}` : `read ${files.join(', ')}`}: ` +
        `chmod 700 ${directory}`,
    );
  });

const checkServer = (directory: string, server: RunningServer | undefined) =>
  runCheck('server', () => {
    if (server) return ok(`${server.role ?? 'server'} runs: ${server.url}, process ${server.pid}`);
    if (!isThere(join(directory, 'lock'))) return ok('none has run here');
    try {
      lockDirectory(directory, 0).release();
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return warning('none answers, but a process holds the directory: it is starting or stopping');
    }
    const hasCrashed = existsSync(join(directory, 'server.json'));
    return ok(hasCrashed ? 'none runs; the last one did not stop in order' : 'none runs');
  });

const checkLogFile = (directory: string) =>
  runCheck('log', () => {
    const last = inspectLog(directory);
    if (last === null) return ok('none yet');
    const size = `${(statSync(join(directory, 'log.db')).size / MIB).toFixed(1)} MiB`;
    return ok(
      `${formatCount(last)} events, ${size}; no accidental damage found in the newest. ` +
        `${commandLine('log verify', directory)} checks all`,
    );
  });

const checkRoot = (directory: string, given: Buffer | undefined) =>
  runCheck('root key', async () => {
    const root = requireRoot(directory, given) ?? given;
    const file = join(directory, 'keys.db');
    const text = existsSync(file) ? await sqliteKeyring(file, true).readKeyring() : undefined;
    if (root && text !== undefined) openKeyringText(text, root);
    return ok(hasRoot(directory) ? 'in the data directory' : given ? 'ROOT_KEY' : 'none yet');
  });

/** Looks for the keys of the newest events, which a vault that is older than its log does not have. */
const checkKeys = (directory: string) =>
  runCheck('keys', async () => {
    const end = inspectLog(directory, 0);
    if (end === null) return ok('none yet');
    const file = join(directory, 'keys.db');
    if (!existsSync(file))
      return fault('keys.db is gone: restore it, otherwise no personal data can be read');
    inspectKeys(file);
    const source = sqliteLogSource(directory);
    const unreadable = await subjectsWithoutKey(file, source, end - NEWEST_EVENTS);
    await source.close();
    if (unreadable > 0) return warning(unreadableText(unreadable));
    const events = formatCount(Math.min(end, NEWEST_EVENTS));
    return ok(`complete for the newest ${events} events`);
  });

/** Checks the data directory, and what it holds if the log is embedded. */
export const checkDirectory = (
  config: Config,
  server: RunningServer | undefined,
): Promise<Check[]> => {
  const { dataDirectory: directory, rootKey } = config;
  return Promise.all([
    checkAccess(directory),
    checkFreeDisk(directory),
    checkPermissions(directory),
    checkServer(directory, server),
    ...(isRemoteLog(config)
      ? []
      : [checkLogFile(directory), checkRoot(directory, rootKey), checkKeys(directory)]),
  ]);
};

const READYZ_MS_MAX = 5_000;
/** Log id under which no rows are stored. */
const NO_LOG = 'check';

const names = z.array(z.string()).nullable();
const health = z.object({
  status: z.string(),
  parked: names,
  waiting: names,
  unreadable: z.array(z.string()).default([]),
  reason: z.string().optional(),
  detail: z.string().optional(),
});
type Health = z.infer<typeof health>;

const checkLog = (config: Config): Promise<Check> =>
  runCheck('log', async () => {
    const logger = pino({ level: 'silent' });
    const { log, close } = await openEventLog(config, { logger, directory: 'inspect' });
    try {
      const { position } = await log.head();
      const url = redactUrl(config.eventLogUrl);
      return ok(`${url} answers; log ${log.id.slice(0, 8)}, at ${position}`);
    } finally {
      await close();
    }
  });

const checkReadModels = ({ readModelUrl: url }: Config): Promise<Check> =>
  runCheck('read models', async () => {
    const { redisStore } = await import('#src/stores/redis/read-model.ts');
    await (await redisStore({ url, log: NO_LOG })).close();
    return ok(`${redactUrl(url.href)} answers, and stores rows`);
  });

/** Checks each store that is a server, in up to five seconds. */
export const checkStores = (config: Config): Promise<Check[]> =>
  Promise.all([
    ...(isRemoteLog(config) ? [checkLog(config)] : []),
    ...(hasRemoteReadModels(config) ? [checkReadModels(config)] : []),
  ]);

/** Asks a running server, for up to five seconds, whether its read models follow the log. */
export const checkReads = async ({ url }: RunningServer, directory: string): Promise<Check> => {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READYZ_MS_MAX) });
    return { name: 'reads', ...readsResult(health.parse(await answer.json()), directory) };
  } catch (error) {
    return { name: 'reads', ...warning(`/readyz gives no answer: ${(error as Error).message}`) };
  }
};

const readsResult = (
  { status, parked, waiting, unreadable, reason, detail }: Health,
  directory: string,
) => {
  if (reason !== undefined) return fault(detail ?? reason);
  if (unreadable.length > 0)
    return warning(
      `${unreadable.join(', ')} cannot be read: they are being filled, or the disk fails (see the log)`,
    );
  if (parked?.length)
    return warning(
      `${parked.join(', ')} parked: see ${commandLine('projections status', directory)}`,
    );
  if (waiting?.length)
    return warning(`${waiting.join(', ')} behind: does a projector run, and does Redis answer it?`);
  if (status !== 'ready')
    return warning('the server is not ready: its log does not answer, or it is still catching up');
  return ok('every read model follows the log');
};
