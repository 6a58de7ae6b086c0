import { hash } from 'node:crypto';
import { crc32, inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { encode } from 'uqr';
import { describe, expect, it } from 'vitest';
import { monochromePng, qrPng, qrSvg } from '#src/links/redirect.pages.ts';

const LINK = 'https://tributary.example/l/spring-bread-bin?via=qr';

/** Decodes the PNGs of the service independently: rows of dark pixels. */
const read = (png: Buffer): boolean[][] => {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(crc32(body)).toBe(png.readUInt32BE(at + 8 + length));
    chunks.set(body.toString('latin1', 0, 4), body.subarray(4));
    at += 12 + length;
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
  const header = chunks.get('IHDR') ?? Buffer.alloc(0);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  // One bit of gray, no interlacing.
  expect([...header.subarray(8)]).toEqual([1, 0, 0, 0, 0]);
  const lines = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0));
  const stride = 1 + Math.ceil(width / 8);
  expect(lines.length).toBe(stride * height);
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => {
      const byte = lines[y * stride + 1 + (x >> 3)] ?? 0;
      return (byte & (0x80 >> (x & 7))) === 0;
    }),
  );
};

describe('The QR code of a link', () => {
  it("A link's QR code has the modules of the code, a border of four, and eight pixels for each module", () => {
    const modules = encode(LINK, { ecc: 'M', boostEcc: true, border: 4 }).data;
    const pixels = read(qrPng(LINK).body);
    expect(pixels).toHaveLength(modules.length * 8);
    expect(
      pixels.filter((_, y) => y % 8 === 3).map((row) => row.filter((_, x) => x % 8 === 5)),
    ).toEqual(modules);
    expect(modules.slice(0, 4).flat()).not.toContain(true);
    expect(modules.map((row) => row.slice(-4)).flat()).not.toContain(true);
  });

  it("A link's QR code is the same in SVG", () => {
    const svg = qrSvg(LINK).body.toString();
    const modules = encode(LINK, { ecc: 'M', boostEcc: true, border: 4 }).data;
    const drawn = modules.map((row) => row.map(() => false));
    for (const [, x, y, width] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
      drawn[Number(y)]?.fill(true, Number(x), Number(x) + Number(width));
    expect(drawn).toEqual(modules);
  });

  it("A link's QR code has the same bytes on every machine and with every zlib", () => {
    const digests = [qrPng(LINK).body, qrSvg(LINK).body].map((body) => hash('sha256', body, 'hex'));
    expect(digests).toMatchInlineSnapshot(`
      [
        "7565030fdcbf501f4df8080e8e411e94f795b023ec7f52d256814197d9ab8ae2",
        "c1772c9782f4043a396490b99bfcc7a94d410e49ba0cb10f7a20b0801668c368",
      ]
    `);
  });
});

describe('A black and white PNG', () => {
  it('A black and white PNG is decoded to the pixels that were encoded, at any size', () => {
    const picture = fc.integer({ min: 1, max: 40 }).chain((width) =>
      fc.array(fc.array(fc.boolean(), { minLength: width, maxLength: width }), {
        minLength: 1,
        maxLength: 40,
      }),
    );
    fc.assert(
      fc.property(picture, (rows) => {
        expect(read(monochromePng(rows, 1))).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it('A black and white PNG can be larger than one block of deflate', () => {
    const rows = Array.from({ length: 200 }, (_, y) =>
      Array.from({ length: 200 }, (__, x) => (x ^ y) % 3 === 0),
    );
    const pixels = read(monochromePng(rows, 8));
    expect(pixels).toHaveLength(1_600);
    expect(pixels[1_599]?.[1_599]).toBe(rows[199]?.[199]);
  });
});
