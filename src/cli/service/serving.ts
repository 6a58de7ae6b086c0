/** The service as a process: ready, announced, stopped in order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { LIMITS } from '#contracts/limits.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { systemSecrets } from '#src/adapters/system/secrets.ts';
import type { ReadModelFollower } from '#src/app/read-models/follower.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { demoClock } from '#src/demo/clock.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { openService, type Service, serviceLogger } from '#src/main.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { requireRole, type ProcessRole } from '#src/wiring/process-roles.ts';
import { banner, UNTOLD } from './banner.ts';
import { type Common, configOf } from '../command.ts';
import { EXIT } from '../terminal/exit.ts';
import { note, say } from '../terminal/output.ts';
import { removeServerFile, writeServerFile } from './server-file.ts';

export type ServeOptions = Common & {
  port?: number;
  host?: string;
  demo?: boolean;
  role?: ProcessRole;
};

const INSTANCE_CHARS = 22;
const STOP_MS_MAX = 10_000;
/** As long as a handler may take: who is not done by then is sending slowly, or nothing at all. */
const DRAIN_MS = LIMITS.HANDLER_WAIT_MS;
/** Longer than any read model is behind that is followed at all. */
const STORY_WAIT_MS = 5_000;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

const requireLocal = ({ production, host }: Config): void => {
  if (production) throw new StartupError('--demo prints keys: not with NODE_ENV=production.');
  if (LOOPBACK.test(host)) return;
  throw new StartupError(
    `--demo prints keys and speaks plain HTTP: only on a loopback address, not on ${host}.`,
  );
};

type Listening = { listen(): Promise<string>; close(): Promise<void> };

