import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '#src/registries/app.ts';
import { present } from '#src/shared/present.ts';
import { sendTagged } from '#src/web/documents.ts';
import { refuseMethod } from '#src/web/http.ts';
import { notFoundPage, sendErrorPage, sendRefusal } from '#src/web/error-pages.ts';
import { LINK_HEADERS } from '#src/web/headers.ts';
import { qrPng, qrSvg } from './qr.pages.ts';
import { admitVisitor, firstOf, type SentValue } from './visitor.pages.ts';

type ByCode = { Params: { code: string }; Querystring: { via?: SentValue } };

export type LinkOptions = {
  /** Header in which a proxy sends the visitor's country; ignored unless it has two letters. */
  countryHeader?: string | undefined;
};

const COUNTRY = /^[A-Za-z]{2}$/;
const PURPOSES = ['sec-purpose', 'purpose', 'x-moz'];
const NO_LINK = 'There is no such link. Check that it is complete.';

/** One day: the picture of a link never changes. */
const PICTURE_CACHE = 'public, max-age=86400';

/** Serves short links, which record the visit and redirect, and their QR codes. */
export const linkRoutes = (scope: FastifyInstance, app: App, options: LinkOptions): void => {
  const { visitors, origin } = app;
  // Some mail programs add a slash to every address.
  for (const url of ['/:code', '/:code/'])
    scope.route<ByCode>({
      method: ['GET', 'HEAD'],
      url,
      handler: async (request, reply) => {
        reply.headers(LINK_HEADERS);
        const input = visitOf(request, options);
        const followed = await visitors.perform('visitLink', {
          ...admitVisitor(app, request, 'visitLink'),
          input,
        });
        if (!followed.ok) return sendRefusal(reply, followed);
        const { target } = followed.value;
        return target === undefined ? gone(reply) : reply.redirect(target, 302);
      },
    });

  const pictures = { 'qr.svg': qrSvg, 'qr.png': qrPng } as const;
  for (const [name, draw] of Object.entries(pictures))
    scope.get<ByCode>(`/:code/${name}`, async (request, reply) => {
      const { code } = request.params;
      const located = await visitors.perform('locateLink', {
        ...admitVisitor(app, request, 'locateLink'),
        input: { code },
      });
      if (!located.ok) return sendRefusal(reply.headers(LINK_HEADERS), located);
      // Promoters embed the picture in their own pages.
      reply.header('cross-origin-resource-policy', 'cross-origin');
      return sendTagged(reply, draw(located.value.url), PICTURE_CACHE);
    });

  scope.setNotFoundHandler((_request, reply) => {
    reply.headers(LINK_HEADERS);
    return refuseMethod(reply, origin()) ?? notFoundPage(reply, NO_LINK);
  });
};

const gone = (reply: FastifyReply): Promise<FastifyReply> =>
  sendErrorPage(reply, 410, {
    title: 'This link has ended',
    detail: 'Its promoter ended it, or it has expired. The products may still be available.',
  });

const visitOf = (
  request: FastifyRequest<ByCode>,
  { countryHeader }: LinkOptions,
): Record<string, unknown> => {
  const { headers } = request;
  const purposes = PURPOSES.flatMap((name) => firstOf(headers[name]) ?? []);
  const country = countryHeader && firstOf(headers[countryHeader.toLowerCase()]);
  return present({
    code: request.params.code,
    method: request.method,
    address: request.ip,
    user_agent: headers['user-agent'],
    purpose: purposes.length > 0 ? purposes.join(' ') : undefined,
    dest: firstOf(headers['sec-fetch-dest']),
    referrer: headers.referer,
    country: country && COUNTRY.test(country) ? country.toUpperCase() : undefined,
    via_qr: firstOf(request.query.via) === 'qr',
  });
};
