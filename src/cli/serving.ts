/** The service as a process: ready, announced, stopped in order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '#contracts/limits.ts';
import { StartupError } from '#src/adapters/sqlite/open.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import type { Config } from '#src/config.ts';
import { demoClock } from '#src/demo/clock.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { ensureDemo } from '#src/demo/story.ts';
import type { Service } from '#src/main.ts';
import { openService } from '#src/main.ts';
import { banner } from './banner.ts';
import type { Common } from './command.ts';
import { configOf } from './command.ts';
import { EXIT } from './exit.ts';
import { note, say } from './output.ts';
import { removeServerFile, writeServerFile } from './server-file.ts';

export type ServeOptions = Common & {
  port?: number;
  host?: string;
  demo?: boolean;
  role?: 'all' | 'api';
};

const STOP_MS_MAX = 10_000;
/** As long as a handler may take: who is not done by then is sending slowly, or nothing at all. */
const DRAIN_MS = LIMITS.HANDLER_WAIT_MS;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

const requireLocal = ({ production, host }: Config): void => {
  if (production) throw new StartupError('--demo prints keys: not with NODE_ENV=production.');
  if (LOOPBACK.test(host)) return;
  throw new StartupError(
    `--demo prints keys and speaks plain HTTP: only on a loopback address, not on ${host}.`,
  );
};

const listen = async (service: Service): Promise<string> => {
  const { host, port } = service.config;
  try {
    return await service.listen();
  } catch (error) {
    await service.close();
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
    return;
  }
  const readModels = await deps.projections.status();
  const text = banner({
    url,
    directory,
    readyS: process.uptime(),
    events: (await deps.log.head()).position,
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

const stop = async (service: Service, options: ServeOptions): Promise<void> => {
  const late = setTimeout(() => {
    note(`did not stop within ${STOP_MS_MAX / 1_000} s; what was acknowledged is durable`);
    process.exit(EXIT.refused);
  }, STOP_MS_MAX);
  const drained = setTimeout(() => service.server.server.closeAllConnections(), DRAIN_MS);
  removeServerFile(service.config.dataDirectory);
  await service.close();
  clearTimeout(drained);
  clearTimeout(late);
  const { position } = service.deps.following.asOf();
  if (options.json) say(JSON.stringify({ stopped: true, position }));
  else say(`stopped cleanly at position ${position}`);
};

export const serve = async (options: ServeOptions): Promise<void> => {
  const settings = configOf(options);
  const { port = settings.port, host = settings.host } = options;
  const config = { ...settings, port, host };
  if (options.demo) requireLocal(config);
  const clock = demoClock(systemClock());
  if (options.demo) clock.begin(config.dataDirectory);
  const onFatal = (error: Error): void => {
    note(`the log cannot go on: ${error.message}`);
    removeServerFile(config.dataDirectory);
    process.exit(EXIT.refused);
  };
  const stopped = stopSignal();
  const service = await openService(config, { clock, onFatal });
  // Links and review pages carry the origin, which is known only once the port is.
  const url = await listen(service);
  const facts = options.demo ? await ensureDemo(service, clock) : undefined;
  // After the story, in which time jumps.
  if (options.role !== 'api') service.dispatcher.start();
  writeServerFile(config.dataDirectory, { url, pid: process.pid });
  await announce(service, { url, facts, options });
  await stopped;
  await stop(service, options);
};
