import { hash } from 'node:crypto';
import { encode } from 'uqr';
import { cached } from '#src/shared/cached.ts';
import { monochromePng } from './qr-png.pages.ts';

/** White modules around the code; ISO/IEC 18004 requires four. */
const QUIET_ZONE = 4;

/** Pixels per module. */
const SCALE = 8;

/** Sets every option, so that a new default of the library does not change the picture. */
const matrixOf = (text: string): boolean[][] =>
  encode(text, { ecc: 'M', boostEcc: true, maskPattern: -1, minVersion: 1, border: QUIET_ZONE })
    .data;

export type Picture = { type: string; body: Buffer; digest: string };

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
