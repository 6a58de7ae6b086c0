import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';

type Tagged = { type: string; body: Buffer | string; digest: string };

/** Sends bytes that have a digest, or 304 to who holds them already. */
export const sendTagged = (
  reply: FastifyReply,
  { type, body, digest }: Tagged,
  cacheControl: string,
): FastifyReply => {
  const tag = `"${digest}"`;
  reply.headers({ etag: tag, 'cache-control': cacheControl });
  const held = reply.request.headers['if-none-match'] ?? '';
  // A proxy that compresses makes the tag weak; the bytes behind it are the same.
  const isHeld = held.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
  if (isHeld || held.trim() === '*') return reply.code(304).send();
  return reply.header('content-type', type).send(body);
};

const DIGEST_CHARS = 22;
const CACHE = 'public, max-age=60';

type Document = {
  paths: readonly string[];
  type: string;
  /** A text as it is, anything else as JSON. */
  make(origin: string): string | object;
  /** Beside tag and cache; made anew for each answer. */
  headers?(): Record<string, string>;
};

/** A document that needs no credential: made once, the same bytes for everyone, cacheable. */
export const documentRoute = (
  server: FastifyInstance,
  origin: () => string,
  { paths, type, make, headers }: Document,
): void => {
  let made: Tagged | undefined;
  const get = (): Tagged => {
    if (made) return made;
    const content = make(origin());
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`;
    const digest = hash('sha256', text, 'base64url').slice(0, DIGEST_CHARS);
    made = { type, body: Buffer.from(text), digest };
    return made;
  };
  for (const url of paths)
    server.get(url, (_request, reply) => {
      if (headers) reply.headers(headers());
      sendTagged(reply, get(), CACHE);
    });
};
