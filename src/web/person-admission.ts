/** Admits people who are signed in to their pages: the cookie of the session, forms, and the way to the sign-in and back. */
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import cookies from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { App } from '#src/registries/app.ts';
import type { Admission, DeskCaller } from '#src/shared/call.ts';
import { deviceOf } from '#src/shared/client.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { acceptForms, arrivalOf, isForeign, SAFE_METHODS, sendProblem } from './http.ts';
import { FOREIGN, sendErrorPage, sendRefusal, withRetryAfter } from './error-pages.ts';
import { type Html, PRIVATE_HEADERS, type You } from './layout.ts';

/** The cookies of people. Each has the prefix that binds it to this host over HTTPS, where there is HTTPS. */
const COOKIES = {
  /** The credential of the session. */
  session: LIMITS.SESSION_DAYS * 86_400,
  /** Binds a mailed link to the browser that asked for it. */
  'sign-in': LIMITS.SIGN_IN_MINUTES * 60,
  /** What a browser was asked for before it shows a passkey. */
  passkey: LIMITS.PASSKEY_MINUTES * 60,
  /** What a browser was asked for before it went to the OpenID provider, and the page to go on with. */
  openid: LIMITS.SIGN_IN_MINUTES * 60,
  /** A form that waits for a sign-in. */
  kept: 3_600,
} as const;
type CookieName = keyof typeof COOKIES;

/** People's pages send the origin of their forms to this service, and nothing to others. */
export const PERSON_HEADERS = { ...PRIVATE_HEADERS, 'referrer-policy': 'same-origin' } as const;

const isSecure = ({ origin }: Pick<App, 'origin'>): boolean => origin().startsWith('https:');

const nameOf = (app: Pick<App, 'origin'>, name: CookieName): string =>
  isSecure(app) ? `__Host-${name}` : name;

export const readCookie = (
  request: FastifyRequest,
  app: Pick<App, 'origin'>,
  name: CookieName,
): string | undefined => request.cookies[nameOf(app, name)];

export const setCookie = (
  reply: FastifyReply,
  app: Pick<App, 'origin'>,
  [name, value]: readonly [CookieName, string],
): FastifyReply =>
  reply.setCookie(nameOf(app, name), value, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(app),
    maxAge: COOKIES[name],
  });

export const clearCookie = (
  reply: FastifyReply,
  app: Pick<App, 'origin'>,
  name: CookieName,
): FastifyReply =>
  reply.clearCookie(nameOf(app, name), {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(app),
  });

/** The address of a page of this machine that was asked for by number: its cookies and passkeys are those of the name. */
const localAddress = ({ method, host, url }: FastifyRequest): string | undefined => {
  const asked = `http://${host}${url}`;
  const local = onLocalhost(asked);
  return SAFE_METHODS.has(method) && local !== asked ? local : undefined;
};

const NO_AGENTS = refuse(
  'boundary_forbidden',
  'Pages of people are for people alone: no credential is taken here. Nothing was changed.',
);

/** Prepares a scope for pages of people: cookies, forms, private answers. Refuses agents and forms of other sites. */
export const acceptPeople = async (scope: FastifyInstance, app: App): Promise<void> => {
  await scope.register(cookies);
  acceptForms(scope);
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(PERSON_HEADERS);
    if (request.headers.authorization !== undefined)
      return sendProblem(reply, NO_AGENTS, app.origin());
    const local = localAddress(request);
    if (local !== undefined) return reply.redirect(local, 302);
    // The forms of a person have a token of the session, too.
    const own = [app.origin(), onLocalhost(app.origin())];
    return isForeign(request, own) ? sendErrorPage(reply, 403, FOREIGN) : undefined;
  });
};

/** Answers after a fixed time, or later if the work takes longer, so that the delay tells nothing about what was found. */
export const evenly = async <Value>(work: Promise<Value>): Promise<Value> => {
  const [value] = await Promise.all([work, pause(ANSWER_MS)]);
  return value;
};
const ANSWER_MS = 400;

/** The fields of a form, as text, with the line breaks that texts have. */
export type Typed = Readonly<Record<string, string>>;

export const formOf = (request: FastifyRequest): Typed => {
  const body = (request.body ?? {}) as Record<string, string | string[]>;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      ([value].flat().at(-1) ?? '').replaceAll('\r\n', '\n'),
    ]),
  );
};

const KEPT = z.object({ path: z.string(), fields: z.record(z.string(), z.string()) });
const KEPT_BYTES_MAX = 3_000;
/** What a form has beside what was typed. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['csrf', 'key', 'asked', 'answer']);

/** Keeps what was typed for the time after a sign-in, in the browser itself: nothing of it is done before it is sent again. */
const keep = (request: FastifyRequest, reply: FastifyReply, app: App): void => {
  const typed = Object.entries(formOf(request)).filter(
    ([name, value]) => value !== '' && !OWN_FIELDS.has(name),
  );
  const kept = JSON.stringify({ path: pagePath(request), fields: Object.fromEntries(typed) });
  if (Buffer.byteLength(kept) <= KEPT_BYTES_MAX)
    setCookie(reply, app, ['kept', Buffer.from(kept).toString('base64url')]);
};

const keptFor = (request: FastifyRequest, app: App): Typed | undefined => {
  try {
    const text = Buffer.from(readCookie(request, app, 'kept') ?? '', 'base64url').toString();
    const { path, fields } = KEPT.parse(JSON.parse(text));
    return path === pagePath(request) ? fields : undefined;
  } catch {
    return undefined;
  }
};

