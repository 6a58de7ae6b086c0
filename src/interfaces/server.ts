/** The server with all interfaces. */
import { readFileSync } from 'node:fs';
import compress from '@fastify/compress';
import type { FastifyRequest, FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { ANSWER_HEADERS } from '#contracts/headers.ts';
import type { Rates } from '#contracts/limits.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { limiter, networkOf } from '#src/calls/limits.ts';
import { a2aRoutes } from '#src/interfaces/a2a/routes.ts';
import { aiCatalog, apiCatalog, llmsText } from '#src/interfaces/documents/llms.ts';
import { mcpRoutes } from '#src/interfaces/mcp/routes.ts';
import { agentRoutes, deskRoutes, deviceLoginRoutes } from '#src/interfaces/rest/routes.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { Ids, Waits } from '#src/ports/system.ts';
import type { ProofDeps } from '#src/proof/notary.ts';
import type { App } from '#src/registries/app.ts';
import { type Refusal, refuse, forbidden } from '#src/shared/outcome.ts';
import { arrivalOf, httpServer } from '#src/web/http.ts';
import { digestOf } from '#src/writing/streams.ts';
import { type Document, documentRoute } from '#src/web/documents.ts';
import { refuseBrowser } from '#src/web/error-pages.ts';
import { type HealthDeps, healthRoutes, metricsRoutes } from '#src/web/health.ts';
import { API_CATALOG_PATH, apiCatalogLink } from '#src/web/problem.ts';
import { portalRoutes } from './pages.ts';

type RequestClass = 'pages' | 'redirects' | 'calls';

const HEALTH = /^\/(?:livez|readyz|metrics)(?:\?|$)/;
const REDIRECT = /^\/l\/[^/?]+\/?(?:\?|$)/;
const CALL = /^\/(?:api|\.well-known|assets)\//;

/** The class of a request. Other spellings of a path are pages, which have the lowest limit. Health has no limit. */
const classOf = (url: string): RequestClass | undefined => {
  if (CALL.test(url)) return 'calls';
  if (REDIRECT.test(url)) return 'redirects';
  return HEALTH.test(url) ? undefined : 'pages';
};

/**
 * Limits what one network address requests from this process in a second, with or without a credential. Returns the
 * refusal of a request beyond the limit of its class.
 */
const addressRates = (
  rates: Pick<Rates, 'pagesPerSecond' | 'redirectsPerSecond' | 'callsPerSecond'>,
  monotonic: () => number,
): ((request: Pick<FastifyRequest, 'url' | 'ip'>) => Refusal | undefined) => {
  const perSecond = (count: number) => limiter({ count, per: 'second' }, monotonic);
  const limiters = {
    pages: perSecond(rates.pagesPerSecond),
    redirects: perSecond(rates.redirectsPerSecond),
    calls: perSecond(rates.callsPerSecond),
  };
  return ({ url, ip }) => {
    const kind = classOf(url);
    if (kind === undefined) return undefined;
    const { rate, take } = limiters[kind];
    if (take(networkOf(ip)).allowed) return undefined;
    return refuse('rate_limited', `At most ${rate.count} ${kind} a second from one address.`, {
      retryAfterS: 1,
    });
  };
};

/**
 * Limits the bytes of bodies that one credential, or the link of one holder, sends to this process in a second. Most of
 * the time that a body takes grows with its bytes, also that of a body that is refused: so who causes it is refused, and
 * not everybody, for overload. A form without either counts for its network address.
 */
const bodyBudget = (
  { bodyBytesPerSecond: count }: Pick<Rates, 'bodyBytesPerSecond'>,
  monotonic: () => number,
): ((request: FastifyRequest, bytes: number) => Refusal | undefined) => {
  const budget = limiter({ count, per: 'second' }, monotonic);
  return (request, bytes) => {
    const { credential = (request.params as { token?: string }).token } = arrivalOf(
      request,
      'rest',
    );
    const verdict = budget.take(credential ? digestOf(credential) : networkOf(request.ip), bytes);
    if (verdict.allowed) return undefined;
    return refuse('rate_limited', `Send at most ${count} bytes a second in bodies.`, {
      retryAfterS: verdict.retryAfterS,
    });
  };
};

/**
 * Counts requests with a forwarded address, and warns at the first one. Without TRUST_PROXY the address of such a
 * request is that of the proxy, so all clients share its limits and are one visitor.
 */
const reportForwarded = (
  server: FastifyInstance,
  { log, metrics }: { log: Logger; metrics: Metrics | undefined },
): void => {
  let isReported = false;
  server.addHook('onRequest', ({ headers }, _reply, next) => {
    if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) {
      metrics?.countUntrustedForwarded();
      if (!isReported) log.warn('forwarded addresses are ignored, because TRUST_PROXY is not set');
      isReported = true;
    }
    next();
  });
};

