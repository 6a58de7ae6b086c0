/** Sign-in with an account of the OpenID provider, and the accounts of somebody who is signed in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import type { ActingAs } from '#contracts/people/records.ts';
import { lonePage } from '#src/owners/mailbox.pages.ts';
import type { App } from '#src/registries/app.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { withRetryAfter } from '#src/web/error-pages.ts';
import { arrivalOf } from '#src/web/http.ts';
import { type Html, type Page, sendPage, type You } from '#src/web/layout.ts';
import {
  answerRefusal,
  clearCookie,
  enteringOf,
  formFields,
  newKey,
  readCookie,
  serveMyAct,
  setCookie,
  signedIn,
  type SignedIn,
} from '#src/web/person-admission.ts';
import { OPENID_CALLBACK, TOO_LATE } from './openid.ts';
import type { StartedSession } from './sessions.ts';
import { localPath } from './sign-in.ts';

const hostOf = (issuer: string): string => URL.parse(issuer)?.host ?? issuer;

/** The query that takes the page to go on with along; empty without one. */
const continuingWith = (to: string | undefined): string =>
  to === undefined ? '' : `?${new URLSearchParams({ to }).toString()}`;

/** The way to the provider; empty if there is none. A link, because forms of this service are sent to itself only. */
export const openIdLink = (issuer: string | undefined, to: string | undefined): Html | '' =>
  issuer === undefined
    ? ''
    : html`<p class="card"><a class="button second" href="/signin/openid${continuingWith(to)}">Sign in with ${hostOf(issuer)}</a></p>`;

const refusedPage = (detail: string, to: string | undefined): Page =>
  lonePage(
    'You are not signed in',
    html`<p class="lede">${detail}</p>
<p><a href="/signin${continuingWith(to)}">All ways to sign in</a></p>`,
  );

/** The refusals that lead to the other ways in. */
const STATUS: Partial<Record<Refusal['code'], 409 | 503>> = {
  state_conflict: 409,
  overloaded: 503,
};

/** Between what the browser was asked and the page to go on with, in one cookie. */
const SEPARATOR = '~';

const keepAsked = (
  reply: FastifyReply,
  app: App,
  { asked, to = '' }: { asked: string; to?: string | undefined },
): FastifyReply =>
  setCookie(reply, app, ['openid', `${asked}${SEPARATOR}${Buffer.from(to).toString('base64url')}`]);

const askedOf = (request: FastifyRequest, app: App) => {
  const [asked = '', to = ''] = (readCookie(request, app, 'openid') ?? '').split(SEPARATOR);
  return { asked, to: localPath(Buffer.from(to, 'base64url').toString()) };
};

/** The query of an address, with its question mark. */
const queryOf = ({ url }: FastifyRequest): string => {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start);
};

/** The page to go on with after the provider, if the account is to be linked. */
const LINKED = '/me/accounts/linked';
const LINK = '/me/accounts/link';

/** What the routes of each way in are given by the sign-in. */
export type SignInScope = {
  scope: FastifyInstance;
  app: App;
  /** Admits a request with the token of its path, if it has one. */
  admit(request: FastifyRequest, exchange: string): ReturnType<App['holders']['admit']>;
  /** Answers a refusal: 429 with the time to wait, 404 for a link that is over, 409 elsewhere. */
  refused(reply: FastifyReply, refusal: Refusal): Promise<FastifyReply>;
  /** Sets the cookie of a session that was started, and continues with the page that needed it. */
  enter(
    reply: FastifyReply,
    outcome: Outcome<StartedSession>,
  ): FastifyReply | Promise<FastifyReply>;
};

/** Serves `/signin/openid`, to the provider and back. */
export const openIdRoutes = ({ scope, app, refused, enter }: SignInScope): void => {
  const answer = (
    reply: FastifyReply,
    refusal: Refusal,
    to: string | undefined,
  ): FastifyReply | Promise<FastifyReply> => {
    const status = STATUS[refusal.code];
    return status === undefined
      ? refused(reply, refusal)
      : sendPage(withRetryAfter(reply, refusal), status, refusedPage(refusal.detail, to));
  };

  scope.get<{ Querystring: { to?: unknown } }>('/signin/openid', async (request, reply) => {
    const to = localPath([request.query.to].flat().map(String).at(-1));
    const arrival = { ...arrivalOf(request, 'portal'), credential: '' };
    const admitted = await app.holders.admit(arrival, { exchange: 'askForOpenId' });
    if (!admitted.ok) return refused(reply, admitted);
    const input = { address: request.ip };
    const question = await app.holders.perform(admitted.value, 'askForOpenId', { input });
    if (!question.ok) return answer(reply, question, to);
    const { asked, url } = question.value;
    return keepAsked(reply, app, { asked, to }).redirect(url, 303);
  });

  // HEAD would use up the code of the provider.
  scope.get(OPENID_CALLBACK, { exposeHeadRoute: false }, async (request, reply) => {
    const { asked: credential, to } = askedOf(request, app);
    const query = queryOf(request);
    // Somebody who is signed in links the account.
    if (to === LINKED) return reply.redirect(`${LINKED}${query}`, 303);
    const arrival = { ...arrivalOf(request, 'portal'), credential };
    const admitted = await app.holders.admit(arrival, { exchange: 'useOpenId' });
    if (!admitted.ok) return refused(reply, admitted);
    const input = { query, ...present({ to }), ...enteringOf(request, app) };
    const outcome = await app.holders.perform(admitted.value, 'useOpenId', { input });
    clearCookie(reply, app, 'openid');
    return outcome.ok ? enter(reply, outcome) : answer(reply, outcome, to);
  });
};

