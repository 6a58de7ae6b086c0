import { crc32, deflateSync } from 'node:zlib';

/*
 * Writes PNGs whose bytes depend on the picture only. How zlib compresses differs between its versions, so the picture
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