/** The page of a request: the address of a form is that of its page and a last segment, which names the button. */
export const pagePath = ({ url, routeOptions }: FastifyRequest): string => {
  const path = url.split('?')[0] ?? '';
  return routeOptions.config.isButton === true ? path.slice(0, path.lastIndexOf('/')) : path;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the last segment of the path names a button of the page before it. */
    isButton?: boolean;
  }
}

/** Somebody who is signed in, on one of their pages. */
export type SignedIn = {
  admission: Admission<DeskCaller>;
  /** What the page shows in its header, and puts into its forms. */
  you: You;
  /** What was typed before a sign-in that the page asked for. */
  kept: Typed | undefined;
};

const csrfOf = (credential: string): string =>
  createHash('sha256').update(`csrf:${credential}`).digest('base64url');

/** A new idempotency key, of 128 bits. */
export const newKey = (): string => randomBytes(16).toString('base64url');

/** The hidden fields of each form of a person: who sends it, and what makes a second press harmless. */
export const formFields = ({ csrf }: You, key: string = newKey()): Html =>
  html`<input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="key" value="${key}">`;

/** Sends a person to the sign-in, and back to this page after it. What was typed is kept. */
export const toSignIn = (
  request: FastifyRequest,
  reply: FastifyReply,
  { app, again = false }: { app: App; again?: boolean },
): FastifyReply => {
  if (!SAFE_METHODS.has(request.method)) keep(request, reply, app);
  const query = new URLSearchParams({ to: pagePath(request), ...(again && { again: '1' }) });
  return reply.redirect(`/signin?${query.toString()}`, 303);
};

/**
 * Admits a request of somebody who is signed in; otherwise it answers, and resolves to undefined: with the sign-in, with 403
 * for a form of another page, or with what the service lacks. `isUse`: the request prolongs the session; what a page asks for
 * by itself does not.
 */
export const signedIn = async (
  request: FastifyRequest,
  reply: FastifyReply,
  app: App,
  { isUse = true } = {},
): Promise<SignedIn | undefined> => {
  const credential = readCookie(request, app, 'session');
  const arrival = { ...arrivalOf(request, 'portal'), credential, page: pagePath(request) };
  const admitted = await app.desk.admit(arrival, { exchange: 'page' });
  if (!admitted.ok) {
    void answerRefusal(request, reply, { app, refusal: admitted });
    return undefined;
  }
  const csrf = csrfOf(credential ?? '');
  if (!SAFE_METHODS.has(request.method) && formOf(request)['csrf'] !== csrf) {
    app.desk.conclude(admitted.value, 'page', refuse('origin_not_allowed', FOREIGN.detail));
    void sendErrorPage(reply, 403, FOREIGN);
    return undefined;
  }
  const { caller } = admitted.value;
  if (isUse) await app.noteUse(caller, clientOf(request));
  const kept = SAFE_METHODS.has(request.method) ? keptFor(request, app) : undefined;
  if (kept) clearCookie(reply, app, 'kept');
  const { name, roles, owners = [] } = caller;
  return { admission: admitted.value, you: { name, roles: [...roles], owners, csrf }, kept };
};

/** Where a request comes from, and with what, as its person sees it later. */
export const clientOf = ({ ip, headers }: FastifyRequest) => ({
  address: ip,
  device: deviceOf(headers['user-agent']),
});

/** What starts a session: the client, and the session of this browser that the new one replaces. */
export const enteringOf = (request: FastifyRequest, app: Pick<App, 'origin'>) => ({
  ...clientOf(request),
  ...present({ replaces: readCookie(request, app, 'session') }),
});

type MyAct = 'endSession' | 'removePasskey' | 'unlinkAccount';

/** Serves a button of `/me`: performs the operation of its form, and shows the page again. GET changes nothing. */
export const serveMyAct = (
  scope: FastifyInstance,
  app: App,
  [path, id, inputOf]: readonly [string, MyAct, (sent: Typed, params: Typed) => object],
): void => {
  scope.get(path, async (_request, reply) => reply.redirect('/me', 303));
  scope.post<{ Params: Typed }>(path, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const sent = formOf(request);
    const input = { ...inputOf(sent, request.params), idempotency_key: sent['key'] ?? newKey() };
    const outcome = await app.desk.perform(person.admission, id, { input });
    return outcome.ok
      ? reply.redirect('/me', 303)
      : answerRefusal(request, reply, { app, refusal: outcome });
  });
};

/** Answers what an operation refused on a page of a person: the sign-in, if that is what it lacks. */
export const answerRefusal = (
  request: FastifyRequest,
  reply: FastifyReply,
  { app, refusal }: { app: App; refusal: Refusal },
): FastifyReply | Promise<FastifyReply> => {
  if (refusal.code === 'fresh_sign_in_needed')
    return toSignIn(request, reply, { app, again: true });
  if (refusal.code.startsWith('credential_'))
    return toSignIn(request, clearCookie(reply, app, 'session'), { app });
  if (refusal.code === 'rate_limited')
    return sendErrorPage(withRetryAfter(reply, refusal), 429, TOO_OFTEN);
  if (refusal.code === 'role_missing') return sendErrorPage(reply, 403, NOT_YOURS);
  return sendRefusal(reply, refusal);
};
const NOT_YOURS = {
  title: 'Not one of your roles',
  detail: 'This page is for people with another role. Your home shows what you can do.',
  next: { path: '/home', text: 'Home' },
};
const TOO_OFTEN = {
  title: 'Too much at once',
  detail: 'You did this too often within a minute. Nothing was changed.',
};
