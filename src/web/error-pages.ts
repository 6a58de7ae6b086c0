/** Pages for refusals and failures. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { PROBLEMS } from '#contracts/problems.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { FORM } from './http.ts';
import { rememberFailure } from './problem.ts';
import { portalHeaders, type Page, sendPage } from './layout.ts';

const RETRY_AFTER_S = 5;

/** `next`: where the page leads; without it, to what this service is. */
type ErrorText = { title: string; detail: string; next?: { path: string; text: string } };

/** Sends an error page, which is never cached. */
export const sendErrorPage = (
  reply: FastifyReply,
  status: number,
  text: ErrorText,
): Promise<FastifyReply> => {
  reply.header('cache-control', 'no-store');
  if (status === 503 && !reply.hasHeader('retry-after'))
    reply.header('retry-after', String(RETRY_AFTER_S));
  return sendPage(reply, status, errorPage(status, text));
};

const ABOUT = { path: '/', text: 'About this service' };

const errorPage = (status: number, { title, detail, next = ABOUT }: ErrorText): Page => ({
  title,
  main: html`<section class="lone"><p class="eyebrow">${status}</p><h1>${title}</h1>
<p class="lede">${detail}</p>
<p><a href="${next.path}">${next.text}</a></p></section>`,
});

export const UNAVAILABLE = {
  title: 'Not just now',
  detail:
    'We could not write this down safely, so we did not go on. Please try again in a few seconds.',
};

export const FOREIGN = {
  title: 'Sent from another site',
  detail:
    'The form came from a page that is not ours. Nothing was changed. Open our page again and use its form.',
};

const BUSY = {
  title: 'Too busy just now',
  detail: 'The service is busy right now. Please try again in a few seconds.',
};

const UNREADABLE = {
  title: 'The request cannot be read',
  detail: 'Go back, load the page again, and try once more. Nothing was changed.',
};

const OUR_FAULT = {
  title: 'Something here is wrong',
  detail: 'The error has been reported to the operators. Please try again later.',
};

const FAULTS: Record<number, { title: string; detail: string }> = {
  404: { title: 'Not found', detail: 'There is no page at this address.' },
  413: { title: 'Too much at once', detail: 'The form is larger than this page can send.' },
  414: {
    title: 'The address is too long',
    detail: 'Open the link as you received it, or go back and enter less. Nothing was changed.',
  },
  415: {
    title: 'Not a form of ours',
    detail: 'Only the forms on this page can be sent here. Nothing was changed.',
  },
  429: {
    title: 'Too much at once',
    detail: 'Your network asked for many pages within a second. Please try again in a moment.',
  },
};

/** Answers unreadable forms with pages, for programs too. */
export const errorPages = (scope: FastifyInstance): void => {
  scope.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 400 || status >= 500) throw error;
    if (status === 415) reply.header('accept', FORM);
    return sendErrorPage(reply, status, FAULTS[status] ?? UNREADABLE);
  });
};

/** Paths that only programs call. */
const OF_PROGRAMS = /^\/(?:api|\.well-known)\//;

/** Answers a browser with an error page, wherever the request was refused; undefined for programs. */
export const refuseBrowser = (reply: FastifyReply, refusal: Refusal): FastifyReply | undefined => {
  const { url, headers } = reply.request;
  if (OF_PROGRAMS.test(url) || !headers.accept?.includes('text/html')) return undefined;
  const { code, detail, cause } = refusal;
  const { status, title } = PROBLEMS[code];
  rememberFailure(reply.request, code, cause);
  const text = status >= 500 ? OUR_FAULT : (FAULTS[status] ?? { title, detail });
  void sendErrorPage(withRetryAfter(reply.headers(portalHeaders([])), refusal), status, text);
  return reply;
};

export const sendRefusal = (
  reply: FastifyReply,
  refusal: Omit<Refusal, 'ok'>,
): Promise<FastifyReply> => {
  const { code, detail, cause } = refusal;
  if (code === 'resource_not_found') return notFoundPage(reply, detail);
  rememberFailure(reply.request, code, cause);
  const { status, title } = PROBLEMS[code];
  if (status < 500) return sendErrorPage(withRetryAfter(reply, refusal), status, { title, detail });
  return sendErrorPage(reply, 503, code === 'overloaded' ? BUSY : UNAVAILABLE);
};

export const notFoundPage = (reply: FastifyReply, what: string): Promise<FastifyReply> =>
  sendErrorPage(reply, 404, { title: 'Not found', detail: what });

/** Says when a limited client may try again. */
export const withRetryAfter = (
  reply: FastifyReply,
  { retryAfterS }: Pick<Refusal, 'retryAfterS'>,
): FastifyReply =>
  retryAfterS === undefined ? reply : reply.header('retry-after', String(retryAfterS));