/** Counts the requests that are not answered yet, except those for health, which are never refused. */
const countCalls = (server: FastifyInstance, calls: Waits['calls']): void => {
  server.server.prependListener('request', ({ url = '' }, response) => {
    if (HEALTH.test(url)) return;
    calls.count += 1;
    response.once('close', () => {
      calls.count -= 1;
    });
  });
};

/** Written by test/faults/boundaries.test.ts. */
const BOUNDARIES_REPORT = new URL('../../contracts/published/boundaries.json', import.meta.url);

const JSON_TYPE = 'application/json; charset=utf-8';

/** Serves the documents about the whole service; those of a protocol are served beside it. */
const publicDocumentRoutes = (
  server: FastifyInstance,
  { origin, limits }: Pick<Deps, 'origin' | 'limits'>,
): void => {
  const serve = (paths: string[], type: string, make: Document['make']): void =>
    documentRoute(server, origin, { paths, type, make });
  // Loaded when the first client asks: most starts of a process need no contract as a document.
  const contracts = () => import('#src/interfaces/rest/openapi.ts');
  serve(['/api/affiliate/openapi.json'], JSON_TYPE, async (at) =>
    (await contracts()).openApi(at, limits),
  );
  serve(['/api/desk/openapi.json'], JSON_TYPE, async (at) =>
    (await contracts()).deskOpenApi(at, limits),
  );
  serve(['/boundaries.json'], JSON_TYPE, () => readFileSync(BOUNDARIES_REPORT, 'utf8'));
  serve(['/llms.txt', '/api/affiliate/llms.txt'], 'text/plain; charset=utf-8', llmsText);
  documentRoute(server, origin, {
    paths: [API_CATALOG_PATH],
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    make: apiCatalog,
    headers: () => ({ link: apiCatalogLink(origin()) }),
  });
  documentRoute(server, origin, {
    paths: ['/.well-known/ai-catalog.json'],
    type: 'application/ai-catalog+json',
    make: aiCatalog,
  });
};

export type ServerOptions = {
  log: Logger;
  trustProxy: boolean | string;
  countryHeader: string | undefined;
  imageOrigins: readonly string[];
  /** Origins of other sites whose pages may call MCP and A2A. */
  webOrigins: readonly string[];
  /** Identifies this process in the answer of /livez. */
  instance?: string | undefined;
  /** Whether the read models are not filled yet. */
  isStarting?: () => boolean;
};

type ServerDeps = HealthDeps & {
  ids: Ids;
  metrics?: Metrics;
  /** What a request with a credential waits for before it is handled. */
  awaited?: () => Promise<void> | undefined;
  waits: Pick<Waits, 'calls'>;
  proof(): ProofDeps;
};

/** Builds the HTTP server with all routes; it does not listen yet. */
export const buildServer = (
  app: App,
  deps: ServerDeps,
  options: ServerOptions,
): FastifyInstance => {
  const { ids, clock, metrics, awaited } = deps;
  const server = httpServer({
    ids,
    clock,
    origin: app.origin,
    log: options.log,
    trustProxy: options.trustProxy,
    socketLimit: {
      max: app.limits.socketsPerAddress,
      onRefused: () => metrics?.countRefusedConnection(),
    },
    refuseBrowser,
    refuseAddress: addressRates(app.limits, clock.monotonic),
    refuseBody: bodyBudget(app.limits, clock.monotonic),
    ...(awaited && { awaited }),
    isStarting: options.isStarting,
    async onForbidden(request, boundary) {
      const exchange = `boundary:${boundary}`;
      const admitted = await app.agents.admit(arrivalOf(request, 'rest'), { exchange });
      if (admitted.ok) app.agents.conclude(admitted.value, exchange, forbidden(boundary));
    },
  });
  server.decorate('house', app.house);
  countCalls(server, deps.waits.calls);
  if (options.trustProxy === false) reportForwarded(server, { log: options.log, metrics });
  const { log } = deps;
  if (log.replacement)
    server.addHook('onSend', async (_request, reply) => {
      if (log.replacement?.() !== undefined) reply.header(ANSWER_HEADERS.logState.name, 'replaced');
    });
  if (metrics) metricsRoutes(server, { ...deps, metrics });
  healthRoutes(server, deps, options.instance);
  // Routes are compressed if the plugin is loaded before them. Small answers are not worth it.
  void server.register(compress, { global: false, threshold: 1_024, encodings: ['br', 'gzip'] });
  void server.register(async (scope) => {
    publicDocumentRoutes(scope, app);
    agentRoutes(scope, app);
    mcpRoutes(scope, app, options);
    a2aRoutes(scope, app, options);
    deskRoutes(scope, app);
    deviceLoginRoutes(scope, app);
  });
  portalRoutes(server, app, { ...options, proof: deps.proof });
  return server;
};
