/** Runs the service: starts it, announces it, and stops it in order. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { LIMITS } from '#contracts/limits.ts';
import { isLoopback } from '#src/system/hosts.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { rootKeyOf } from '#src/system/secrets.ts';
import type { ReadModelFollower } from '#src/ports/read-model.ts';
import { type Config, isRemoteLog, requireRole, type ProcessRole } from '#src/config.ts';
import { DEMO_HOUSE, demoClock, PEOPLE } from '#src/demo/cast.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { type Service, serviceLogger, type StartingService, startService } from '#src/main.ts';
import { printSignIn } from '#src/people/sign-in.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { storedToken, tokenIn } from '#src/cli/transport.ts';
import { type CommonOptions, configFor } from '../options.ts';
import {
  accessReport,
  formatBanner,
  type SignInLink,
  logHostsOf,
  incompleteDemoText,
  logLinesOf,
  demoStart,
  removeServerFile,
  writeServerFile,
} from '#src/cli/service.ts';
import { EXIT, print, printNotice } from '#src/cli/terminal.ts';

export type ServeOptions = CommonOptions & {
  port?: number;
  host?: string;
  demo?: boolean;
  role?: ProcessRole;
};

const INSTANCE_CHARS = 22;
const STOP_MS_MAX = 10_000;
/** As long as a handler may take; a connection that is open then sends slowly, or nothing at all. */
const DRAIN_MS = LIMITS.HANDLER_WAIT_MS;
const DEMO_WAIT_MS = 5_000;
/** For answers to the writes that a failed log refuses. */
const FAILED_MS = 500;
/** For read models to follow a log on a server before the banner shows their state. */
const BANNER_WAIT_MS = 1_000;
const FILLING_LOG_MS = 5_000;

const requireLocal = ({ production, host }: Config): void => {
  if (production)
    throw new StartupError('--demo prints keys, so it cannot run with NODE_ENV=production.');
  if (isLoopback(host)) return;
  throw new StartupError(
    `--demo prints keys and uses plain HTTP, so it listens on a loopback address only, not on ${host}.`,
  );
};

type Listener = { listen(): Promise<string>; close(): Promise<void> };

