/** The pages of a public application for access. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import type { KeyRecord } from '#contracts/access/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { SCOPES } from '#contracts/scopes.ts';
import { lonePage, notMe } from '#src/owners/mailbox.pages.ts';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import {
  describedBy,
  facts,
  type Faults,
  faultSummary,
  field,
  type FieldOptions,
  type Html,
  mailboxField,
  NO_FAULTS,
  type Page,
  tick,
  sendPage,
} from '#src/web/layout.ts';
import { applicationPath, type ApplicationView } from './applications.ts';

/** The fields of the form as they were entered; a field can have several values. */
type EnteredApplication = Readonly<Record<string, string | string[] | undefined>>;

const MESSAGES: Record<string, string> = {
  name: 'Enter the name of the person or company, on one line of at most 200 characters, and not one of this service.',
  postal_address: 'Enter the postal address, in at most 500 characters.',
  mailbox: 'Enter an e-mail address, like ada@example.com.',
  owner_id:
    'Choose another short name that is not taken, and not one of this service: 3 to 32 characters of a-z and 0-9, starting with a letter and not with test.',
  agent_name:
    'Enter the name of the agent, on one line of at most 100 characters, and not one of this service.',
  purpose: 'Say what the agent does, in at most 2,000 characters.',
  scopes: 'Tick at least one scope.',
};

/** The messages for the fields of these input faults. */
const faultsIn = (errors: readonly { pointer: string }[]): Faults =>
  new Map(
    errors.map(({ pointer }) => {
      const [, name = ''] = pointer.split('/');
      return [name, MESSAGES[name] ?? 'The form is not complete.'];
    }),
  );

const ownerField = (value: string, faults: Faults): Html =>
  field({
    name: 'owner_id',
    label: 'Short name',
    value,
    autocomplete: 'off',
    maxlength: 32,
    required: true,
    hint: 'a-z and 0-9. It is part of your records, and cannot be changed later.',
    faults,
  });

const ALL_SCOPES = { id: 'scopes', nameOf: () => 'scopes' };

/** The scopes that an agent can have, to tick. `nameOf`: the name of the field of a scope. */
export const scopeBoxes = (
  ticked: readonly string[],
  faults: Faults,
  { id, nameOf }: { id: string; nameOf(scope: string): string } = ALL_SCOPES,
): Html => {
  const fault = faults.get(id);
  return html`<div class="field${fault ? ' wrong' : ''}" role="group" id="${id}" tabindex="-1" aria-labelledby="${id}-label"${describedBy(fault ? `${id}-fault` : '')}>
<p id="${id}-label"><strong>What it may do</strong></p>
${fault && html`<p class="fault" id="${id}-fault">${fault}</p>`}
${Object.entries(SCOPES).map(([name, { meaning }]) =>
  tick({
    id: `scope-${name.replace(':', '-')}`,
    name: nameOf(name),
    value: name,
    label: `${meaning} (${name})`,
    isTicked: ticked.includes(name),
  }),
)}</div>`;
};

const applyPage = (entered: EnteredApplication = {}, faults: Faults = NO_FAULTS): Page => {
  const text = (
    name: string,
    options: Pick<FieldOptions, 'label' | 'maxlength'> & Partial<FieldOptions>,
  ) =>
    field({
      value: String(entered[name] ?? ''),
      autocomplete: 'off',
      required: true,
      faults,
      ...options,
      name,
    });
  return {
    title: 'Apply for access',
    main: html`<article class="review"><header class="head"><h1>Apply for access</h1>
<p class="lede">For promoters whose software agents promote the products here. We mail you a link to confirm your address; then
staff decide, and the same link shows the decision and gives you the key of the agent.</p></header>
${faultSummary('The application was not sent', faults)}
<form method="post" action="/apply" class="card" novalidate><h2>You</h2>
${text('name', { label: 'Name of the person or company', maxlength: 200, autocomplete: 'organization' })}
${text('postal_address', { label: 'Postal address', maxlength: 500, rows: 3, autocomplete: 'street-address' })}
${mailboxField({ value: String(entered['mailbox'] ?? ''), faults })}
${ownerField(String(entered['owner_id'] ?? ''), faults)}
<h2>Your agent</h2>
${text('agent_name', { label: 'Name of the agent', maxlength: 100, hint: 'Buyers read it.' })}
${text('purpose', { label: 'What it does', maxlength: 2_000, rows: 4 })}
${scopeBoxes([entered['scopes'] ?? []].flat(), faults)}
<p class="hint">No agent can submit an RFQ, accept a quotation, place an order, reserve stock or send payment.</p>
<button type="submit">Apply</button></form></article>`,
  };
};

