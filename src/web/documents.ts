/** Documents that are rendered once and served with an ETag. */
import { hash } from 'node:crypto';
import '@fastify/compress';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { refuse, Refused } from '#src/shared/outcome.ts';

const DIGEST_CHARS = 22;

/** Options of routes whose answers are compressed for clients that accept it. */
export const COMPRESSED = { compress: {} } as const;

type Tagged = { type: string; body: Buffer | string; digest: string };

const digestOfText = (text: string): string =>
  hash('sha256', text, 'base64url').slice(0, DIGEST_CHARS);

/** The same for everybody and without a credential: pages of every origin may read it. */
const FOR_EVERY_ORIGIN = { 'access-control-allow-origin': '*' } as const;

/** Whether a list of tags has this one, or is `*`. Tags are compared weakly: compressed bytes have the same. */
const hasTag = (list: string, tag: string): boolean =>
  list.trim() === '*' || list.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);

/** Whether the client has this version: by its tag, or by the time if it sends no tag. */
const isKnown = (reply: FastifyReply, tag: string): boolean => {
  const { 'if-none-match': known, 'if-modified-since': since } = reply.request.headers;
  if (known !== undefined) return hasTag(known, tag);
  const modified = reply.getHeader('last-modified');
  return (
    since !== undefined &&
    modified !== undefined &&
    Date.parse(String(modified)) <= Date.parse(since)
  );
};

/** Whether the client requires another version: by its tag, or by the time if it sends no tag. */
const isOther = (reply: FastifyReply, tag: string): boolean => {
  const { 'if-match': required, 'if-unmodified-since': since } = reply.request.headers;
  if (required !== undefined) return !hasTag(required, tag);
  const modified = reply.getHeader('last-modified');
  return (
    since !== undefined &&
    modified !== undefined &&
    Date.parse(String(modified)) > Date.parse(since)
  );
};

/** Sends bytes with their digest as ETag; 304 to a client that has them, and 412 to one that requires others. */
export const sendTagged = (
  reply: FastifyReply,
  { type, body, digest }: Tagged,
  cacheControl: string,
): FastifyReply => {
  const tag = `"${digest}"`;
  reply.headers({ ...FOR_EVERY_ORIGIN, etag: `W/${tag}`, 'cache-control': cacheControl });
  if (isOther(reply, tag))
    throw new Refused(
      refuse(
        'precondition_failed',
        'The document has another ETag than If-Match names, or changed after If-Unmodified-Since.',
      ),
    );
  if (isKnown(reply, tag)) return reply.code(304).send();
  return reply.header('content-type', type).send(body);
};

const CACHE = 'public, max-age=60';

export type Document = {
  paths: readonly string[];
  type: string;
  /** Makes the text, or an object that is sent as JSON. */
  make(origin: string): string | object | Promise<string>;
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
  const get = async (): Promise<Tagged> => {
    if (made) return made;
    const content = await make(origin());
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`;
    made = { type, body: Buffer.from(text), digest: digestOfText(text) };
    return made;
  };
  for (const url of paths)
    server.get(url, COMPRESSED, async (_request, reply) => {
      if (headers) reply.headers(headers());
      return sendTagged(reply, await get(), CACHE);
    });
};
