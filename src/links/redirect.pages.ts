/** The redirect of a link, its QR code, and how every page for visitors admits them. */
import { hash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { encode } from 'uqr';
import type { App } from '#src/registries/app.ts';
import { cached } from '#src/shared/work.ts';
import { present } from '#src/shared/json.ts';
import { sendTagged } from '#src/web/documents.ts';
import { notFoundPage, sendErrorPage, sendRefusal } from '#src/web/error-pages.ts';
import type { VisitorOperations } from '#contracts/registries/visitors.ts';
import type { VisitorRequest } from '#src/calls/pipeline.ts';
import { Refused } from '#src/shared/outcome.ts';
import { codeIn, firstOf, refuseMethod, type SentValue } from '#src/web/http.ts';
import { LINK_HEADERS } from '#src/web/layout.ts';
import { FALSE_CLICKS } from './false-clicks.ts';

/** Admits a visitor. Throws a refusal as an error, which the error page answers. */
export const admitVisitor = (
  { visitors }: Pick<App, 'visitors'>,
  request: FastifyRequest,
  id: keyof VisitorOperations,
): VisitorRequest => {
  const refusal = visitors.admit(id);
  if (refusal) throw new Refused(refusal);
  return { surface: 'portal', requestId: request.id };
};

/*
 * Writes PNGs whose bytes depend only on the picture. How zlib compresses differs between its versions, so the picture
 * is stored uncompressed, about 10 kB at one bit per pixel.
 */

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Draws rows of dark and light cells, each as `scale` by `scale` pixels. */
export const monochromePng = (dark: readonly boolean[][], scale: number): Buffer => {
  const height = dark.length * scale;
  const width = (dark[0]?.length ?? 0) * scale;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, 0, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(scanlines(dark, width, scale), { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

/** Scan lines: the filter byte 0, then eight pixels in each byte; 1 is white. */
const scanlines = (dark: readonly boolean[][], width: number, scale: number): Buffer => {
  const lineBytes = 1 + Math.ceil(width / 8);
  const out = Buffer.alloc(lineBytes * dark.length * scale);
  let at = 0;
  for (const row of dark) {
    const line = Buffer.alloc(lineBytes);
    for (let x = 0; x < width; x++) {
      if (row[Math.floor(x / scale)]) continue;
      const byte = 1 + (x >> 3);
      line[byte] = (line[byte] ?? 0) | (0x80 >> (x & 7));
    }
    for (let copy = 0; copy < scale; copy++) at += line.copy(out, at);
  }
  return out;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length, 0);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body), 0);
  return Buffer.concat([length, body, check]);
};

/** White modules around the code; ISO/IEC 18004 requires four. */
const QUIET_ZONE = 4;

/** Pixels per module. */
const SCALE = 8;

/** Sets every option, so that a new default of the library does not change the picture. */
const matrixOf = (text: string): boolean[][] =>
  encode(text, { ecc: 'M', boostEcc: true, maskPattern: -1, minVersion: 1, border: QUIET_ZONE })
    .data;

type Picture = { type: string; body: Buffer; digest: string };

const picture = (type: string, body: Buffer): Picture => ({
  type,
  body,
  digest: hash('sha256', body, 'hex').slice(0, 16),
});

/** Limit of the cached pictures; making one takes about 5 ms. */
const CACHED_MAX = 256;

/** Draws a text as a QR code; the same text gives the same bytes. */
export const qrPng = cached(CACHED_MAX, (text: string) =>
  picture('image/png', monochromePng(matrixOf(text), SCALE)),
);

export const qrSvg = cached(CACHED_MAX, (text: string) => {
  const rows = matrixOf(text);
  const size = rows.length;
  const path = rows.map((row, y) => runsOf(row, y)).join('');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="QR code"
 width="${size * SCALE}" height="${size * SCALE}" viewBox="0 0 ${size} ${size}"
 shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/>
<path d="${path}"/></svg>
`;
  return picture('image/svg+xml; charset=utf-8', Buffer.from(svg));
});

/** Draws adjacent dark modules as one bar, which takes a third of the bytes of single squares. */
const runsOf = (row: readonly boolean[], y: number): string => {
  let path = '';
  for (let x = 0; x < row.length; x++) {
    if (!row[x]) continue;
    const start = x;
    while (row[x + 1]) x++;
    const width = x + 1 - start;
    path += `M${start} ${y}h${width}v1h-${width}z`;
  }
  return path;
};

type ByCode = { Params: { code: string }; Querystring: { via?: SentValue } };

export type LinkOptions = {
  /** Header in which a proxy sends the visitor's country; ignored unless it has two letters. */
  countryHeader?: string | undefined;
};

const COUNTRY = /^[A-Za-z]{2}$/;
const NO_LINK = 'There is no such link. Check that it is complete.';

/** One day: the picture of a link never changes. */
const PICTURE_CACHE = 'public, max-age=86400';

/** Serves short links, which record the visit and redirect, and their QR codes. */
export const linkRoutes = (scope: FastifyInstance, app: App, options: LinkOptions): void => {
  const { visitors, origin } = app;
  scope.route<ByCode>({
    method: ['GET', 'HEAD'],
    url: '/:code',
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
  const purposes = FALSE_CLICKS.headers.flatMap(({ name }) => headers[name] ?? []);
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
    via_qr: codeIn(request.query.via) === 'qr',
  });
};
