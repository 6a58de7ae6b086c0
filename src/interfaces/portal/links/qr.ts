import { hash } from 'node:crypto';
import { encode } from 'uqr';
import { monochromePng } from './qr-png.ts';

/** Modules of white around the code: ISO/IEC 18004 asks for four. */
const QUIET_ZONE = 4;

/** Pixels per module. */
const SCALE = 8;

/** Everything is said, so that another default of the library changes no picture. */
const matrixOf = (text: string): boolean[][] =>
  encode(text, { ecc: 'M', boostEcc: true, maskPattern: -1, minVersion: 1, border: QUIET_ZONE })
    .data;

export type Picture = { type: string; body: Buffer; digest: string };

const picture = (type: string, body: Buffer): Picture => ({
  type,
  body,
  digest: hash('sha256', body, 'hex').slice(0, 16),
});

/** A code costs five milliseconds to lay out, and whoever shows it asks again and again. */
const KEPT_MAX = 256;

const keeping = (draw: (text: string) => Picture): ((text: string) => Picture) => {
  const kept = new Map<string, Picture>();
  return (text) => {
    const known = kept.get(text);
    if (known) return known;
    if (kept.size >= KEPT_MAX) kept.clear();
    const drawn = draw(text);
    kept.set(text, drawn);
    return drawn;
  };
};

/** The same text gives the same bytes, always. */
export const qrPng = keeping((text) => picture('image/png', monochromePng(matrixOf(text), SCALE)));

export const qrSvg = keeping((text) => {
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

/** Dark modules side by side as one bar: a third of the size of a square each. */
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
