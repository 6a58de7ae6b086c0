import type { CodeRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import type { VisitorHandler } from './visitor-handler.ts';

const CODE = /^[a-z0-9-]{3,64}$/;
/** The paths of the pages that links lead to, after any origin. */
const PAGE = /\/(?:[pc]\/[^/]+|s)$/;

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
const atOrigin = (destination: string, origin: string): string => {
  const { pathname, search } = new URL(destination);
  return origin + (PAGE.exec(pathname)?.[0] ?? '/') + search;
};

/** Records a visit and resolves to the destination. A link without a destination records no visit. */
export const visitLink: VisitorHandler<'visitLink'> = async (deps, input, { at, requestId }) => {
  const link = await find(deps, input.code);
  if (!link) return NO_LINK;
  const destination = destinationOf(deps, link.row, at);
  if (destination === undefined) return done({});
  await deps.visits.record(link.row, input, requestId);
  return done({ target: atOrigin(destination, deps.origin()) });
};

export const locateLink: VisitorHandler<'locateLink'> = async (deps, input) => {
  const link = await find(deps, input.code);
  return link ? done({ code: link.code, url: `${deps.origin()}/l/${link.code}?via=qr` }) : NO_LINK;
};
