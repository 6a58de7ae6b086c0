/** What visitors of links see and do: redirects, landing pages, and the visits that the log records. */
import { isbot } from 'isbot';
import type { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import {
  ATTRIBUTION_PARAMETER,
  type AttributionClaims,
  VIA_PARAMETER,
} from '#contracts/links/attribution-token.ts';
import { VISITOR_BURST_SECONDS } from '#contracts/performance/records.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { VisitorOperations } from '#contracts/registries/visitors.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { limiter, networkOf } from '#src/calls/limits.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import { pathOfTarget, priceLines, totalsOf } from '#src/catalog/products.ts';
import type { Catalog, CatalogProduct, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import { LogUnavailable, type NewEvent } from '#src/ports/event-log.ts';
import { categoriesAbove, stepsOf } from '#src/ports/folded-text.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Ids, Clock, Secrets } from '#src/ports/system.ts';
import { readOwnerSettings, windowOf } from '#src/reading/live-sources.ts';
import { cached } from '#src/shared/work.ts';
import type { Call, VisitorCall } from '#src/shared/call.ts';
import { done, refuse, type Outcome } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { signAttribution } from '#src/shared/signing.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Recorder } from '#src/writing/recorder.ts';
import { FALSE_CLICKS } from './false-clicks.ts';
import { findCode, withParameter, findPromotion, type Promotion } from './links.ts';

type LinkVisit = { code: CodeRow; call: Call };

type SurplusVisits = {
  /** Adds a visit to the sum of its link and day; false when too many links wait, and the visit must be recorded. */
  add(visit: LinkVisit): boolean;
  /** Appends all sums; resolves when they are durable, or wait for another attempt. */
  flush(): Promise<void>;
};

type Options = {
  recorder: Recorder;
  ids: Ids;
  /** Runs `task` after `ms`; injected so that tests need not wait. */
  schedule(task: () => void, ms: number): void;
  onLost(error: unknown): void;
};

const GATHER_MS = 60_000;
const LINKS_MAX = 10_000;

type Sum = LinkVisit & { visits: number };
type Append = { stream: string; events: readonly NewEvent[] };

/** The stream of visits to an owner's links on a day; each process adds its own name. */
const visitStream = ({ ownerId, at }: Pick<Call, 'ownerId' | 'at'>): string =>
  `${ownerId}-visits_${Math.floor(at / DAY_MS)}`;

/**
 * Sums visits in memory and appends one event a minute for each link. An append that fails is repeated with the same
 * events, so no visit is counted twice; meanwhile the sums grow, and no memory is added. A process that is killed loses
 * the sums of the last minute.
 */
export const surplusVisits = ({ recorder, ids, schedule, onLost }: Options): SurplusVisits => {
  const sums = new Map<string, Sum>();
  const unsettled = new Set<Append>();
  let isDue = false;
  let writing = Promise.resolve();

  const scheduleFlush = (): void => {
    if (isDue) return;
    isDue = true;
    schedule(() => void flush(), GATHER_MS);
  };

  const toAppend = ({ code, call, visits }: Sum): Append => {
    const { link_id, agent_id, dims } = code;
    const event = { type: 'VisitsSummed' as const, data: { link_id, agent_id, dims, visits } };
    return { stream: visitStream(call), events: attribute(call, [event], ids) };
  };

  const append = async (one: Append): Promise<void> => {
    try {
      await recorder.record(one.stream, one.events);
      unsettled.delete(one);
    } catch (error) {
      if (error instanceof LogUnavailable) scheduleFlush();
      else {
        unsettled.delete(one);
        onLost(error);
      }
    }
  };

  const write = async (): Promise<void> => {
    isDue = false;
    if (unsettled.size === 0) {
      for (const sum of sums.values()) unsettled.add(toAppend(sum));
      sums.clear();
    }
    await Promise.all([...unsettled].map(append));
  };

  const flush = (): Promise<void> => (writing = writing.then(write));

  return {
    add({ code, call }) {
      const key = `${code.link_id} ${visitStream(call)}`;
      const sum = sums.get(key);
      if (!sum && sums.size >= LINKS_MAX) return false;
      // The event has the time of its last visit, which is in the same day.
      sums.set(key, { code, call, visits: (sum?.visits ?? 0) + 1 });
      scheduleFlush();
      return true;
    },
    flush,
  };
};

/** The data of a request for a short link. The address is hashed and not stored. */
export type Visit = Omit<z.output<VisitorOperations['visitLink']['input']>, 'code'>;

/** `window_days`: the attribution window of the owner. */
type VisitedCode = CodeRow & { window_days: number };

type Visits = {
  /**
   * Resolves when the visit is durable, or added to the surplus of its link. The result is the id of the visit's event
   * if it counts as a valid click, otherwise undefined.
   */
  record(code: VisitedCode, visit: Visit, requestId: string): Promise<string | undefined>;
  /** Appends the surplus; resolves when it is durable, or waits for another attempt. */
  flush(): Promise<void>;
};

type Signal = NonNullable<EventData<'VisitRecorded'>['signals']>[number];

const oneOf = (texts: readonly string[]): RegExp =>
  new RegExp(texts.map((text) => RegExp.escape(text)).join('|'), 'i');

const PURPOSE = oneOf(FALSE_CLICKS.purposes);
const PREVIEW = oneOf(FALSE_CLICKS.programs.map(({ name }) => name));
const MOBILE = /mobi|android|iphone|ipad/i;

const CACHED_AGENTS_MAX = 2_000;

/** Classifies a user agent; cached, because few different ones make most requests. */
const programOf = cached(CACHED_AGENTS_MAX, (userAgent: string): Signal | 'none' =>
  PREVIEW.test(userAgent) ? 'preview' : isbot(userAgent) ? 'bot' : 'none',
);

const signalsOf = ({ method, user_agent, purpose, dest }: Visit): Signal[] => {
  const signals: Signal[] = [];
  if (method === 'HEAD') signals.push('head');
  if (purpose !== undefined && PURPOSE.test(purpose)) signals.push('prefetch');
  // An image, frame or script of another page: no person followed the link.
  if (dest !== undefined && dest !== 'document') signals.push('embedded');
  const program = user_agent ? programOf(user_agent) : 'no_user_agent';
  if (program !== 'none') signals.push(program);
  return signals;
};

const hostOf = (referrer: string | undefined): string | undefined => {
  if (referrer === undefined) return undefined;
  return URL.parse(referrer)?.hostname.slice(0, 253) || undefined;
};

type VisitDeps = {
  recorder: Recorder;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
  surplus: SurplusVisits;
  /** Visits of one network address to one link that are recorded one by one. */
  perMinute: number;
  /** True to record each visit: processes of an earlier version do not know `VisitsSummed`. */
  holdsSums: boolean;
};

const BURST_MS = VISITOR_BURST_SECONDS * 1_000;
const BURSTS_MAX = 50_000;

/**
 * Names the visitor of a click: by the address and the user agent, and within a burst of clicks of one network address on
 * one link by the first of them, because a program can send another user agent with each. The names of bursts are kept in
 * memory, for each process.
 */
const visitorNames = ({ mac }: Pick<Secrets, 'mac'>) => {
  /** By day, network and link; the one with the oldest click first. */
  const bursts = new Map<string, { visitor: string; at: number }>();
  return ({ code, call: { at } }: LinkVisit, { address, user_agent = '' }: Visit): string => {
    // The hash includes the day, so that a visitor cannot be recognized on another day.
    const day = Math.floor(at / DAY_MS);
    const key = `${day} ${networkOf(address)} ${code.link_id}`;
    const burst = bursts.get(key);
    const visitor =
      burst && at - burst.at <= BURST_MS
        ? burst.visitor
        : mac('visitor', `${day}:${address}:${user_agent}`).slice(0, 16);
    bursts.delete(key);
    bursts.set(key, { visitor, at });
    for (const [oldest, { at: last }] of bursts) {
      if (at - last <= BURST_MS && bursts.size <= BURSTS_MAX) break;
      bursts.delete(oldest);
    }
    return visitor;
  };
};

/** Records each visit of a network address to a link within the limit, and sums those beyond it. */
export const visitRecorder = (deps: VisitDeps): Visits => {
  const { recorder, clock, ids, surplus, holdsSums } = deps;
  const limit = limiter({ count: deps.perMinute, per: 'minute' }, clock.monotonic);
  const nameVisitor = visitorNames(deps.secrets);
  return {
    async record(code, visit, requestId) {
      const call: Call = {
        ownerId: code.owner,
        actor: 'visitor',
        surface: 'portal',
        operation: 'visitLink',
        requestId,
        at: clock.now(),
      };
      const isWithin = limit.take(`${networkOf(visit.address)} ${code.link_id}`).allowed;
      if (!isWithin && !holdsSums && surplus.add({ code, call })) return undefined;
      const data = visitData(code, visit, nameVisitor({ code, call }, visit));
      const events = attribute(call, [{ type: 'VisitRecorded', data }], ids);
      // One stream per owner: one per link would spread the visits of a commit over many pages of the
      // log's index, and each page is written twice.
      await recorder.record(visitStream(call), events);
      return data.signals ? undefined : events[0]?.id;
    },
    flush: surplus.flush,
  };
};

const visitData = (
  code: VisitedCode,
  visit: Visit,
  visitor: string,
): EventData<'VisitRecorded'> => {
  const { user_agent, country, via_qr } = visit;
  const signals = signalsOf(visit);
  return {
    link_id: code.link_id,
    agent_id: code.agent_id,
    dims: code.dims,
    visitor,
    ...(signals.length > 0 && { signals }),
    ...present({ country }),
    device: deviceOf(user_agent),
    ...present({ referrer_host: hostOf(visit.referrer) }),
    trigger: via_qr ? 'qr' : 'link',
    window_days: code.window_days,
  };
};

const deviceOf = (userAgent: string | undefined): 'desktop' | 'mobile' | 'other' => {
  if (!userAgent) return 'other';
  return MOBILE.test(userAgent) ? 'mobile' : 'desktop';
};

/** The paths of the pages that links lead to, after any origin. */
const PAGE = /\/(?:p\/(?<product>[^/]+)|c\/(?<category>[^/]+)|s)$/;

const NO_LINK = refuse('resource_not_found', 'There is no such link. Check that it is complete.');

/** The destination at `at`, in epoch milliseconds, of a link that is not disabled; undefined if it has expired. */
const destinationOf = (
  { catalog }: Pick<Deps, 'catalog'>,
  { row, fallback, at }: { row: CodeRow; fallback: string | undefined; at: number },
): string | undefined => {
  const other = row.expired_url ?? fallback;
  if (row.expires_at !== undefined && row.expires_at <= at) return other;
  // Without another target, the page of the product shows that it is withdrawn, and alternatives.
  if (other === undefined) return row.destination_url;
  const { product_id } = row.dims;
  const isWithdrawn = product_id !== undefined && catalog.withdrawn([product_id]).size > 0;
  return isWithdrawn ? other : row.destination_url;
};

/**
 * Replaces the origin of a destination, which is the one that this service had when the link was created, by the
 * present one. A link continues to work after a move, and never leads to another host.
 */
const landingAt = (
  origin: string,
  destination: string,
): { address: string; target?: AttributionClaims['target'] } => {
  const { pathname, search, searchParams } = new URL(destination);
  const page = PAGE.exec(pathname);
  if (!page) return { address: `${origin}/${search}` };
  const { product, category } = page.groups ?? {};
  const address = origin + page[0] + search;
  if (product !== undefined) return { address, target: { kind: 'product', ref: product } };
  return category === undefined
    ? { address, target: { kind: 'search', ref: searchParams.get('q') ?? '' } }
    : { address, target: { kind: 'category', ref: decodeURIComponent(category) } };
};

/**
 * Records a visit and resolves to the destination: with an attribution token if the visit is a valid click, otherwise
 * with the code of the link. A disabled link, and one without a destination, records no visit.
 */
export const visitLink: VisitorHandler<'visitLink'> = async (deps, input, { at, requestId }) => {
  const link = await findCode(deps, input.code);
  if (!link) return NO_LINK;
  const { row } = link;
  const settings = await readOwnerSettings(deps, row.owner);
  const fallback = settings?.fallback && deps.origin() + pathOfTarget(settings.fallback);
  if (row.disabled) return done(present({ target: fallback }));
  const destination = destinationOf(deps, { row, fallback, at });
  if (destination === undefined) return done({});
  const days = windowOf(settings);
  const visited = { ...row, window_days: days };
  const visitId = await recordVisit(deps, visited, { visit: input, requestId });
  const { address, target } = landingAt(deps.origin(), destination);
  const token =
    visitId !== undefined && target && tokenOf(deps, row, { target, visitId, at, days });
  const attributed = token && withParameter(address, [ATTRIBUTION_PARAMETER, token]);
  const shown = withParameter(address, [VIA_PARAMETER, link.code]);
  // A landing page without attribution is better than an address that is refused for its length.
  const fitting = [attributed, shown].find((one) => one && one.length <= LIMITS.URL_BYTES_MAX);
  return done({ target: fitting || address });
};

/** Records a visit. On a full disk the visitor is redirected all the same, as after a visit that is no valid click. */
const recordVisit = async (
  { visits, metrics }: VisitorDeps,
  row: VisitedCode,
  { visit, requestId }: { visit: Visit; requestId: string },
): Promise<string | undefined> => {
  try {
    return await visits.record(row, visit, requestId);
  } catch (error) {
    if (!(error instanceof LogUnavailable && error.reason === 'full')) throw error;
    metrics?.countUnrecordedVisit();
    return undefined;
  }
};

type Click = Pick<AttributionClaims, 'target'> & {
  visitId: string;
  at: number;
  days: number;
};

const tokenOf = (
  { secrets }: Pick<Deps, 'secrets'>,
  { owner, agent_id, link_id }: CodeRow,
  { target, visitId, at, days }: Click,
): string => {
  const iat = Math.floor(at / 1_000);
  const exp = iat + (days * DAY_MS) / 1_000;
  const link = { owner_id: owner, agent_id, link_id };
  return signAttribution(secrets, { ...link, target, visit_id: visitId, iat, exp });
};

export const locateLink: VisitorHandler<'locateLink'> = async (deps, input) => {
  const link = await findCode(deps, input.code);
  return link ? done({ code: link.code, url: `${deps.origin()}/l/${link.code}?via=qr` }) : NO_LINK;
};

export type VisitorDeps = Deps & { visits: Visits };

/** The answer of each operation, for the page that shows it. */
type Answers = {
  visitLink: { target?: string };
  locateLink: { code: string; url: string };
  viewProduct: ShownProduct;
  viewCategory: Listing & { category: string };
  viewSearch: Listing;
  viewList: ShownList;
};

type VisitorHandler<Id extends keyof VisitorOperations> = (
  deps: VisitorDeps,
  input: z.output<VisitorOperations[Id]['input']>,
  call: VisitorCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
type VisitorHandlers = { [Id in keyof VisitorOperations]: VisitorHandler<Id> };

export type VisitorSignatures = SignaturesOf<VisitorHandlers>;

const PAGE_PRODUCTS = 24;

/** One step of a category's path; `category` is set if the catalog has a page for it. */
export type Crumb = { name: string; category: string | undefined };

/** A published or withdrawn product, and the path to its category. */
type ShownProduct = {
  product: CatalogProduct;
  withdrawn: boolean;
  crumbs: readonly Crumb[];
  promotion?: Promotion;
};

/** One page of products; the last page when the request was for a later one. */
export type Listing = {
  hits: ProductHits;
  page: number;
  pages: number;
  crumbs: readonly Crumb[];
  promotion?: Promotion;
};

const NO_PRODUCT = refuse(
  'resource_not_found',
  'This product is not offered any more, or never was.',
);
const NO_CATEGORY = refuse(
  'resource_not_found',
  'There is no such category, or it has no products any more.',
);

/** Splits a path like `Stationery > Pens` into its steps. */
const crumbsOf = (catalog: Catalog, category: string): Crumb[] => {
  const names = stepsOf(category);
  return categoriesAbove(category).map((path, index) => ({
    name: names[index] ?? path,
    category: catalog.categoryNamed(path),
  }));
};

export const viewProduct: VisitorHandler<'viewProduct'> = async (deps, input, { at }) => {
  const { catalog } = deps;
  const { product_id } = input;
  const published = catalog.byId([product_id]).get(product_id);
  const product = published ?? catalog.withdrawn([product_id]).get(product_id)?.product;
  if (!product) return NO_PRODUCT;
  const crumbs = crumbsOf(catalog, product.category);
  const promotion = await findPromotion(deps, input, at);
  return done({ product, withdrawn: published === undefined, crumbs, ...present({ promotion }) });
};

/** What visitors can filter by, as facets count it. */
const FACETS = ['category', 'brand', 'certifications', 'ship_from', 'origin', 'lead_time'] as const;

type Asked = Omit<z.output<VisitorOperations['viewSearch']['input']>, 'words'>;

const listingOf = async (
  deps: Deps,
  query: Pick<ProductSearch, 'q' | 'category'>,
  { page: wanted, at, attribution, via, certification, ...filters }: Asked & { at: number },
): Promise<Omit<Listing, 'crumbs'>> => {
  const source = { attribution, via };
  const find = (page: number) =>
    deps.catalog.search({
      ...present(filters),
      ...query,
      ...(certification !== undefined && { certifications: [certification] }),
      sort: filters.sort,
      limit: PAGE_PRODUCTS,
      offset: (page - 1) * PAGE_PRODUCTS,
      facets: [...FACETS],
    });
  const first = find(wanted);
  const pages = Math.max(1, Math.ceil(first.total / PAGE_PRODUCTS));
  // Products may have left the catalog since the link to a later page was made.
  const page = Math.min(wanted, pages);
  const promotion = await findPromotion(deps, source, at);
  return { hits: page === wanted ? first : find(page), page, pages, ...present({ promotion }) };
};

/** The category that a text names, without signs behind the name. Its name may end with a sign, as in `Mugs (large)`. */
const categoryIn = (catalog: Catalog, text: string): string | undefined => {
  for (let name = text; name !== ''; name = name.slice(0, -1)) {
    const category = catalog.categoryNamed(name);
    if (category !== undefined) return category;
    if (/[\p{L}\p{N}]$/u.test(name)) return undefined;
  }
  return undefined;
};

export const viewCategory: VisitorHandler<'viewCategory'> = async (
  deps,
  { category: text, ...input },
  { at },
) => {
  const { catalog } = deps;
  const category = categoryIn(catalog, text);
  if (category === undefined) return NO_CATEGORY;
  const crumbs = crumbsOf(catalog, category).slice(0, -1);
  return done({ ...(await listingOf(deps, { category }, { ...input, at })), crumbs, category });
};

export const viewSearch: VisitorHandler<'viewSearch'> = async (
  deps,
  { words, ...input },
  { at },
) => {
  const query = present({ q: words === '' ? undefined : words, category: input.category });
  return done({ ...(await listingOf(deps, query, { ...input, at })), crumbs: [] });
};

const ONCE_CHARS = 22;

/** A list that the address of a page has, priced now. */
export type ShownList = Pick<EventData<'BuyerListCreated'>, 'lines' | 'totals'> & {
  /** Ids of products that are not offered any more. */
  missing: readonly string[];
  promotion?: Promotion;
  /** Identifies the form that makes the list, so that a repeated form makes one list. */
  once: string;
};

export const viewList: VisitorHandler<'viewList'> = async (deps, { lines, ...source }, { at }) => {
  const products = deps.catalog.byId(lines.map(({ product_id }) => product_id));
  const offered = lines.filter(({ product_id }) => products.has(product_id));
  const priced = priceLines(deps.catalog, offered);
  if ('faults' in priced) throw new Error('a product left the catalog within a call');
  return done({
    lines: priced.lines,
    totals: totalsOf(priced.lines),
    missing: lines.flatMap(({ product_id }) => (products.has(product_id) ? [] : [product_id])),
    ...present({ promotion: await findPromotion(deps, source, at) }),
    once: deps.ids.base62(ONCE_CHARS),
  });
};
