/** The service for benchmarks: the real wiring without rate limits. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { type Config, readConfig } from '#src/config.ts';
import type { AppDeps } from '#src/registries/app.ts';
import {
  type Service,
  serviceLogger,
  type ServiceOptions,
  type StartingService,
  startService,
} from '#src/main.ts';
import { openService } from '../support/world/open-service.ts';
import type { Position } from '#src/ports/event-log.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { listenAt } from '#src/wiring/listener.ts';
import { serverOver } from '../support/world/server-over.ts';

/** Generated logs have no root.key, and the service does not create one for an existing log. */
export const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');

/** `settings` are environment variables, for stores other than the embedded ones. */
export const benchConfig = (directory: string, settings: Record<string, string> = {}): Config =>
  readConfig({
    DATA_DIR: directory,
    PORT: '0',
    LOG_LEVEL: 'error',
    ROOT_KEY,
    ...UNLIMITED,
    READS_AT_ONCE: '10000',
    WRITES_AT_ONCE: '10000',
    ...settings,
  });

export const openBench = async (
  directory: string,
  options: ServiceOptions = {},
  settings: Record<string, string> = {},
): Promise<Service> => {
  createKeys(directory);
  return openService(benchConfig(directory, settings), options);
};

/** Opens a service that can listen before it is ready. */
export const startBench = (directory: string): Promise<StartingService> => {
  createKeys(directory);
  return startService(benchConfig(directory));
};

/** A generated log has no personal data, and no file for its keys. */
const createKeys = (directory: string): void =>
  closeSync(openSync(join(directory, 'keys.db'), 'a'));

/** Creates a control: a server with the same routes, but some dependencies replaced. */
export const serverWith = (service: Service, replaced: Partial<AppDeps>): FastifyInstance =>
  serverOver({ ...service.deps, ...replaced }, serviceLogger('error'));

export const listen = (server: FastifyInstance): Promise<string> =>
  listenAt(server, { host: '127.0.0.1', port: 0 });

const PASSED_MS_MAX = 5_000;

/** Resolves when the read models have passed the position. Throws if they advance no more. */
export const whenPassed = async (
  { following }: Service['deps'],
  position: Position,
): Promise<void> => {
  let reached: Position;
  do {
    reached = following.asOf().position;
    if (await following.passed(position, PASSED_MS_MAX)) return;
  } while (following.asOf().position > reached);
  throw new Error(`the read models are at ${reached}, before ${position}`);
};

let keys = 0;

/** Sends a request without a socket. Throws if it is refused. */
export const sender =
  ({ server }: Service, credential: string) =>
  async (method: 'GET' | 'POST', url: string, body?: object): Promise<Record<string, unknown>> => {
    keys += 1;
    const answer = await server.inject({
      method,
      url,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body && { 'idempotency-key': `bench-${keys}` }),
      },
      ...(body && { payload: body }),
    });
    if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.body}`);
    return answer.json() as Record<string, unknown>;
  };

export const AGENTS = '/api/affiliate/v1';
const DESK = '/api/desk/v1';

export const deskOf = (service: Service) => {
  const token = readFileSync(join(service.config.dataDirectory, 'desk.token'), 'utf8').trim();
  const send = sender(service, token);
  return {
    token,
    publish: (products: readonly object[]) => send('POST', `${DESK}/products/import`, { products }),
    /** Returns the API key of a new approved agent with every scope. */
    async agent(owner: string): Promise<string> {
      const args = { owner_id: owner, name: 'Bench', purpose: 'Benchmarks', scopes: SCOPE_NAMES };
      const { id } = await send('POST', `${DESK}/access-grants`, { ...args, reason: 'known' });
      const key = await send('POST', `${DESK}/agents/${String(id)}/keys`, { expires_in_days: 365 });
      return String(key['api_key']);
    },
  };
};
