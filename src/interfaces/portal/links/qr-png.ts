import { crc32 } from 'node:zlib';

/*
 * Writes PNGs whose bytes depend on the picture only. The output of zlib differs between its versions, so the picture
 * is stored uncompressed, about 10 kB at one bit per pixel.
 */

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Largest stored block of deflate. */
const BLOCK_BYTES_MAX = 65_535;

const ADLER_MODULUS = 65_521;

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
    chunk('IDAT', stored(scanlines(dark, width, scale))),
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

/** Makes a zlib stream of stored blocks. */
const stored = (data: Buffer): Buffer => {
  const parts: Buffer[] = [Buffer.from([0x78, 0x01])];
  for (let at = 0; at < data.length; at += BLOCK_BYTES_MAX) {
    const block = data.subarray(at, at + BLOCK_BYTES_MAX);
    const head = Buffer.alloc(5);
    head[0] = at + block.length >= data.length ? 1 : 0;
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(~block.length & 0xffff, 3);
    parts.push(head, block);
  }
  const check = Buffer.alloc(4);
  check.writeUInt32BE(adler32(data), 0);
  return Buffer.concat([...parts, check]);
};

const adler32 = (data: Buffer): number => {
  let a = 1;
  let b = 0;
  for (const byte of data) {
    a = (a + byte) % ADLER_MODULUS;
    b = (b + a) % ADLER_MODULUS;
  }
  return ((b << 16) | a) >>> 0;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length, 0);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body), 0);
  return Buffer.concat([length, body, check]);
};