/** Starts to listen and returns the URL. Throws StartupError, with the process closed. */
const listen = async (process: Listener, { host, port }: Config): Promise<string> => {
  try {
    return await process.listen();
  } catch (error) {
    await process.close();
    const { code, message } = error as Error & { code?: string };
    const reason =
      {
        EADDRINUSE: `port ${port} on ${host} is taken by another program. Choose another one`,
        EACCES: `this user has no right to listen on port ${port} of ${host}. Choose one above 1023`,
        EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another --host, or port`,
      }[code ?? ''] ?? `cannot listen on ${host}:${port} (${message}). Choose another one`;
    throw new StartupError(`${reason}: --port N or PORT=N; 0 selects a free one.`, {
      cause: error,
    });
  }
};

/**
 * Resolves with the first signal. A second SIGINT ends the process at once; a second SIGTERM does not, because
 * supervisors repeat it, and a third does.
 */
const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    let signals = 0;
    const stop = (signal: NodeJS.Signals): void => {
      signals += 1;
      if (signals === 1) resolve();
      else if (signals === 2 && signal === 'SIGTERM')
        printNotice('still stopping; another signal ends the process at once');
      else process.exit(EXIT.refused);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });

type Stoppable = { server: FastifyInstance; close(): Promise<void>; position(): number };

/** Closes the service, stalled connections after DRAIN_MS; exits the process after STOP_MS_MAX. */
const stopService = async (service: Stoppable, options: ServeOptions): Promise<void> => {
  const deadline = setTimeout(() => {
    printNotice(
      `did not stop within ${STOP_MS_MAX / 1_000} s; every acknowledged write is durable`,
    );
    process.exit(EXIT.refused);
  }, STOP_MS_MAX);
  const drain = setTimeout(() => service.server.server.closeAllConnections(), DRAIN_MS);
  await service.close();
  clearTimeout(drain);
  clearTimeout(deadline);
  const position = service.position();
  if (options.json) print(JSON.stringify({ stopped: true, position }));
  else print(`stopped cleanly at position ${position}`);
};

/** Announces a process that serves neither people nor agents. */
const announceWorker = (role: ProcessRole, url: string, { json }: ServeOptions): void => {
  const { port } = new URL(url);
  if (json) print(JSON.stringify({ url, port: Number(port), pid: process.pid, role }));
  else print(`${role} runs; ${url}/readyz shows its state`);
};

type Announcement = {
  url: string;
  facts: DemoFacts | undefined;
  /** The desk token that was stored before this start. */
  earlierToken: string | undefined;
  options: ServeOptions;
};

const announce = async (
  { deps, config }: Service,
  { url, facts, earlierToken, options }: Announcement,
): Promise<void> => {
  const { dataDirectory: data } = config;
  const deskToken = tokenIn(data);
  if (options.json) {
    const { port } = new URL(url);
    const report = { url, port: Number(port), pid: process.pid, data };
    // Supervisors store stdout, and the token never expires: it is printed by the start that issued it.
    const newToken = deskToken === earlierToken ? null : deskToken;
    print(JSON.stringify({ ...report, ...accessReport(url, facts, newToken) }));
    if (facts && !facts.review_path) printNotice(incompleteDemoText(data));
    return;
  }
  const { position: head } = await deps.log.head();
  await deps.following.passed(head, BANNER_WAIT_MS);
  const readModels = await deps.projections.status();
  const demo = facts && { facts, deskToken, links: await linksOf(deps, url) };
  const readyS = process.uptime();
  const shown = { url, config, logHosts: logHostsOf(config), readyS, head, readModels };
  print(formatBanner({ ...shown, ...(demo && { demo }) }));
};

/** A link to sign in for each person of the demo, which works once and for a day. */
const linksOf = async (deps: Service['deps'], url: string): Promise<SignInLink[]> => {
  const links: SignInLink[] = [];
  for (const { name, mailbox, roles } of PEOPLE) {
    const path = await printSignIn(deps, mailbox);
    if (path) links.push({ name, roles, url: onLocalhost(url) + path });
  }
  return links;
};

/** Resolves once the service answers requests. Throws StartupError, with the process closed. */
const untilReady = async (service: StartingService, log: Logger): Promise<true> => {
  const slow = setTimeout(
    () => log.info('read models are filled before requests are served'),
    FILLING_LOG_MS,
  );
  try {
    await service.ready;
    return true;
  } catch (error) {
    await service.close();
    throw error;
  } finally {
    clearTimeout(slow);
  }
};

/** The demo reads its own writes, which appear in the read models of a server within DEMO_WAIT_MS. */
const withLongerWaits = (service: Service): Service => {
  const { following } = service.deps;
  const passed: ReadModelFollower['passed'] = (position, ms, scope) =>
    following.passed(position, Math.max(ms, DEMO_WAIT_MS), scope);
  return { ...service, deps: { ...service.deps, following: { ...following, passed } } };
};

const serveProjector = async (config: Config, options: ServeOptions): Promise<void> => {
  const stopped = stopSignal();
  const { openProjector } = await import('#src/wiring/projector.ts');
  const projector = await openProjector(config, serviceLogger(config.logLevel));
  announceWorker('projector', await listen(projector, config), options);
  await stopped;
  await stopService(projector, options);
};

type ServedRole = Exclude<ProcessRole, 'projector'>;

const serveRole = async (
  role: ServedRole,
  config: Config,
  options: ServeOptions,
): Promise<void> => {
  const { dataDirectory: directory } = config;
  const clock = demoClock(systemClock());
  const stopped = stopSignal();
  const log = serviceLogger(config.logLevel, options.demo ? logLinesOf(config) : undefined);
  const earlierToken = storedToken(directory);
  const instance = systemIds(clock.now).base62(INSTANCE_CHARS);
  const service = await startService(config, {
    role,
    clock,
    log,
    instance,
    onFatal(error) {
      printNotice(`the log cannot continue: ${error.message}`);
      removeServerFile(directory);
      setTimeout(() => process.exit(EXIT.refused), FAILED_MS);
    },
    ...(options.demo && { onLog: demoStart(config, clock) }),
  });
  // Links and review pages carry the origin, which is known only once the port is.
  const url = await listen(service, config);
  const isReady = await Promise.race([untilReady(service, log), stopped.then(() => false)]);
  if (isReady) {
    const isDispatcher = role === 'dispatcher';
    const facts =
      options.demo && !isDispatcher ? await ensureDemo(withLongerWaits(service), clock) : undefined;
    // After the demo, in which time jumps.
    if (role !== 'api') service.dispatcher.start();
    const log_hosts = logHostsOf(config);
    const server = { url, pid: process.pid, instance, ...(log_hosts && { log_hosts }) };
    writeServerFile(directory, { ...server, ...(isDispatcher && { role }) });
    if (isDispatcher) announceWorker(role, url, options);
    else await announce(service, { url, facts, earlierToken, options });
  }
  await stopped;
  removeServerFile(directory);
  const position = (): number => service.deps.following.asOf().position;
  await stopService({ ...service, position }, options);
};

export const serve = async (options: ServeOptions): Promise<void> => {
  const settings = configFor(options);
  const { port = settings.port, host = settings.host } = options;
  const house = options.demo && !settings.house && { house: DEMO_HOUSE, houseUnsaid: [] };
  const config = { ...settings, port, host, ...house };
  const role = options.role ?? 'all';
  requireRole(role, config);
  if (role === 'projector') return serveProjector(config, options);
  if (options.demo) {
    requireLocal(config);
    // A service on a remote log requires ROOT_KEY; a demo makes one and stores it.
    const { dataDirectory: directory, rootKey: root } = config;
    if (isRemoteLog(config)) rootKeyOf({ directory, root });
  }
  return serveRole(role, config, options);
};
