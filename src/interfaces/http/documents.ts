import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';

type Tagged = { type: string; body: Buffer | string; digest: string };

/** Sends bytes with their digest as ETag, or 304 to a client that has them. */
export const sendTagged = (
  reply: FastifyReply,
  { type, body, digest }: Tagged,
  cacheControl: string,
): FastifyReply => {
  const tag = `"${digest}"`;
  reply.headers({ etag: tag, 'cache-control': cacheControl });
  const known = reply.request.headers['if-none-match'] ?? '';
  // A compressing proxy makes the tag weak; the uncompressed bytes are the same.
  const isKnown = known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
  if (isKnown || known.trim() === '*') return reply.code(304).send();
  return reply.header('content-type', type).send(body);
};

const DIGEST_CHARS = 22;
const CACHE = 'public, max-age=60';

type Document = {
  paths: readonly string[];
  type: string;
  /** Makes the text, or an object that is sent as JSON. */
  make(origin: string): string | object;
  /** More headers, made for each answer. */
  headers?(): Record<string, string>;
};

/** Serves a public document, which is made once and cacheable. */
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
