/** The pages on which people sign in: the form, the page of a mailed link, its code, and an invitation. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import { lonePage } from '#src/owners/mailbox.pages.ts';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { rolesText } from '#src/shared/roles.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { arrivalOf } from '#src/web/http.ts';
import type { ByToken } from '#src/web/holder-admission.ts';
import {
  faultSummary,
  field,
  type Faults,
  type Html,
  mailboxField,
  NO_FAULTS,
  type Page,
  sendPage,
} from '#src/web/layout.ts';
import {
  acceptPeople,
  clearCookie,
  enteringOf,
  evenly,
  formOf,
  readCookie,
  setCookie,
} from '#src/web/person-admission.ts';
import { openIdLink, openIdRoutes, type SignInScope } from './openid.pages.ts';
import { type InvitationView, localPath, signInPath, type SignInView } from './sign-in.ts';

const HOME = '/home';

/** A new value of the cookie that binds a link to the browser that asks for it: the id of the link, and a secret. */
const newBrowser = (): string =>
  `sgn_${randomBytes(12).toString('hex')}.${randomBytes(20).toString('hex')}`;

type Asked = {
  to: string | undefined;
  isAgain: boolean;
  /** The OpenID provider, where there is one. */
  issuer: string | undefined;
  entered?: string;
  faults?: Faults;
};

/** Where the browser has passkeys, its script shows the form. */
const passkeyForm = ({ to, isAgain }: Pick<Asked, 'to' | 'isAgain'>): Html =>
  html`<form method="post" action="/signin/passkey" class="card" id="passkey" data-passkey="use" data-ask="/signin/passkey/ask"
 data-fault="passkey-fault" hidden>
${continuing({ to, isAgain })}<input type="hidden" name="answer">
<p class="fault" role="alert" id="passkey-fault" hidden></p>
<button type="submit" class="second">Use a passkey</button></form>`;

/** What a form of the sign-in has of the page that needed it. */
const continuing = ({ to, isAgain }: Pick<Asked, 'to' | 'isAgain'>): Html =>
  html`${to !== undefined && html`<input type="hidden" name="to" value="${to}">`}${isAgain && html`<input type="hidden" name="again" value="1">`}`;

const askPage = (asked: Asked): Page => ({ ...askFrame(asked), script: 'passkey.js' });

const askFrame = ({ to, isAgain, issuer, entered = '', faults = NO_FAULTS }: Asked): Page =>
  lonePage(
    isAgain ? 'Sign in again' : 'Sign in',
    html`<p class="lede">${
      isAgain
        ? `What you were about to do needs a sign-in of the last ${LIMITS.FRESH_SIGN_IN_MINUTES} minutes. What you typed is kept.`
        : 'For promoters, staff, auditors and operators. We mail a link to your address; you need no password.'
    }</p>
${faultSummary(faults.has('passkey') ? 'The passkey was not used' : 'The link was not sent', faults)}
<form method="post" action="/signin" class="card" novalidate>
${continuing({ to, isAgain })}
${mailboxField({ value: entered, faults })}
<button type="submit">Mail me a link</button></form>
${passkeyForm({ to, isAgain })}
${openIdLink(issuer, to)}
<p class="quiet">Buyers need no account: the link in your message opens your list. Promoters without an account <a href="/apply">apply
for access</a>.</p>`,
  );

/** The same for every address. */
const mailedPage = (faults: Faults = NO_FAULTS): Page =>
  lonePage(
    'Look into your mailbox',
    html`<p class="lede">If the address is that of somebody who can sign in, a link is on its way to it. Open it in this browser. It works
once, for ${LIMITS.SIGN_IN_MINUTES} minutes.</p>
${faultSummary('The code does not work', faults)}
<form method="post" action="/signin/code" class="card" novalidate>
${field({
  name: 'code',
  label: 'Code',
  value: '',
  autocomplete: 'one-time-code',
  maxlength: 12,
  required: true,
  hint: 'You opened the link somewhere else, on a phone for example? It shows a code of six digits there. Type it here.',
  faults,
})}
<button type="submit">Sign in with the code</button></form>
<p><a href="/signin">Ask for another link</a></p>`,
  );

const linkPage = (token: string, { name, until, isHere, code }: SignInView): Page =>
  isHere
    ? lonePage(
        `Sign in as ${name}`,
        html`<form method="post" action="${signInPath(token)}" class="card">
<p>The link works once, until ${momentText(until)}.</p>
<button type="submit">Sign in</button></form>`,
      )
    : lonePage(
        'Your code',
        html`<p class="lede">This is not the browser that asked for the link. To sign in there, as ${name}, type this code into its page:</p>
<p class="code">${code.slice(0, 3)} ${code.slice(3)}</p>
<p>Type it only into a page that you opened yourself. Nobody from here asks you for it. It works until ${momentText(until)}.</p>
<p><a href="/signin">Sign in with this browser instead</a></p>`,
      );