const listen = async (process: Listening, { host, port }: Config): Promise<string> => {
  try {
    return await process.listen();
  } catch (error) {
    await process.close();
    const { code, message } = error as Error & { code?: string };
    const why =
      {
        EADDRINUSE: `port ${port} on ${host} is taken by another program. Choose another one`,
        EACCES: `port ${port} on ${host} needs rights that this user has not. Choose one above 1023`,
        EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another --host, or port`,
      }[code ?? ''] ?? `${host}:${port} cannot be listened on (${message}). Choose another one`;
    throw new StartupError(`${why}: --port N or PORT=N; 0 picks a free one.`, { cause: error });
  }
};

/** The demo's story has just been written; a log that is far away tells it a moment later. */
const SHOWN_WAIT_MS = 1_000;

/** What the ready line and the banner tell, from the service itself. */
const announce = async (
  service: Service,
  { url, facts, options }: { url: string; facts: DemoFacts | undefined; options: ServeOptions },
): Promise<void> => {
  const { deps, config } = service;
  const directory = config.dataDirectory;
  const deskToken = readFileSync(join(directory, 'desk.token'), 'utf8').trim();
  if (options.json) {
    const line = {
      url,
      port: Number(new URL(url).port),
      pid: process.pid,
      data: directory,
      owner: facts?.owner ?? null,
      agent: facts?.agent_id ?? null,
      api_key: facts?.api_key ?? null,
      desk_token: deskToken,
      ...(facts?.review_path && { review_url: url + facts.review_path }),
    };
    say(JSON.stringify(line));
    if (facts && !facts.review_path) note(UNTOLD);
    return;
  }
  const { position: head } = await deps.log.head();
  await deps.following.passed(head, SHOWN_WAIT_MS);
  const readModels = await deps.projections.status();
  const text = banner({
    url,
    config,
    readyS: process.uptime(),
    head,
    readModels,
    ...(facts && { demo: { facts, deskToken } }),
  });
  say(text);
};

/** Resolves with the first signal; a second one means at once. */
const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    const asked = (): void => {
      resolve();
      process.once('SIGINT', () => process.exit(EXIT.refused));
    };
    process.once('SIGINT', asked);
    process.once('SIGTERM', asked);
  });

type Stopping = {
  server: FastifyInstance;
  close(): Promise<void>;
  position(): number;
};

const stop = async (service: Stopping, options: ServeOptions): Promise<void> => {
  const late = setTimeout(() => {
    note(`did not stop within ${STOP_MS_MAX / 1_000} s; what was acknowledged is durable`);
    process.exit(EXIT.refused);
  }, STOP_MS_MAX);
  const drained = setTimeout(() => service.server.server.closeAllConnections(), DRAIN_MS);
  await service.close();
  clearTimeout(drained);
  clearTimeout(late);
  const position = service.position();
  if (options.json) say(JSON.stringify({ stopped: true, position }));
  else say(`stopped cleanly at position ${position}`);
};

export const serve = async (options: ServeOptions): Promise<void> => {
  const settings = configOf(options);
  const { port = settings.port, host = settings.host } = options;
  const config = { ...settings, port, host };
  const role = options.role ?? 'all';
  requireRole(role, config);
  if (role === 'projector') return serveProjector(config, options);
  if (options.demo) {
    requireLocal(config);
    // A demo works without a setting: where a service asks for ROOT_KEY, it makes one and keeps it.
    const { dataDirectory: directory, rootKey: root } = config;
    if (isRemoteLog(config)) systemSecrets({ directory, ...(root && { root }) });
  }
  const clock = demoClock(systemClock());
  const onFatal = (error: Error): void => {
    note(`the log cannot go on: ${error.message}`);
    removeServerFile(config.dataDirectory);
    process.exit(EXIT.refused);
  };
  const stopped = stopSignal();
  const onLog = options.demo ? clock.begin : undefined;
  const log = serviceLogger(config.logLevel);
  const instance = systemIds(clock.now).base62(INSTANCE_CHARS);
  const service = await openService(config, {
    role,
    clock,
    log,
    onFatal,
    instance,
    ...(onLog && { onLog }),
  });
  // Links and review pages carry the origin, which is known only once the port is.
  const url = await listen(service, config);
  const position = (): number => service.deps.following.asOf().position;
  if (role === 'dispatcher') {
    service.dispatcher.start();
    writeServerFile(config.dataDirectory, { url, pid: process.pid, instance, role });
    announcePlainly(role, url, options);
    await stopped;
    removeServerFile(config.dataDirectory);
    return stop({ ...service, position }, options);
  }
  const facts = options.demo
    ? await untold(log, () => ensureDemo(patient(service), clock))
    : undefined;
  // After the story, in which time jumps.
  if (role === 'all') service.dispatcher.start();
  writeServerFile(config.dataDirectory, { url, pid: process.pid, instance });
  await announce(service, { url, facts, options });
  await stopped;
  removeServerFile(config.dataDirectory);
  await stop({ ...service, position }, options);
};

/** A month that is made up in a second: its lines would push the banner off the screen. */
const untold = async <T>(log: Logger, tell: () => Promise<T>): Promise<T> => {
  const { level } = log;
  if (log.isLevelEnabled('info')) log.level = 'warn';
  try {
    return await tell();
  } finally {
    log.level = level;
  }
};

/** The story goes on from what it did: on a server far away that is seen a moment later. */
const patient = (service: Service): Service => {
  const { following } = service.deps;
  const passed: ReadModelFollower['passed'] = (position, ms, scope) =>
    following.passed(position, Math.max(ms, STORY_WAIT_MS), scope);
  return { ...service, deps: { ...service.deps, following: { ...following, passed } } };
};

/** Of a process that people and agents do not talk to. */
const announcePlainly = (role: ProcessRole, url: string, { json }: ServeOptions): void => {
  const { port } = new URL(url);
  if (json) say(JSON.stringify({ url, port: Number(port), pid: process.pid, role }));
  else say(`${role} runs; ${url}/readyz tells how it is`);
};

const serveProjector = async (config: Config, options: ServeOptions): Promise<void> => {
  const stopped = stopSignal();
  const { openProjector } = await import('#src/wiring/projector.ts');
  const projector = await openProjector(config, serviceLogger(config.logLevel));
  announcePlainly('projector', await listen(projector, config), options);
  await stopped;
  await stop(projector, options);
};
