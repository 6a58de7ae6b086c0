/** Sign-in with an account of the OpenID provider, and the accounts of somebody who is signed in. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import type { ActingAs } from '#contracts/people/records.ts';
import { lonePage } from '#src/owners/mailbox.pages.ts';
import type { App } from '#src/registries/app.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { withRetryAfter } from '#src/web/error-pages.ts';
import { arrivalOf } from '#src/web/http.ts';
import { type Html, type Page, sendPage, type You } from '#src/web/layout.ts';
import {
  clearCookie,
  enteringOf,
  formFields,
  readCookie,
  serveMyAct,
  setCookie,
} from '#src/web/person-admission.ts';
import { OPENID_CALLBACK } from './openid.ts';
import type { SignInScope } from './sign-in.pages.ts';
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
    const question = await app.holders.perform(admitted.value, 'askForOpenId', { input: {} });
    if (!question.ok) return answer(reply, question, to);
    const { asked, url } = question.value;
    const kept = `${asked}${SEPARATOR}${Buffer.from(to ?? '').toString('base64url')}`;
    return setCookie(reply, app, ['openid', kept]).redirect(url, 303);
  });

  // HEAD would use up the code of the provider.
  scope.get(OPENID_CALLBACK, { exposeHeadRoute: false }, async (request, reply) => {
    const [credential = '', kept = ''] = (readCookie(request, app, 'openid') ?? '').split(
      SEPARATOR,
    );
    const to = localPath(Buffer.from(kept, 'base64url').toString());
    const arrival = { ...arrivalOf(request, 'portal'), credential };
    const admitted = await app.holders.admit(arrival, { exchange: 'useOpenId' });
    if (!admitted.ok) return refused(reply, admitted);
    const start = request.url.indexOf('?');
    const query = start < 0 ? '' : request.url.slice(start);
    const input = { query, ...present({ to }), ...enteringOf(request, app) };
    const outcome = await app.holders.perform(admitted.value, 'useOpenId', { input });
    clearCookie(reply, app, 'openid');
    return outcome.ok ? enter(reply, outcome) : answer(reply, outcome, to);
  });
};

/** The accounts of a person; empty if there is none. */
export const accountSection = (you: You, accounts: ActingAs['accounts']): Html | '' =>
  accounts.length === 0
    ? ''
    : html`<section><h2>Accounts</h2>
<p>With these you sign in without a mailed link. One that you unlink signs in no more.</p>
<ul class="plain">${accounts.map(
        ({ issuer }) => html`<li class="card"><h3>${hostOf(issuer)}</h3>
<form method="post" action="/me/accounts/unlink">${formFields(you)}<input type="hidden" name="issuer" value="${issuer}">
<button type="submit" class="second">Unlink <span class="unseen">the account of ${hostOf(issuer)}</span></button></form></li>`,
      )}</ul></section>`;

/** Serves `/me/accounts` in the scope of `/me`. */
export const accountRoutes = (scope: FastifyInstance, app: App): void => {
  serveMyAct(scope, app, [
    '/me/accounts/unlink',
    'unlinkAccount',
    ({ issuer = '' }) => ({ issuer }),
  ]);
};
