/** The pages of somebody who is signed in: home, `/me` with sessions, and the way out. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { ActingAs, SessionRecord } from '#contracts/people/records.ts';
import { DESK_ROLES, type DeskRole } from '#contracts/scopes.ts';
import type { App } from '#src/registries/app.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { momentText } from '#src/shared/money.ts';
import { rolesText } from '#src/shared/roles.ts';
import { facts, type Html, type Page, sendPage, type You } from '#src/web/layout.ts';
import {
  acceptPeople,
  answerRefusal,
  clearCookie,
  formFields,
  newKey,
  serveMyAct,
  signedIn,
} from '#src/web/person-admission.ts';
import { accountRoutes, accountSection } from './openid.pages.ts';
import { passkeyRoutes, passkeySection } from './passkey.pages.ts';

/** What each role does most, and the page or the command for it. */
export const ACTS: Readonly<Record<DeskRole, readonly (readonly [what: string, how: string])[]>> = {
  owner: [['Decide on outreach that your agents propose', '/approvals']],
  staff: [
    ['See what waits, oldest first', '/desk'],
    ['Find products, withdraw them, import a feed', '/desk/catalog'],
    ['See promoters, their agents and keys', '/desk/owners'],
    ['Decide on outreach that agents propose', '/approvals'],
  ],
  privacy: [
    ['Find the records of a person', 'privacy find ada@shop.example'],
    ['Record that a person refuses contact', 'privacy withdraw ada@shop.example'],
  ],
  operator: [
    ['See whether the service is well', 'status --check'],
    ['See who can sign in, invite and end people', '/desk/people'],
    ['See desk tokens and revoke them', '/desk/tokens'],
    ['See the read models', 'projections status'],
  ],
  auditor: [
    ['See what was done', 'audit history --owner desk'],
    ['See a past state', 'audit state --owner northwind'],
    ['Compare rows with the log', 'audit check --all'],
  ],
};

const actsOf = (role: DeskRole): Html =>
  html`<section><h2>${role.charAt(0).toUpperCase()}${role.slice(1)}</h2><p>${DESK_ROLES[role]}.</p>
<ul class="acts">${ACTS[role].map(([what, how]) =>
    how.startsWith('/')
      ? html`<li><a href="${how}">${what}</a></li>`
      : html`<li>${what}: <code>tributary ${how}</code></li>`,
  )}</ul></section>`;

const homePage = (you: You, origin: string): Page => ({
  title: 'Home',
  you,
  main: html`<article class="review"><header class="head"><h1>Hello, ${you.name}</h1>
<p class="lede">You are signed in as ${rolesText(you)}.</p></header>
<p>This is what you do most. What has no page here is done with the command line, from any machine, signed in as yourself:
<code>tributary login ${onLocalhost(origin)}</code>. What you do is recorded with your name.</p>
${
  you.owners.length > 0 &&
  html`<section><h2>Your promoters</h2><p>What waits, how the links do, and who acts for the promoter.</p><ul class="acts">${you.owners.map(
    (owner) => html`<li><a href="/o/${owner}">${owner}</a></li>`,
  )}</ul></section>`
}
${you.roles.map((role) => actsOf(role as DeskRole))}</article>`,
});

const WAYS: Readonly<Record<SessionRecord['way'], string>> = {
  mailed_link: 'by a mailed link',
  invitation: 'by an invitation',
  printed_link: 'by a printed link',
  passkey: 'with a passkey',
  openid: 'with an OpenID account',
  device: 'from a browser',
};

const sessionItem = (you: You, session: SessionRecord): Html => {
  const { id, used_in, way, device, place, places, started_at, used_at, is_current } = session;
  const isCommandLine = used_in === 'command_line';
  return html`<li class="card"><h3>${isCommandLine ? `Command line: ${device}` : device}${is_current ? ' (this browser)' : ''}</h3>
<p>Signed in ${WAYS[way]} on ${momentText(started_at)}. Last used on ${momentText(used_at)}, from ${place}${
    places > 1 ? html`; <strong>used from ${places} networks</strong>` : ''
  }.</p>
<form method="post" action="/me/sessions/${id}/end">${formFields(you)}<button type="submit" class="second">${
    is_current ? 'Sign out here' : 'End it'
  }</button></form></li>`;
};

type Shown = {
  sessions: readonly SessionRecord[];
  until: string | undefined;
  who: ActingAs;
  /** The OpenID provider, where there is one. */
  issuer: string | undefined;
};

const mePage = (you: You, { sessions, until, who, issuer }: Shown): Page => ({
  title: you.name,
  you,
  main: html`<article class="review"><header class="head"><h1>${you.name}</h1></header>
${facts([
  ['Roles', rolesText(you)],
  ...(until === undefined ? [] : [['Without use, this session ends', momentText(until)] as const]),
])}
${passkeySection(you, who.passkeys)}
${accountSection(you, who.accounts, issuer)}
<section><h2>Where you are signed in</h2>
<p>End what you do not know: it stops working within a second.</p>
<ul class="plain">${sessions.map((session) => sessionItem(you, session))}</ul></section></article>`,
});

/** Serves `/home`, `/me` and `/signout`. */
export const meRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { desk, openIdIssuer: issuer } = app;
  await acceptPeople(scope, app);

  scope.get('/home', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const [owner, ...others] = person.you.owners;
    return owner !== undefined && others.length === 0
      ? reply.redirect(`/o/${owner}`, 303)
      : sendPage(reply, 200, homePage(person.you, app.origin()));
  });

  scope.get('/me', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const listed = await desk.perform(person.admission, 'listSessions', { input: {} });
    if (!listed.ok) return answerRefusal(request, reply, { app, refusal: listed });
    const who = await desk.perform(person.admission, 'whoAmI', { input: {} });
    if (!who.ok) return answerRefusal(request, reply, { app, refusal: who });
    const sessions = listed.value.data;
    const until = sessions.find(({ is_current }) => is_current)?.expires_at;
    return sendPage(reply, 200, mePage(person.you, { sessions, until, who: who.value, issuer }));
  });

  passkeyRoutes(scope, app);
  accountRoutes(scope, app);

  serveMyAct(scope, app, [
    '/me/sessions/:id/end',
    'endSession',
    (_sent, { id }) => ({ session_id: id }),
  ]);

  scope.post('/signout', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const session_id = person.admission.caller.session?.id ?? '';
    const input = { session_id, idempotency_key: newKey() };
    const ended = await desk.perform(person.admission, 'endSession', { input });
    if (!ended.ok) return answerRefusal(request, reply, { app, refusal: ended });
    // A browser may keep pages for its back button, although they say that it must not.
    return clearCookie(reply, app, 'session')
      .header('clear-site-data', '"cache"')
      .redirect('/signin', 303);
  });
};
