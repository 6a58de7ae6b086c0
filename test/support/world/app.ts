import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { type Logger, pino } from 'pino';
import { LIMITS } from '#contracts/limits.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { readConfig } from '#src/config.ts';
import type { Service } from '#src/main.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import { UNLIMITED_APP } from '../unlimited.ts';
import { openService } from './open-service.ts';

/** A clock that tests set. */
export type TestClock = Clock & {
  set(at: number): void;
  advance(ms: number): void;
  /** Imitates a pause of the process for this long. */
  pause(ms: number): void;
};

export const testClock = (start = Date.parse('2026-11-20T10:00:00Z')): TestClock => {
  let at = start;
  let paused = 0;
  return {
    now: () => at,
    // Neither the speed of the machine nor a test that advances a month affects limits.
    monotonic: () => paused,
    set: (to) => {
      at = to;
    },
    advance: (ms) => {
      at += ms;
    },
    pause: (ms) => {
      paused += ms;
    },
  };
};

type Answer = { status: number; body: never; text: string; headers: Record<string, string> };

export type TestApp = {
  service: Service;
  clock: TestClock;
  directory: string;
  deskToken: string;
  /** Sends a request without a socket, with `key` in Authorization. */
  send(options: InjectOptions & { key?: string | undefined }): Promise<Answer>;
  desk(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer>;
  /** Creates an approved agent of `owner` with a key. */
  agent(
    owner: string,
    scopes?: readonly string[],
    environment?: 'live' | 'test',
  ): Promise<{ agentId: string; keyId: string; key: string }>;
  /** Publishes products as by an import. */
  publish(products: readonly object[]): Promise<void>;
  close(): Promise<void>;
};

/** A product in the form that importProducts accepts. */
export const feedProduct = (sku: string, over: object = {}, stock: object = {}) => ({
  product: {
    sku,
    title: `Product ${sku}`,
    description: `About ${sku}`,
    category: 'Gifts',
    currency: 'GBP',
    moq: 4,
    increment: 2,
    price_tiers: [
      { min_quantity: 4, unit_price: 250 },
      { min_quantity: 48, unit_price: 199 },
    ],
    ...over,
  },
  stock: { level: 'in_stock', available_quantity: 100, ...stock },
});

const isJson = (type: string): boolean => type.includes('json') && !type.includes('ndjson');

let keys = 0;
/** Returns an idempotency key that is unique in this run. */
export const freshKey = (): string => `test-${(keys += 1)}`;

/** Lets a write wait as long as a read with its token, so that a test reads what it wrote on any machine. */
const readOwnWrites = ({ deps: { following } }: Service): void => {
  const { passed } = following;
  const patient: typeof passed = (position, waitMs, scope) =>
    passed(position, Math.max(waitMs, LIMITS.CONSISTENCY_WAIT_MS_MAX), scope);
  Object.assign(following, { passed: patient });
};

/** Opens the service in a new temporary directory, without a socket. */
export const testApp = async (
  env: Record<string, string> = {},
  {
    start,
    log = pino({ level: 'silent' }),
    ...chance
  }: { ids?: Ids; start?: string; log?: Logger } = {},
): Promise<TestApp> => {
  const directory = mkdtempSync(join(tmpdir(), 'tributary-'));
  const clock = testClock(start === undefined ? undefined : Date.parse(start));
  const config = readConfig({
    DATA_DIR: directory,
    PORT: '0',
    PUBLIC_URL: 'https://t.example',
    ...UNLIMITED_APP,
    ...env,
  });
  const service = await openService(config, { ...chance, clock, log });
  readOwnWrites(service);
  const deskToken = readFileSync(join(directory, 'desk.token'), 'utf8').trim();

  const send: TestApp['send'] = async ({ key, ...options }) => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const response = await service.server.inject({
      ...options,
      headers: { ...authorization, ...options.headers },
    });
    const type = response.headers['content-type'] ?? '';
    return {
      status: response.statusCode,
      body: (isJson(type) && response.body !== '' ? response.json() : {}) as never,
      text: response.body,
      headers: response.headers as Record<string, string>,
    };
  };
  const desk: TestApp['desk'] = (method, path, body) =>
    send({
      method,
      url: `/api/desk/v1${path}`,
      key: deskToken,
      ...(body && { payload: body, headers: { 'idempotency-key': freshKey() } }),
    });
  const create = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await desk('POST', path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };

  return {
    service,
    clock,
    directory,
    deskToken,
    send,
    desk,
    async agent(owner, scopes = SCOPE_NAMES, environment = 'live') {
      const access = { owner_id: owner, name: 'Test agent', purpose: 'Tests', scopes };
      const { id = '' } = await create('/access-grants', { ...access, reason: 'Known' });
      const issued = await create(`/agents/${id}/keys`, { environment, expires_in_days: 365 });
      return { agentId: id, keyId: issued['id'] ?? '', key: issued['api_key'] ?? '' };
    },
    async publish(products) {
      const { rejected } = await create('/products/import', { products });
      if (rejected?.length) throw new Error(`rejected: ${JSON.stringify(rejected)}`);
    },
    async close() {
      await service.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