/** The same for every address. */
const appliedPage: Page = lonePage(
  'Look into your mailbox',
  html`<p class="lede">A link is on its way to the address that you entered. It works for ${LIMITS.MAILED_LINK_DAYS} days: staff
see your application once you confirm it there. If nothing arrives, wait ten minutes before you apply again: more messages to
one mailbox are not sent.</p>`,
);

const disownedPage: Page = lonePage(
  'The application has ended',
  html`<p class="lede">Everything that was entered is erased. You get no more such messages.</p>`,
);

const waitingPage = (
  path: string,
  { application, until }: Extract<ApplicationView, { phase: 'waiting' }>,
  { owner, faults }: Chosen,
): Page => {
  const { name, postal_address, mailbox, agent_name, purpose, scopes } = application;
  return lonePage(
    'Confirm your application',
    html`${faultSummary('The application is not confirmed', faults)}
<p class="lede">Somebody entered your e-mail address and applied for access. If that was you, confirm it: then staff see the
application and decide.</p>
${facts([
  ['Name', name],
  ['Postal address', html`<span class="message">${postal_address}</span>`],
  ['E-mail', mailbox],
  ['Agent', agent_name],
  ['What it does', html`<span class="message">${purpose}</span>`],
  ['Scopes', scopes.join(', ')],
])}
<form method="post" action="${path}/confirm" class="card" novalidate>
${ownerField(owner ?? application.owner_id, faults)}
<p>You can confirm it until ${momentText(until)}.</p>
<button type="submit">Confirm the application</button></form>
${notMe(`${path}/not-me`, 'The application ends, and everything that was entered is erased.')}`,
  );
};

type Decided = Exclude<ApplicationView, { phase: 'waiting' }>;

const STATES: Record<Decided['phase'], string> = {
  requested: 'Staff have your application',
  approved: 'Your agent is approved',
  denied: 'Your application was denied',
  suspended: 'Your agent is suspended',
};

const decidedPage = (path: string, { phase, ownerId, agent, hasKey, until }: Decided): Page =>
  lonePage(
    STATES[phase],
    html`${facts([
      ['Short name', ownerId],
      ['Agent', `${agent.name}, ${agent.agent_id}`],
      ['Scopes asked for', agent.last_request.scopes.join(', ')],
      ['Scopes granted', agent.granted.join(', ') || 'none'],
      ...(agent.reason === undefined ? [] : [['Reason', agent.reason] as const]),
    ])}
${phase === 'requested' && html`<p>Staff decide, and you get a message with the decision.</p>`}${
  phase === 'approved' && !hasKey
    ? html`<form method="post" action="${path}/key" class="card"><h2>The key of the agent</h2>
<p>It is shown once: have a place for it before you press the button.</p>
<button type="submit">Issue the key</button></form>`
    : ''
}${
  hasKey &&
  html`<p>The key was issued, and is not shown again. Staff issue further keys, or a token with which you do so yourself.</p>`
}<p class="quiet">This link works until ${momentText(until)}.</p>`,
  );

/** What the applicant chose last, and the faults of that. */
type Chosen = { owner?: string | undefined; faults: Faults };

const applicationPage = (
  token: string,
  view: ApplicationView,
  chosen: Chosen = { faults: NO_FAULTS },
): Page => {
  const path = applicationPath(token);
  return view.phase === 'waiting' ? waitingPage(path, view, chosen) : decidedPage(path, view);
};