const invitationPage = (
  token: string,
  { name, roles, owners, invitedBy, until }: InvitationView,
): Page =>
  lonePage(
    'You are invited',
    html`<p class="lede">${invitedBy} invites ${name} as ${rolesText({ roles, owners })}.</p>
<form method="post" action="/invited/${token}" class="card">
<p>The link works once, until ${momentText(until)}. After that you sign in with your e-mail address.</p>
<button type="submit">Accept and sign in</button></form>`,
  );

const MESSAGES: Record<string, string> = {
  mailbox: 'Enter an e-mail address, like ada@example.com.',
  code: `This code does not work. After ${LIMITS.SIGN_IN_CODES_MAX} wrong ones, or ${LIMITS.SIGN_IN_MINUTES} minutes, ask for another link.`,
};

const faultsOf = ({ errors = [] }: Refusal): Faults =>
  new Map(
    errors.map(({ pointer }) => {
      const name = pointer.slice(1);
      return [name, MESSAGES[name] ?? 'The form is not complete.'];
    }),
  );

const TOO_OFTEN = {
  title: 'Too many sign-ins',
  detail: 'Too many links or codes were tried. Use the newest link, or try again later.',
};

const SIGN_IN = { path: '/signin', text: 'Sign in' };

/** Answers a refusal of a sign-in: 429 with the time to wait, 404 for a link that is over, 409 elsewhere. */
const refused = (reply: FastifyReply, refusal: Refusal): Promise<FastifyReply> => {
  if (refusal.code === 'rate_limited')
    return sendErrorPage(withRetryAfter(reply, refusal), 429, TOO_OFTEN);
  if (refusal.code === 'state_conflict')
    return sendErrorPage(reply, 409, {
      title: 'Another browser',
      detail: refusal.detail,
      next: SIGN_IN,
    });
  if (refusal.code === 'resource_not_found')
    return sendErrorPage(reply, 404, {
      title: 'This link does not work',
      detail: refusal.detail,
      next: SIGN_IN,
    });
  return sendRefusal(reply, refusal);
};

/** Serves `/signin`, `/login` and `/invited`. */
export const signInRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  const served: SignInScope = {
    scope,
    app,
    refused,
    admit(request, exchange) {
      const { token = '' } = request.params as Partial<ByToken['Params']>;
      return app.holders.admit(
        { ...arrivalOf(request, 'portal'), credential: token },
        { exchange },
      );
    },
    enter(reply, outcome) {
      if (!outcome.ok) return refused(reply, outcome);
      const { credential, to } = outcome.value;
      clearCookie(reply, app, 'sign-in');
      return setCookie(reply, app, ['session', credential]).redirect(localPath(to) ?? HOME, 303);
    },
  };
  scope.get('/login', async (_request, reply) => reply.redirect('/signin', 301));
  askRoutes(served);
  passkeyRoutes(served);
  openIdRoutes(served);
  codeRoutes(served);
  linkRoutes(served);
  invitationRoutes(served);
};

const askRoutes = ({ scope, app, admit }: SignInScope): void => {
  scope.get<{ Querystring: { to?: unknown; again?: unknown } }>(
    '/signin',
    async (request, reply) => {
      const to = localPath([request.query.to].flat().map(String).at(-1));
      return sendPage(
        reply,
        200,
        askPage({ to, isAgain: request.query.again !== undefined, issuer: app.openIdIssuer }),
      );
    },
  );

  scope.post('/signin', async (request, reply) => {
    const { mailbox = '', to, again } = formOf(request);
    const browser = newBrowser();
    const admitted = await admit(request, 'startSignIn');
    if (!admitted.ok) return refused(reply, admitted);
    const input = { mailbox, address: request.ip, browser, ...present({ to }) };
    const outcome = await evenly(app.holders.perform(admitted.value, 'startSignIn', { input }));
    if (outcome.ok)
      return setCookie(reply, app, ['sign-in', browser]).redirect('/signin/code', 303);
    if (outcome.code !== 'validation_failed') return refused(reply, outcome);
    const asked = { ...continued(app, { to, again }), entered: mailbox };
    return sendPage(reply, 422, askPage({ ...asked, faults: faultsOf(outcome) }));
  });
};

