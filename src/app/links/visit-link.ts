import { ATTRIBUTION_PARAMETER, type AttributionClaims } from '#contracts/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { DAY_MS } from '../shared/time.ts';
import { signAttribution } from '../tasks/jws.ts';
import type { VisitorHandler } from './visitor-handler.ts';

const CODE = /^[a-z0-9-]{3,64}$/;
/** The paths of the pages that links lead to, after any origin. */
const PAGE = /\/(?:p\/(?<product>[^/]+)|c\/(?<category>[^/]+)|s)$/;

const WINDOW_S = (LIMITS.ATTRIBUTION_DAYS * DAY_MS) / 1_000;

const NO_LINK = refuse('resource_not_found', 'There is no such link. Check that it is complete.');

const find = async (
  { readModels }: Pick<Deps, 'readModels'>,
  entered: string,
): Promise<{ code: string; row: CodeRow } | undefined> => {
  const code = entered.toLowerCase();
  const row = CODE.test(code) ? await readModels.get<CodeRow>('codes', code, '') : undefined;
  return row && { code, row };
};

/** The destination at `at`, in epoch milliseconds; undefined for a link that is disabled or has expired. */
const destinationOf = (
  { catalog }: Pick<Deps, 'catalog'>,
  row: CodeRow,
  at: number,
): string | undefined => {
  if (row.disabled) return undefined;
  if (row.expires_at !== undefined && row.expires_at <= at) return row.expired_url;
  // Without `expired_url`, the page of the product shows that it is withdrawn, and alternatives.
  if (row.expired_url === undefined) return row.destination_url;
  const { product_id } = row.dims;
  const isWithdrawn = product_id !== undefined && catalog.withdrawn([product_id]).size > 0;
  return isWithdrawn ? row.expired_url : row.destination_url;
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
 * Records a visit and resolves to the destination, with an attribution token if the visit is a valid click. A link
 * without a destination records no visit.
 */
export const visitLink: VisitorHandler<'visitLink'> = async (deps, input, { at, requestId }) => {
  const link = await find(deps, input.code);
  if (!link) return NO_LINK;
  const destination = destinationOf(deps, link.row, at);
  if (destination === undefined) return done({});
  const visitId = await deps.visits.record(link.row, input, requestId);
  const { address, target } = landingAt(deps.origin(), destination);
  if (visitId === undefined || !target) return done({ target: address });
  const { owner, agent_id, link_id } = link.row;
  const iat = Math.floor(at / 1_000);
  const token = signAttribution(deps.secrets, {
    owner_id: owner,
    agent_id,
    link_id,
    target,
    visit_id: visitId,
    iat,
    exp: iat + WINDOW_S,
  });
  const attributed = `${address}${address.includes('?') ? '&' : '?'}${ATTRIBUTION_PARAMETER}=${token}`;
  // A landing page without attribution is better than an address that is refused for its length.
  return done({ target: attributed.length > LIMITS.URL_BYTES_MAX ? address : attributed });
};

export const locateLink: VisitorHandler<'locateLink'> = async (deps, input) => {
  const link = await find(deps, input.code);
  return link ? done({ code: link.code, url: `${deps.origin()}/l/${link.code}?via=qr` }) : NO_LINK;
};
