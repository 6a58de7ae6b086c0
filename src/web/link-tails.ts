/** Links that have something behind them, which a mail program, a chat or a person put there. */
import type { FastifyReply } from 'fastify';
import { LINK_HEADERS } from './layout.ts';
import { NOSNIFF } from './problem.ts';

/**
 * The longest beginning of a path that can be an address of a page. Codes, tokens and names end with a letter or a
 * digit of ASCII, and have no other characters inside than these, escaped or not. Linear in the length of the path.
 */
const ADDRESS = /^(?:(?:[-_./]|%(?:2[de]|5f))*(?:[a-z\d]|%(?:3\d|[46][1-9a-f]|[57][\da])))*/i;

/** What is answered as it is: the paths that programs call, and URLs with a host. */
const EXEMPT = /^(?!\/)|^\/(?:api|\.well-known)\//;

const cleanPath = (path: string): string => {
  // The name of a category may have any character; its page looks for what is behind it.
  if (path.startsWith('/c/')) return path.endsWith('/') ? path.slice(0, -1) : path;
  if (EXEMPT.test(path)) return path;
  // A second slash at the start would make the rest a host.
  return ADDRESS.exec(path)?.[0].replace(/^\/+/, '/') || '/';
};

/** Redirects to another path, with the query of the request. */
export const redirectTo = (reply: FastifyReply, path: string): FastifyReply => {
  const { url } = reply.request;
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return reply.headers({ ...LINK_HEADERS, ...NOSNIFF }).redirect(path + query, 301);
};

/** Redirects a page's address with something behind it to the address; undefined if there is nothing to remove. */
export const redirectWithoutTail = (reply: FastifyReply): FastifyReply | undefined => {
  const { method, url } = reply.request;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const [path = ''] = url.split('?', 1);
  const clean = cleanPath(path);
  return clean === path ? undefined : redirectTo(reply, clean);
};

/** Removes what is behind a code or a token in a query; a token can end with `-` or `_`. */
export const withoutTail = (text: string): string => /^[\w.~-]*[\w-]/.exec(text)?.[0] ?? '';