/** What a form of the sign-in says about the page that needed it. */
const continued = (
  { openIdIssuer: issuer }: Pick<App, 'openIdIssuer'>,
  { to, again }: { to?: string | undefined; again?: string | undefined },
) => ({ to: localPath(to), isAgain: again !== undefined, issuer });

/** A passkey: its script asks what the browser needs, and sends the answer as a form. */
const passkeyRoutes = ({ scope, app, admit, enter }: SignInScope): void => {
  scope.post('/signin/passkey/ask', async (request, reply) => {
    const admitted = await admit(request, 'askForPasskey');
    if (!admitted.ok) return refused(reply, admitted);
    const input = { address: request.ip };
    const question = await app.holders.perform(admitted.value, 'askForPasskey', { input });
    if (!question.ok) return refused(reply, question);
    const { asked, options } = question.value;
    return setCookie(reply, app, ['passkey', asked]).send(options);
  });

  scope.get('/signin/passkey', async (_request, reply) => reply.redirect('/signin', 303));

  scope.post('/signin/passkey', async (request, reply) => {
    const { answer = '', to, again } = formOf(request);
    const credential = readCookie(request, app, 'passkey') ?? '';
    const arrival = { ...arrivalOf(request, 'portal'), credential };
    const admitted = await app.holders.admit(arrival, { exchange: 'usePasskey' });
    if (!admitted.ok) return refused(reply, admitted);
    const input = { answer, ...present({ to }), ...enteringOf(request, app) };
    const outcome = await app.holders.perform(admitted.value, 'usePasskey', { input });
    clearCookie(reply, app, 'passkey');
    if (outcome.ok || outcome.code !== 'validation_failed') return enter(reply, outcome);
    const detail = outcome.errors?.[0]?.detail ?? '';
    const faults = new Map([['passkey', `The passkey ${detail}.`]]);
    return sendPage(reply, 422, askPage({ ...continued(app, { to, again }), faults }));
  });
};

const codeRoutes = ({ scope, app, admit, enter }: SignInScope): void => {
  scope.get('/signin/code', async (_request, reply) => sendPage(reply, 200, mailedPage()));

  scope.post('/signin/code', async (request, reply) => {
    const { code = '' } = formOf(request);
    const admitted = await admit(request, 'enterSignInCode');
    if (!admitted.ok) return refused(reply, admitted);
    const browser = readCookie(request, app, 'sign-in') ?? '';
    const input = { browser, code, ...enteringOf(request, app) };
    const outcome = await app.holders.perform(admitted.value, 'enterSignInCode', { input });
    return !outcome.ok && outcome.code === 'validation_failed'
      ? sendPage(reply, 422, mailedPage(faultsOf(outcome)))
      : enter(reply, outcome);
  });
};

const linkRoutes = ({ scope, app, admit, enter }: SignInScope): void => {
  scope.get<ByToken>('/signin/:token', async (request, reply) => {
    const admitted = await admit(request, 'readSignIn');
    if (!admitted.ok) return refused(reply, admitted);
    const input = present({ browser: readCookie(request, app, 'sign-in') });
    const shown = await app.holders.perform(admitted.value, 'readSignIn', { input });
    return shown.ok
      ? sendPage(reply, 200, linkPage(request.params.token, shown.value))
      : refused(reply, shown);
  });

  scope.post<ByToken>('/signin/:token', async (request, reply) => {
    const admitted = await admit(request, 'useSignIn');
    if (!admitted.ok) return refused(reply, admitted);
    const browser = present({ browser: readCookie(request, app, 'sign-in') });
    const input = { ...browser, ...enteringOf(request, app) };
    return enter(reply, await app.holders.perform(admitted.value, 'useSignIn', { input }));
  });
};

const invitationRoutes = ({ scope, app, admit, enter }: SignInScope): void => {
  scope.get<ByToken>('/invited/:token', async (request, reply) => {
    const admitted = await admit(request, 'readInvitation');
    if (!admitted.ok) return refused(reply, admitted);
    const shown = await app.holders.perform(admitted.value, 'readInvitation', { input: {} });
    return shown.ok
      ? sendPage(reply, 200, invitationPage(request.params.token, shown.value))
      : refused(reply, shown);
  });

  scope.post<ByToken>('/invited/:token', async (request, reply) => {
    const admitted = await admit(request, 'acceptInvitation');
    if (!admitted.ok) return refused(reply, admitted);
    const input = enteringOf(request, app);
    return enter(reply, await app.holders.perform(admitted.value, 'acceptInvitation', { input }));
  });
};
