import type { CodeRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import type { VisitorHandler } from './visitor-handler.ts';

const CODE = /^[a-z0-9-]{3,64}$/;
/** The pages that links lead to, whatever origin their address has. */
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

/** The destination at `at`; undefined when the link leads nowhere any more. */
const destinationOf = (
  { catalog }: Pick<Deps, 'catalog'>,
  row: CodeRow,
  at: number,
): string | undefined => {
  if (row.disabled) return undefined;
  if (row.expires_at !== undefined && row.expires_at <= at) return row.expired_url;
  // Without another destination, the page of the product says that it is withdrawn, and what else there is.
  if (row.expired_url === undefined) return row.destination_url;
  const { product_id } = row.dims;
  const isWithdrawn = product_id !== undefined && catalog.withdrawn([product_id]).size > 0;
  return isWithdrawn ? row.expired_url : row.destination_url;
};

/**
 * Puts the present origin before a destination: it is a page of this service, under the origin that the service
 * had when the link was made. So a link survives a move, and leads to no other host.
 */
const atOrigin = (destination: string, origin: string): string => {
  const { pathname, search } = new URL(destination);
  return origin + (PAGE.exec(pathname)?.[0] ?? '/') + search;
};

/** Records a visit, then answers where the link leads. A link that leads nowhere records none. */
export const visitLink: VisitorHandler<'visitLink'> = async (deps, input, { at, requestId }) => {
  const found = await find(deps, input.code);
  if (!found) return NO_LINK;
  const destination = destinationOf(deps, found.row, at);
  if (destination === undefined) return done({});
  const { method, address, user_agent, purpose, dest, referrer, country, via_qr } = input;
  await deps.visits.record(found.row, {
    requestId,
    method,
    address,
    userAgent: user_agent,
    purpose,
    dest,
    referrer,
    country,
    viaQr: via_qr,
  });
  return done({ target: atOrigin(destination, deps.origin()) });
};

export const locateLink: VisitorHandler<'locateLink'> = async (deps, input) => {
  const found = await find(deps, input.code);
  return found
    ? done({ code: found.code, url: `${deps.origin()}/l/${found.code}?via=qr` })
    : NO_LINK;
};
