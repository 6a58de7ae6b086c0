/** Documents that are rendered once and served with an ETag. */
import { hash } from 'node:crypto';
import '@fastify/compress';
import type { FastifyInstance, FastifyReply } from 'fastify';

const DIGEST_CHARS = 22;

/** Options of routes whose answers are compressed for clients that accept it. */
export const COMPRESSED = { compress: {} } as const;

type Tagged = { type: string; body: Buffer | string; digest: string };

const digestOfText = (text: string): string =>
  hash('sha256', text, 'base64url').slice(0, DIGEST_CHARS);

/** The same for everybody and without a credential: pages of every origin may read it. */
const FOR_EVERY_ORIGIN = { 'access-control-allow-origin': '*' } as const;

/** Sends bytes with their digest as ETag (weak: compressed bytes have the same), or 304 to a client that has them. */
export const sendTagged = (
  reply: FastifyReply,
  { type, body, digest }: Tagged,
  cacheControl: string,
): FastifyReply => {
  const tag = `"${digest}"`;
  reply.headers({ ...FOR_EVERY_ORIGIN, etag: `W/${tag}`, 'cache-control': cacheControl });
  const known = reply.request.headers['if-none-match'] ?? '';
  const isKnown = known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
  if (isKnown || known.trim() === '*') return reply.code(304).send();
  return reply.header('content-type', type).send(body);
};

const CACHE = 'public, max-age=60';

type Document = {
  paths: readonly string[];
  type: string;
  /** Makes the text, or an object that is sent as JSON. */
  make(origin: string): string | object;
  /** More headers, made for each answer. */
  headers?(): Record<string, string>;
};

/** Redirects from a path under which clients look for a document to the document. */
export const redirectRoute = (server: FastifyInstance, from: string, to: string): void => {
  server.get(from, (_request, reply) => reply.headers(FOR_EVERY_ORIGIN).redirect(to, 301));
};

/** Sends a text that is the same for everybody, with its tag. */
export const sendPublic = (reply: FastifyReply, type: string, text: string): FastifyReply =>
  sendTagged(reply, { type, body: text, digest: digestOfText(text) }, CACHE);

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
    made = { type, body: Buffer.from(text), digest: digestOfText(text) };
    return made;
  };
  for (const url of paths)
    server.get(url, COMPRESSED, (_request, reply) => {
      if (headers) reply.headers(headers());
      sendTagged(reply, get(), CACHE);
    });
};
