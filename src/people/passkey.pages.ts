/** The passkeys of somebody who is signed in: their section at `/me`, and the page that adds one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import type { ActingAs } from '#contracts/people/records.ts';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import {
  faultSummary,
  field,
  type Faults,
  type Html,
  NO_FAULTS,
  notice,
  type Page,
  sendPage,
  type You,
} from '#src/web/layout.ts';
import {
  answerRefusal,
  clientOf,
  formFields,
  formOf,
  newKey,
  serveMyAct,
  signedIn,
  type SignedIn,
} from '#src/web/person-admission.ts';

const ADD = '/me/passkeys/add';
const NAME_CHARS = 60;

const COPIED = (at: string): Html =>
  notice(
    'warn',
    html`<p>This passkey was refused on ${momentText(at)}, because there may be a copy of it that
somebody else has. Remove it, and look below for sessions that are not yours.</p>`,
  );

const passkeyItem = (you: You, { id, name, refused_at }: ActingAs['passkeys'][number]): Html =>
  html`<li class="card"><h3>${name}</h3>${refused_at !== undefined && COPIED(refused_at)}
<form method="post" action="/me/passkeys/${id}/remove">${formFields(you)}<button type="submit" class="second">Remove
<span class="unseen">the passkey ${name}</span></button></form></li>`;

/** The passkeys of a person, with the way to another one. */
export const passkeySection = (you: You, passkeys: ActingAs['passkeys']): Html =>
  html`<section><h2>Passkeys</h2>
<p>With a passkey you sign in by the lock of your device or with a security key, without waiting for a message.</p>
${passkeys.length > 0 && html`<ul class="plain">${passkeys.map((passkey) => passkeyItem(you, passkey))}</ul>`}
${
  passkeys.length < LIMITS.PASSKEYS_PER_PERSON_MAX
    ? html`<p><a href="${ADD}">Add a passkey</a></p>`
    : html`<p>You have ${LIMITS.PASSKEYS_PER_PERSON_MAX}, and no more are possible. Remove one to add another one.</p>`
}</section>`;

type Offered = { asked: string; options: object; name: string; faults: Faults };

const addPage = (you: You, { asked, options, name, faults }: Offered): Page => ({
  title: 'Add a passkey',
  you,
  script: 'passkey.js',
  main: html`<article class="review"><header class="head"><h1>Add a passkey</h1></header>
<p class="lede">The browser asks for the lock of this device, or for a security key. What it makes works for this site alone.</p>
${faultSummary('The passkey was not added', faults)}
<noscript><p class="notice warn">Passkeys need JavaScript, which is off in this browser.</p></noscript>
<form method="post" action="${ADD}" class="card" id="answer" data-passkey="add" data-fault="passkey-fault"
 data-options="${JSON.stringify(options)}" hidden>
${formFields(you)}<input type="hidden" name="asked" value="${asked}"><input type="hidden" name="answer">
${field({
  name: 'name',
  label: 'Name',
  value: name,
  autocomplete: 'off',
  maxlength: NAME_CHARS,
  required: true,
  hint: 'So that you recognize it in your list: only you see it.',
  faults,
})}
<p class="fault" role="alert" id="passkey-fault" hidden></p>
<button type="submit">Add the passkey</button></form>
<p><a href="/me">Back without one</a></p></article>`,
});

const faultsOf = ({ errors = [], detail }: Refusal): Faults =>
  new Map(
    errors.length === 0
      ? [['answer', detail]]
      : errors.map((error) => {
          const name = error.pointer.slice(1);
          return [name, name === 'answer' ? `The passkey ${error.detail}.` : error.detail];
        }),
  );

/** Serves `/me/passkeys` in the scope of `/me`. */
export const passkeyRoutes = (scope: FastifyInstance, app: App): void => {
  const { desk } = app;

  const offer = async (
    [request, reply]: readonly [FastifyRequest, FastifyReply],
    person: SignedIn,
    { name, faults }: Pick<Offered, 'name' | 'faults'>,
  ): Promise<FastifyReply> => {
    const offered = await desk.perform(person.admission, 'offerPasskey', { input: {} });
    if (!offered.ok) return answerRefusal(request, reply, { app, refusal: offered });
    const status = faults.size > 0 ? 422 : 200;
    return sendPage(reply, status, addPage(person.you, { ...offered.value, name, faults }));
  };

  scope.get(ADD, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const name = person.kept?.['name'] ?? clientOf(request).device;
    return offer([request, reply], person, { name, faults: NO_FAULTS });
  });

  scope.post(ADD, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const { key = newKey(), asked = '', answer = '', name = '' } = formOf(request);
    const input = { idempotency_key: key, asked, answer, name };
    const added = await desk.perform(person.admission, 'addPasskey', { input });
    if (added.ok) return reply.redirect('/me', 303);
    return added.code === 'validation_failed' || added.code === 'state_conflict'
      ? offer([request, reply], person, { name, faults: faultsOf(added) })
      : answerRefusal(request, reply, { app, refusal: added });
  });

  serveMyAct(scope, app, [
    '/me/passkeys/:id/remove',
    'removePasskey',
    (_sent, { id }) => ({ passkey_id: id }),
  ]);
};
