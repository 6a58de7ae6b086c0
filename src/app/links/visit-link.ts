import {
  ATTRIBUTION_PARAMETER,
  type AttributionClaims,
  VIA_PARAMETER,
} from '#contracts/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { DAY_MS } from '../shared/time.ts';
import { signAttribution } from '../tasks/jws.ts';
import { findCode } from './find-code.ts';
import { withParameter } from './landing-address.ts';
import type { VisitorHandler } from './visitor-handler.ts';

/** The paths of the pages that links lead to, after any origin. */
const PAGE = /\/(?:p\/(?<product>[^/]+)|c\/(?<category>[^/]+)|s)$/;

const WINDOW_S = (LIMITS.ATTRIBUTION_DAYS * DAY_MS) / 1_000;

const NO_LINK = refuse('resource_not_found', 'There is no such link. Check that it is complete.');

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
 * Records a visit and resolves to the destination: with an attribution token if the visit is a valid click, otherwise
 * with the code of the link. A link without a destination records no visit.
 */
export const visitLink: VisitorHandler<'visitLink'> = async (deps, input, { at, requestId }) => {
  const link = await findCode(deps, input.code);
  if (!link) return NO_LINK;
  const destination = destinationOf(deps, link.row, at);
  if (destination === undefined) return done({});
  const visitId = await deps.visits.record(link.row, input, requestId);
  const { address, target } = landingAt(deps.origin(), destination);
  const token = visitId !== undefined && target && tokenOf(deps, link.row, { target, visitId, at });
  const attributed = token && withParameter(address, [ATTRIBUTION_PARAMETER, token]);
  const shown = withParameter(address, [VIA_PARAMETER, link.code]);
  // A landing page without attribution is better than an address that is refused for its length.
  const fitting = [attributed, shown].find((one) => one && one.length <= LIMITS.URL_BYTES_MAX);
  return done({ target: fitting || address });
};

const tokenOf = (
  { secrets }: Pick<Deps, 'secrets'>,
  { owner, agent_id, link_id }: CodeRow,
  { target, visitId, at }: { target: AttributionClaims['target']; visitId: string; at: number },
): string => {
  const iat = Math.floor(at / 1_000);
  const link = { owner_id: owner, agent_id, link_id };
  return signAttribution(secrets, { ...link, target, visit_id: visitId, iat, exp: iat + WINDOW_S });
};

export const locateLink: VisitorHandler<'locateLink'> = async (deps, input) => {
  const link = await findCode(deps, input.code);
  return link ? done({ code: link.code, url: `${deps.origin()}/l/${link.code}?via=qr` }) : NO_LINK;
};
