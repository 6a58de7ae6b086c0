import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CodeRow } from '#src/ports/rows.ts';
import { notFoundPage, sendErrorPage } from '../layout/error-pages.ts';
import { sendTagged } from '#src/interfaces/http/documents.ts';
import { wrongMethod } from '#src/interfaces/http/http.ts';
import { LINK_HEADERS } from '../layout/headers.ts';
import type { PortalDeps } from '../portal-deps.ts';
import { qrPng, qrSvg } from './qr.ts';

type ByCode = { Params: { code: string }; Querystring: { via?: unknown } };

const CODE = /^[a-z0-9-]{3,64}$/;
/** What links lead to, whatever an address had before it. */
const PAGE = /\/(?:[pc]\/[^/]+|s)$/;
const COUNTRY = /^[A-Za-z]{2}$/;
const PURPOSES = ['sec-purpose', 'purpose', 'x-moz'];
const NO_LINK = 'There is no such link. Check that it is complete.';

/** Long enough to spare a printer's layout its reloads; a code leads to one place for ever. */
const PICTURE_CACHE = 'public, max-age=86400';

/** Short links: a visit, then the way on. And the picture of each. */
export const linkRoutes = (scope: FastifyInstance, deps: PortalDeps): void => {
  const find = async (code: string): Promise<{ code: string; row: CodeRow } | undefined> => {
    const folded = code.toLowerCase();
    if (!CODE.test(folded)) return undefined;
    const row = await deps.readModels.get<CodeRow>('codes', folded, '');
    return row && { code: folded, row };
  };

  /** undefined when the link leads nowhere any more. */
  const targetOf = (row: CodeRow, at: number): string | undefined => {
    if (row.disabled) return undefined;
    if (row.expires_at !== undefined && row.expires_at <= at) return row.expired_url;
    // Without another target, the product's page says that it is withdrawn, and knows a way on.
    if (row.expired_url === undefined) return row.destination_url;
    const { product_id } = row.dims;
    const isWithdrawn = product_id !== undefined && deps.catalog.withdrawn([product_id]).size > 0;
    return isWithdrawn ? row.expired_url : row.destination_url;
  };

  // Some mailers end every address with a slash.
  for (const url of ['/:code', '/:code/'])
    scope.route<ByCode>({
      method: ['GET', 'HEAD'],
      url,
      handler: async (request, reply) => {
        reply.headers(LINK_HEADERS);
        const found = await find(request.params.code);
        if (!found) return notFoundPage(reply, NO_LINK);
        const target = targetOf(found.row, deps.clock.now());
        if (target === undefined) return gone(reply);
        await deps.visits.record(found.row, visitOf(request, deps.countryHeader));
        return reply.redirect(hereOf(target, deps.origin()), 302);
      },
    });

  const pictures = { 'qr.svg': qrSvg, 'qr.png': qrPng } as const;
  for (const [name, draw] of Object.entries(pictures))
    scope.get<ByCode>(`/:code/${name}`, async (request, reply) => {
      const found = await find(request.params.code);
      if (!found) return notFoundPage(reply.headers(LINK_HEADERS), NO_LINK);
      // A promoter shows the picture on pages of its own.
      reply.header('cross-origin-resource-policy', 'cross-origin');
      return sendTagged(reply, draw(`${deps.origin()}/l/${found.code}?via=qr`), PICTURE_CACHE);
    });

  scope.setNotFoundHandler((_request, reply) => {
    reply.headers(LINK_HEADERS);
    return wrongMethod(reply, deps.origin()) ?? notFoundPage(reply, NO_LINK);
  });
};

/**
 * A target is a page of this service, under the address that the service had when the link was made:
 * it is sought under the present one, so that a link outlives a move and leads to no other host.
 */
const hereOf = (target: string, origin: string): string => {
  const { pathname, search } = new URL(target);
  return origin + (PAGE.exec(pathname)?.[0] ?? '/') + search;
};

const gone = (reply: FastifyReply): Promise<FastifyReply> =>
  sendErrorPage(reply, 410, {
    title: 'This link has ended',
    detail: 'Whoever shared it has ended it, or its time is over. The products may still be here.',
  });

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

const visitOf = (request: FastifyRequest<ByCode>, countryHeader: string | undefined) => {
  const { headers } = request;
  const purposes = PURPOSES.flatMap((name) => first(headers[name]) ?? []);
  const country = countryHeader && first(headers[countryHeader.toLowerCase()]);
  return {
    requestId: request.id,
    method: request.method,
    address: request.ip,
    userAgent: headers['user-agent'],
    purpose: purposes.length > 0 ? purposes.join(' ') : undefined,
    dest: first(headers['sec-fetch-dest']),
    referrer: headers.referer,
    country: country && COUNTRY.test(country) ? country.toUpperCase() : undefined,
    viaQr: request.query.via === 'qr',
  };
};