/** The only page that shows the key. */
const keyPage = ({ api_key, expires_at }: KeyRecord & { api_key: string }): Page =>
  lonePage(
    'The key of your agent',
    html`<div class="notice warn"><p><strong>It is shown only now.</strong> Store it in a server-side secret, never in a browser or
a URL. It expires on ${expires_at.slice(0, 10)}.</p></div>
<p class="message"><code>${api_key}</code></p>
<p>The agent sends it as <code>Authorization: Bearer</code>. Start with <a href="/docs">the documentation</a>.</p>`,
  );

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  confirm: 'confirmApplication',
  'not-me': 'disownApplication',
  key: 'issueFirstKey',
} as const;

const NETWORK_FULL = {
  title: 'Too many applications',
  detail: 'Too many links were asked for from your network today. Please try again tomorrow.',
};

const TEXTS = ['name', 'postal_address', 'mailbox', 'owner_id', 'agent_name', 'purpose'];

const fieldsOf = ({ body }: FastifyRequest): EnteredApplication =>
  (body ?? {}) as EnteredApplication;

/** One text of a form. Browsers send line breaks as CR LF. */
const textIn = (fields: EnteredApplication, name: string): string =>
  String([fields[name] ?? ''].flat()[0])
    .replaceAll('\r\n', '\n')
    .trim();

/** The form for an application, and the page behind the link that an applicant gets by mail. */
export const applicationRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { holders } = app;
  await servePage(scope, app, {
    linkTo: 'application',
    buttons: BUTTONS,
    otherwise: 'readApplication',
    path: applicationPath,
    read: (admission) => holders.perform(admission, 'readApplication', { input: {} }),
    page: (token, shown) => applicationPage(token, shown),
    async press({ button, admission, request }, reply) {
      if (button === 'confirm')
        return confirm(app, reply, { admission, owner: textIn(fieldsOf(request), 'owner_id') });
      if (button === 'not-me') {
        const outcome = await holders.perform(admission, 'disownApplication', { input: {} });
        return outcome.ok ? sendPage(reply, 200, disownedPage) : showOr(reply, admission, outcome);
      }
      const outcome = await holders.perform(admission, 'issueFirstKey', { input: {} });
      return outcome.ok
        ? sendPage(reply, 200, keyPage(outcome.value))
        : showOr(reply, admission, outcome);
    },
  });

  scope.get('/', (_request, reply) => sendPage(reply, 200, applyPage()));
  scope.post('/', async (request, reply) => {
    const fields = fieldsOf(request);
    const texts = Object.fromEntries(TEXTS.map((name) => [name, textIn(fields, name)]));
    const scopes = [fields['scopes'] ?? []].flat();
    const outcome = await holders.performAs('applyForAccess', {
      caller: { kind: 'holder', token: '' },
      surface: 'portal',
      requestId: request.id,
      input: { ...texts, scopes, address: request.ip },
    });
    if (outcome.ok) return sendPage(reply, 200, appliedPage);
    if (outcome.code === 'rate_limited')
      return sendErrorPage(withRetryAfter(reply, outcome), 429, NETWORK_FULL);
    if (outcome.code !== 'validation_failed') return sendRefusal(reply, outcome);
    return sendPage(reply, 422, applyPage({ ...texts, scopes }, faultsIn(outcome.errors ?? [])));
  });
};

/** Shows the application as it is, if an act came too late; otherwise the refusal. */
const showOr = (
  reply: FastifyReply,
  { caller }: HolderAdmission,
  refusal: Refusal,
): FastifyReply | Promise<FastifyReply> =>
  refusal.code === 'state_conflict'
    ? reply.redirect(applicationPath(caller.token), 303)
    : sendRefusal(reply, refusal);

/** Confirms the application; shows its page again with the fault if the short name cannot be used. */
const confirm = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, owner }: { admission: HolderAdmission; owner: string },
): Promise<FastifyReply> => {
  const { token } = admission.caller;
  const outcome = await holders.perform(admission, 'confirmApplication', {
    input: { owner_id: owner },
  });
  if (outcome.ok) return reply.redirect(applicationPath(token), 303);
  if (outcome.code !== 'validation_failed') return sendRefusal(reply, outcome);
  const inside = { ...insideOf(admission), input: {} };
  const shown = await holders.performInside('readApplication', inside);
  if (!shown.ok) return sendRefusal(reply, shown);
  const faults = faultsIn(outcome.errors ?? []);
  return sendPage(reply, 422, applicationPage(token, shown.value, { owner, faults }));
};
