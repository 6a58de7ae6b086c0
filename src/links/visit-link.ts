import {
  ATTRIBUTION_PARAMETER,
  type AttributionClaims,
  VIA_PARAMETER,
} from '#contracts/links/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { LinkSettings } from '#src/owners/profile.decider.ts';
import { type CodeRow, LINK_SETTINGS } from '#src/ports/rows.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { present } from '#src/shared/present.ts';
import { signAttribution } from '#src/shared/jws.ts';
import { findCode } from './find-code.ts';
import { withParameter } from './landing-address.ts';
import { pathOfTarget } from '#src/catalog/link-target.ts';
import type { VisitorHandler } from './visitor-handler.ts';
import type { Deps } from '#src/calls/call.ts';

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
  const settings = await readSettings(deps, row.owner);
  const fallback = settings?.fallback && deps.origin() + pathOfTarget(settings.fallback);
  if (row.disabled) return done(present({ target: fallback }));
  const destination = destinationOf(deps, { row, fallback, at });
  if (destination === undefined) return done({});
  const visitId = await deps.visits.record(row, input, requestId);
  const { address, target } = landingAt(deps.origin(), destination);
  const days = settings?.attribution_days;
  const token =
    visitId !== undefined && target && tokenOf(deps, row, { target, visitId, at, days });
  const attributed = token && withParameter(address, [ATTRIBUTION_PARAMETER, token]);
  const shown = withParameter(address, [VIA_PARAMETER, link.code]);
  // A landing page without attribution is better than an address that is refused for its length.
  const fitting = [attributed, shown].find((one) => one && one.length <= LIMITS.URL_BYTES_MAX);
  return done({ target: fitting || address });
};

/** Reads what an owner decides for all links, those of the test space included. */
const readSettings = ({ readModels }: Pick<Deps, 'readModels'>, ownerId: string) =>
  readModels.get<LinkSettings>('codes', liveOwnerOf(ownerId), LINK_SETTINGS);

type Click = Pick<AttributionClaims, 'target'> & {
  visitId: string;
  at: number;
  days: number | undefined;
};

const tokenOf = (
  { secrets }: Pick<Deps, 'secrets'>,
  { owner, agent_id, link_id }: CodeRow,
  { target, visitId, at, days = LIMITS.ATTRIBUTION_DAYS }: Click,
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