/** The accounts of a person, with the way to link one of the provider; empty if there is neither. */
export const accountSection = (
  you: You,
  accounts: ActingAs['accounts'],
  issuer: string | undefined,
): Html | '' => {
  const canLink = issuer !== undefined && accounts.every((account) => account.issuer !== issuer);
  if (accounts.length === 0 && !canLink) return '';
  return html`<section><h2>Accounts</h2>
<p>With an account of another service you sign in without a mailed link. One that you unlink signs in no more.</p>
${
  accounts.length > 0 &&
  html`<ul class="plain">${accounts.map((account) => accountItem(you, account))}</ul>`
}${
  canLink &&
  html`<form method="post" action="${LINK}">${formFields(you)}<button type="submit" class="second">Link your account of ${hostOf(issuer)}</button></form>`
}</section>`;
};

const accountItem = (you: You, { issuer }: ActingAs['accounts'][number]): Html =>
  html`<li class="card"><h3>${hostOf(issuer)}</h3>
<form method="post" action="/me/accounts/unlink">${formFields(you)}<input type="hidden" name="issuer" value="${issuer}">
<button type="submit" class="second">Unlink <span class="unseen">the account of ${hostOf(issuer)}</span></button></form></li>`;

/** The browser follows the header; a form must not be answered with the address of another site. */
const leavingPage = (you: You, url: string): Page => ({
  title: 'Sign in there',
  you,
  main: html`<article class="review"><header class="head"><h1>Sign in there</h1></header>
<p class="lede">You go on at ${new URL(url).host}. Sign in with the account that you want to link, and you come back here.</p>
<p><a class="button" href="${url}">Continue</a></p></article>`,
});

const notLinkedPage = (you: You, detail: string): Page => ({
  title: 'The account is not linked',
  you,
  main: html`<article class="review"><header class="head"><h1>The account is not linked</h1></header>
<p class="lede">${detail}</p><p><a href="/me">Back to your page</a></p></article>`,
});

/** Serves `/me/accounts` in the scope of `/me`. */
export const accountRoutes = (scope: FastifyInstance, app: App): void => {
  serveMyAct(scope, app, [
    '/me/accounts/unlink',
    'unlinkAccount',
    ({ issuer = '' }) => ({ issuer }),
  ]);

  const refused = (
    [request, reply]: readonly [FastifyRequest, FastifyReply],
    { you }: SignedIn,
    refusal: Refusal,
  ): FastifyReply | Promise<FastifyReply> => {
    const status = STATUS[refusal.code];
    return status === undefined
      ? answerRefusal(request, reply, { app, refusal })
      : sendPage(withRetryAfter(reply, refusal), status, notLinkedPage(you, refusal.detail));
  };

  scope.get(LINK, async (_request, reply) => reply.redirect('/me', 303));
  scope.post(LINK, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const offered = await app.desk.perform(person.admission, 'offerAccountLink', { input: {} });
    if (!offered.ok) return refused([request, reply], person, offered);
    const { asked, url } = offered.value;
    const kept = keepAsked(reply, app, { asked, to: LINKED });
    return sendPage(kept.header('refresh', `0; url=${url}`), 200, leavingPage(person.you, url));
  });

  // HEAD would use up the code of the provider.
  scope.get(LINKED, { exposeHeadRoute: false }, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const [{ asked }, answer] = [askedOf(request, app), queryOf(request)];
    // Somebody who had to sign in again begins anew.
    if (answer === '') return reply.redirect('/me', 303);
    const input = { idempotency_key: newKey(), asked, answer };
    const linked =
      asked === '' ? TOO_LATE : await app.desk.perform(person.admission, 'linkAccount', { input });
    if (!linked.ok && linked.code === 'fresh_sign_in_needed')
      return answerRefusal(request, reply, { app, refusal: linked });
    clearCookie(reply, app, 'openid');
    return linked.ok ? reply.redirect('/me', 303) : refused([request, reply], person, linked);
  });
};
