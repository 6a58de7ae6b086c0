/** The page on which a person types the code of a command line, sees which machine asks, and allows or denies it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import { DEVICE_LOGIN } from '#contracts/places.ts';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { rolesText } from '#src/shared/roles.ts';
import {
  facts,
  faultSummary,
  type Faults,
  field,
  NO_FAULTS,
  type Page,
  sendPage,
  type You,
} from '#src/web/layout.ts';
import {
  acceptPeople,
  answerRefusal,
  formFields,
  formOf,
  newKey,
  type SignedIn,
  signedIn,
  type Typed,
} from '#src/web/person-admission.ts';
import type { readDeviceLogin } from './device-login.ts';

type Answer<Handler> = Handler extends (...input: never[]) => Promise<Outcome<infer Value>>
  ? Value
  : never;
type Login = Answer<typeof readDeviceLogin>;

const CODE_CHARS_MAX = 40;

/** The code is never filled in: a link of a stranger must not bring it along. */
const codePage = (you: You, faults: Faults = NO_FAULTS): Page => ({
  title: 'Sign a command line in',
  you,
  main: html`<article class="review"><header class="head"><h1>Sign a command line in</h1>
<p class="lede">Type the code that <code>tributary login</code> shows on your machine.</p></header>
${faultSummary('No command line was found', faults)}
<form method="post" action="${DEVICE_LOGIN.page}" class="card" novalidate>${formFields(you)}
${field({
  name: 'code',
  label: 'Code',
  value: '',
  autocomplete: 'off',
  maxlength: CODE_CHARS_MAX,
  required: true,
  hint: 'Eight letters, like BCDF-GHJK. Type only a code that you asked for yourself: a person who gives you theirs could act as you.',
  faults,
})}
<button type="submit">Continue</button></form></article>`,
});

const questionPage = (you: You, { user_code, device, place, asked_at }: Login): Page => ({
  title: 'Allow this machine?',
  you,
  main: html`<article class="review"><header class="head"><h1>Allow this machine?</h1>
<p class="lede">Its command line would act as ${you.name}, ${rolesText(you)}, for ${LIMITS.LOGIN_DAYS} days. You can end that at any time on
<a href="/me">your page</a>.</p></header>
${facts([
  ['Machine', device],
  ['Its network', place],
  ['Asked on', momentText(asked_at)],
  ['Code', user_code],
])}
<p>Is this your machine, and did you just run <code>tributary login</code> on it? If not, deny it.</p>
<form method="post" action="${DEVICE_LOGIN.page}/allow">${formFields(you)}<input type="hidden" name="code" value="${user_code}">
<button type="submit">Allow</button> <button type="submit" class="second" formaction="${DEVICE_LOGIN.page}/deny">Deny</button></form></article>`,
});

const donePage = (you: You, { device, status }: Login): Page => {
  const [title, text] =
    status === 'allowed'
      ? ['Allowed', html`The command line of ${device} is signed in as ${you.name}. Go on there.`]
      : ['Denied', html`The command line of ${device} is not signed in.`];
  return {
    title,
    you,
    main: html`<article class="review"><header class="head"><h1>${title}</h1><p class="lede">${text}</p></header>
<p><a href="/me">Where you are signed in</a></p></article>`,
  };
};

const NO_CODE: Faults = new Map([
  [
    'code',
    `No command line waits for this code. A code works once, for ${LIMITS.SIGN_IN_MINUTES} minutes: check it, or run tributary login again.`,
  ],
]);

/** A code of another form is no login either. */
const NOT_FOUND: ReadonlySet<string> = new Set([
  'resource_not_found',
  'parameter_invalid',
  'validation_failed',
]);

const OPERATIONS = { allow: 'allowDeviceLogin', deny: 'denyDeviceLogin' } as const;

/** Serves `/device`. */
export const deviceRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { page } = DEVICE_LOGIN;
  await acceptPeople(scope, app);

  const send = async (
    { request, reply, person }: { request: FastifyRequest; reply: FastifyReply; person: SignedIn },
    outcome: Outcome<Login>,
    pageOf: (you: You, login: Login) => Page,
  ): Promise<FastifyReply> => {
    if (outcome.ok) return sendPage(reply, 200, pageOf(person.you, outcome.value));
    return NOT_FOUND.has(outcome.code)
      ? sendPage(reply, 422, codePage(person.you, NO_CODE))
      : answerRefusal(request, reply, { app, refusal: outcome });
  };

  /** Performs an operation on the login of a typed code, within the limit of codes. */
  const perform = async (
    { request, person }: { request: FastifyRequest; person: SignedIn },
    id: 'readDeviceLogin' | (typeof OPERATIONS)[keyof typeof OPERATIONS],
    { code = '', key = newKey() }: Typed,
  ): Promise<Outcome<Login>> => {
    const { admission } = person;
    const refused = app.takeCode(admission.caller, request.ip);
    if (refused) {
      app.desk.conclude(admission, id, refused);
      return refused;
    }
    const input = { user_code: code, ...(id !== 'readDeviceLogin' && { idempotency_key: key }) };
    return app.desk.perform(admission, id, { input });
  };

  /** With what was typed before a sign-in, the question is shown at once. */
  scope.get(page, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    if (person.kept?.['code'] === undefined) return sendPage(reply, 200, codePage(person.you));
    const outcome = await perform({ request, person }, 'readDeviceLogin', person.kept);
    return send({ request, reply, person }, outcome, questionPage);
  });

  scope.post(page, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const outcome = await perform({ request, person }, 'readDeviceLogin', formOf(request));
    return send({ request, reply, person }, outcome, questionPage);
  });

  for (const name of ['allow', 'deny'] as const) {
    const path = `${page}/${name}`;
    scope.get(path, async (_request, reply) => reply.redirect(page, 303));
    scope.post(path, { config: { isButton: true } }, async (request, reply) => {
      const person = await signedIn(request, reply, app);
      if (!person) return reply;
      const outcome = await perform({ request, person }, OPERATIONS[name], formOf(request));
      return send({ request, reply, person }, outcome, donePage);
    });
  }
};
