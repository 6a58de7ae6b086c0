import Fastify from 'fastify';
import { codes } from '#projections/codes.ts';
import type { Projection } from '#projections/projection.ts';
import { reviewTokens } from '#projections/review-tokens.ts';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { sqliteCatalog } from '#src/adapters/sqlite/catalog.ts';
import { sqliteKeyVault } from '#src/adapters/sqlite/key-vault.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { systemSecrets } from '#src/adapters/system/secrets.ts';
import type { AgentCall } from '#src/app/call.ts';
import type { Deps } from '#src/app/deps.ts';
import type { InputOf } from '#src/app/handler.ts';
import { handlers } from '#src/app/handlers.ts';
import { recorder } from '#src/app/recorder.ts';
import { visitLog } from '#src/app/visits.ts';
import { portalRoutes } from '#src/interfaces/portal/routes.ts';
import type { ReadModels, Row } from '#src/ports/read-model.ts';
import { content, history, MUCH } from '../support/products.ts';

export const ORIGIN = 'https://tributary.example';
export const NOON = Date.UTC(2026, 10, 21, 12);
export const DAY_MS = 86_400_000;

const EMPTY = { position: 0, at: null };

/** Product ids as the contract has them: a prefix and 24 characters. */
export const productId = (name: string): string => `prd_${name.padEnd(24, '0')}`;

/** Read models without an engine: every read folds the whole log. */
const foldedReads = (log: Deps['log']): ReadModels => ({
  async get<R extends Row>(name: string, scope: string, key: string): Promise<R | undefined> {
    const projection = ([codes, reviewTokens] as Projection[]).find((one) => one.name === name);
    if (!projection) return undefined;
    let row: Row | undefined;
    for (const event of await log.readFold({ after: 0, limit: 10_000 })) {
      if (!(projection.handles as readonly string[]).includes(event.type)) continue;
      const place = projection.place(event);
      if (place?.scope === scope && place.key === key)
        row = projection.evolve(row, event) ?? undefined;
    }
    return row as R | undefined;
  },
  list: async () => [],
});

/** The portal on a bare server, over the application's real parts, with a clock to set. */
export const portalScene = (options: { countryHeader?: string; ownerId?: string } = {}) => {
  let now = NOON;
  const clock = { now: () => now, monotonic: () => now };
  const ids = systemIds(clock.now);
  const log = memoryEventLog();
  const catalog = sqliteCatalog(':memory:');
  const secrets = systemSecrets({ root: Buffer.alloc(32, 7) });
  const agent = { name: 'Scout', status: 'approved' };
  const deps = {
    log,
    readModels: foldedReads(log),
    credentials: { key: () => undefined, agent: () => agent, deskToken: () => undefined },
    catalog,
    secrets,
    vault: sqliteKeyVault(':memory:', secrets.vaultKey),
    clock,
    ids,
    following: { passed: async () => true, asOf: () => EMPTY },
    activity: { note: () => undefined, flush: async () => undefined },
    foldPerformance: () => [],
    origin: () => ORIGIN,
    limits: { readsPerMinute: 1, writesPerMinute: 1 },
  } as unknown as Deps;
  const visits = visitLog({ recorder: recorder(log, 'test'), secrets, clock, ids });
  const server = Fastify();
  portalRoutes(server, { ...deps, visits, countryHeader: options.countryHeader });

  const products = history();
  const publish = (name: string, over: Parameters<typeof content>[1] = {}, stock = MUCH) => {
    const product_id = productId(name);
    const known = products.events.some(({ data }) => JSON.stringify(data).includes(product_id));
    const product = content(name, { product_id, ...over });
    const event = known ? products.revise(product, stock) : products.publish(product, stock);
    catalog.apply([event], event.position);
    return product;
  };
  const withdraw = (name: string) => {
    const event = products.withdraw(productId(name));
    catalog.apply([event], event.position);
  };

  let calls = 0;
  const call = (operation: string): AgentCall => {
    calls += 1;
    const ownerId = options.ownerId ?? 'acme';
    const caller = {
      kind: 'agent' as const,
      ownerId,
      agentId: 'agt_scout',
      keyId: 'key_1',
      scopes: new Set<string>(),
      environment: 'live' as const,
    };
    const idem = String(calls).padStart(32, '0');
    return {
      ownerId,
      actor: 'agt_scout',
      surface: 'rest',
      operation,
      requestId: ids.uuid(),
      at: now,
      idem,
      fingerprint: idem,
      caller,
    };
  };
  const link = async (input: Partial<InputOf<'createLink'>>) => {
    const asked = { idempotency_key: 'k', ...input } as InputOf<'createLink'>;
    const made = await handlers.createLink(deps, asked, call('createLink'));
    if (!made.ok) throw new Error(made.detail);
    return made.value;
  };
  const list = async (input: Partial<InputOf<'createHandoff'>>) => {
    const asked = { idempotency_key: 'k', title: 'Autumn shelf', locale: 'en-GB', buyer: {}, ...input };
    const made = await handlers.createHandoff(
      deps,
      asked as InputOf<'createHandoff'>,
      call('createHandoff'),
    );
    if (!made.ok) throw new Error(made.detail);
    return { ...made.value, path: new URL(made.value.review_url).pathname };
  };

  return {
    server,
    deps,
    log,
    publish,
    withdraw,
    link,
    list,
    setTime: (at: number) => {
      now = at;
    },
    eventTypes: async () => (await log.readAll({ after: 0, limit: 10_000 })).map(({ type }) => type),
    post: (url: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
      server.inject({
        method: 'POST',
        url,
        payload: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      }),
  };
};
