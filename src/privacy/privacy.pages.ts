/** The pages on which people see, copy and erase their data. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import { DIRECT_OWNER } from '#contracts/fields.ts';
import { isTestSpace, liveOwnerOf } from '#contracts/spaces.ts';
import { isApplication } from '#src/access/applications.ts';
import { isPersonSubject } from '#src/people/people.ts';
import type { App } from '#src/registries/app.ts';
import { chosenMatches } from '#src/shared/mailbox.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { type HolderAdmission, servePage } from '#src/web/holder-admission.ts';
import {
  type Faults,
  mailboxField,
  type Html,
  NO_FAULTS,
  notice,
  type Page,
  tick,
  sendPage,
} from '#src/web/layout.ts';
import { type Erasure, type OwnData, privacyPath } from './own-data.ts';

/** The form that mails a link. */
const askPage = (entered = '', faults: Faults = NO_FAULTS): Page => ({
  title: 'Your data',
  main: html`<article class="review"><header class="head"><h1>Your data</h1></header>
<p class="lede">See which records have your e-mail address, get a copy, refuse contact, or have them erased. We mail a link
to the address; it works for an hour. <a href="/docs/boundaries">What is stored, and what an erasure removes</a>.</p>
<form method="post" action="/privacy" class="card" novalidate>
${mailboxField({ value: entered, faults })}
<button type="submit">Mail me a link</button></form></article>`,
});

/** The same for every address. */
const mailedPage: Page = {
  title: 'Look into your mailbox',
  main: html`<article class="review"><header class="head"><h1>Look into your mailbox</h1></header>
<p class="lede">A link is on its way to the address that you entered. It works for an hour. If nothing arrives, wait ten
minutes before you ask again: more messages to one mailbox are not sent.</p></article>`,
};

const nameOf = (owner: string): string => {
  if (owner === DIRECT_OWNER) return 'no promoter';
  return isTestSpace(owner) ? `${liveOwnerOf(owner)} (test)` : owner;
};

const KINDS: Readonly<Record<string, string>> = {
  led: 'A lead',
  hnd: 'A list or request',
  own: 'The profile',
};

const kindOf = ({ id, owner_id }: OwnData['records'][number]): string =>
  isApplication(id)
    ? 'An application for access'
    : isPersonSubject(id)
      ? 'Your sign-in'
      : `${KINDS[id.slice(0, 3)]} of ${nameOf(owner_id)}`;

const recordText = (record: OwnData['records'][number]): string =>
  `${kindOf(record)}, ${record.id}${record.isErased ? ' (erased)' : ''}`;

/** A box of a form for each record with another spelling of the mailbox. */
const foldedBoxes = ({ records }: OwnData, form: string): Html | '' => {
  const folded = records.filter(({ match, isErased }) => match === 'folded' && !isErased);
  const heading = `${form}-folded`;
  return folded.length === 0
    ? ''
    : html`<div role="group" aria-labelledby="${heading}">
<p id="${heading}">These have another spelling of your address. Tick what is yours:</p>
${folded.map((record) =>
  tick({
    id: `${form}-${record.id}`,
    name: 'folded',
    value: record.id,
    label: recordText(record),
  }),
)}</div>`;
};

const ownersIn = ({ records, contact }: OwnData): string[] => [
  ...new Set([
    ...records.flatMap(({ id, owner_id }) => (isApplication(id) ? [] : liveOwnerOf(owner_id))),
    ...contact.refused.flatMap(({ owner_id }) => owner_id ?? []),
  ]),
];

const ownerChoice = (data: OwnData, id: string): Html =>
  html`<div class="field"><label for="${id}">By</label>
<select id="${id}" name="owner"><option value="">every promoter</option>
${ownersIn(data).map((owner) => html`<option value="${owner}">${nameOf(owner)}</option>`)}</select></div>`;

const contactText = ({ refused, exempt }: OwnData['contact']): string => {
  if (refused.length === 0) return 'You allow contact.';
  const by = refused.map(({ owner_id }) =>
    owner_id === null ? 'every promoter' : nameOf(owner_id),
  );
  const but = exempt.length > 0 ? `, except ${exempt.map(nameOf).join(', ')}` : '';
  return `You refuse contact by ${by.join(', ')}${but}.`;
};

/** What is stored of an address, and what its holder can do. `done`: what was done just now. */
const ownDataPage = (token: string, data: OwnData, done?: string): Page => {
  const action = (act: string): string => `${privacyPath(token)}/${act}`;
  const own = data.records.filter(({ match }) => match === 'exact');
  return {
    title: 'Your data',
    main: html`<article class="review"><header class="head"><h1>Your data</h1></header>
${done !== undefined && notice('good', html`<p role="status">${done}</p>`)}
<p class="lede">For ${data.email}. This link works until ${writerFor(HOUSE_LOCALE).moment(data.until)}.</p>
<section aria-labelledby="records"><h2 id="records">Records</h2>
${own.length === 0 ? html`<p>No record has this address.</p>` : html`<ul>${own.map((record) => html`<li>${recordText(record)}</li>`)}</ul>`}</section>
<form method="post" action="${action('export')}" class="card"><h2>Get a copy</h2>${foldedBoxes(data, 'copy')}
<button type="submit">Download</button></form>
<form method="post" action="${action('refuse')}" class="card"><h2>Refuse contact</h2>
<p>${contactText(data.contact)} Your address is then hidden from promoters and staff, and no promoter can submit it again.</p>
${ownerChoice(data, 'refuse-owner')}
<button type="submit" class="second">Refuse contact</button></form>
<form method="post" action="${action('allow')}" class="card"><h2>Allow contact again</h2>
${ownerChoice(data, 'allow-owner')}
<button type="submit" class="second">Allow contact</button></form>
<form method="post" action="${action('erase')}" class="card"><h2>Erase</h2>
<p>This cannot be undone. Open requests for a quotation end. A list that has your address only in a request which you
did not confirm stays, without that request. What was bought stays in the numbers, without your name. A keyed
hash of your address stays, so that contact stays refused.</p>${foldedBoxes(data, 'erase')}
${tick({ id: 'allow', name: 'allow_contact', value: 'yes', label: 'I may be contacted again later' })}
<button type="submit" class="second">Erase my data</button></form></article>`,
  };
};

/** What the second page of an erasure repeats of the first. */
type Choice = { folded: readonly string[]; allow_contact: boolean };

const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Asks before the erasure, and names what it takes. */
const confirmErasurePage = (
  token: string,
  data: OwnData,
  { folded, allow_contact }: Choice,
): Page => {
  const taken = chosenMatches(data.records, folded).filter(({ isErased }) => !isErased);
  return {
    title: 'Erase your data?',
    main: html`<article class="review"><header class="head"><h1>Erase your data?</h1></header>
<p class="lede">For ${data.email}. This cannot be undone, by you or by us.</p>
<section aria-labelledby="taken"><h2 id="taken">What is erased</h2>
${
  taken.length === 0
    ? html`<p>No record has this address now. The link ends.</p>`
    : html`<ul>${taken.map((record) => html`<li>${recordText(record)}</li>`)}</ul>`
}
<p>Open requests for a quotation end. ${
      allow_contact ? 'You may be contacted again later.' : 'Contact stays refused.'
    }</p></section>
<form method="post" action="${privacyPath(token)}/erase" class="card">
${folded.map((id) => hidden('folded', id))}${allow_contact ? hidden('allow_contact', 'yes') : ''}
<button type="submit" name="confirmed" value="yes">Erase for good</button></form>
<p><a href="${privacyPath(token)}">Back, without erasing anything</a></p></article>`,
  };
};

/** The link has ended with the erasure. */
const erasedPage = ({ records, requests }: Erasure): Page => ({
  title: 'Your data is erased',
  main: html`<article class="review"><header class="head"><h1>Your data is erased</h1></header>
<p class="lede">Records erased: ${String(records)}.${
    requests > 0 && html` Unconfirmed requests erased: ${String(requests)}; their lists stay.`
  } The link has ended. To look again, ask for another one.</p></article>`,
});

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  export: 'exportOwnData',
  refuse: 'refuseOwnContact',
  allow: 'allowOwnContact',
  erase: 'eraseOwnData',
} as const;

const DONE = { refuse: 'Contact is refused.', allow: 'Contact is allowed.' };
const NETWORK_FULL = {
  title: 'Too many links',
  detail: 'Too many links were asked for from your network today. Please try again tomorrow.',
};

type Fields = Readonly<Record<string, string | string[] | undefined>>;

const fieldsOf = ({ body }: FastifyRequest): Fields => (body ?? {}) as Fields;
const valuesOf = (fields: Fields, name: string): string[] => [fields[name] ?? []].flat();

/** The pages of people about their own data. */
export const privacyRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { holders } = app;
  await servePage(scope, app, {
    linkTo: 'ownData',
    buttons: BUTTONS,
    otherwise: 'readOwnData',
    path: privacyPath,
    read: (admission) => holders.perform(admission, 'readOwnData', { input: {} }),
    page: (token, shown) => ownDataPage(token, shown),
    async press({ button, admission, request }, reply) {
      const pressed = { admission, fields: fieldsOf(request) };
      if (button === 'export') return sendCopy(app, reply, pressed);
      if (button === 'erase') return erase(app, reply, pressed);
      const [owner = ''] = valuesOf(pressed.fields, 'owner');
      const input = owner === '' ? {} : { owner_id: owner };
      const outcome = await holders.perform(admission, BUTTONS[button], { input });
      if (!outcome.ok)
        return outcome.code === 'validation_failed'
          ? sendErrorPage(reply, 422, NO_PROMOTER)
          : sendRefusal(reply, outcome);
      const page = ownDataPage(admission.caller.token, outcome.value, DONE[button]);
      return sendPage(reply, 200, page);
    },
  });

  scope.get('/', (_request, reply) => sendPage(reply, 200, askPage()));
  scope.post('/', async (request, reply) => {
    const [mailbox = ''] = valuesOf(fieldsOf(request), 'mailbox');
    const outcome = await holders.performAs('requestPrivacyLink', {
      caller: { kind: 'holder', token: '' },
      surface: 'portal',
      requestId: request.id,
      input: { mailbox, address: request.ip },
    });
    return outcome.ok
      ? sendPage(reply, 200, mailedPage)
      : showRefusedForm(reply, { mailbox, refusal: outcome });
  });
};

const NO_PROMOTER = {
  title: 'No such promoter',
  detail: 'Nothing was changed. Open your page again and choose a promoter of its list.',
};

type Pressed = { admission: HolderAdmission; fields: Fields };

const erase = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields }: Pressed,
): Promise<FastifyReply> => {
  const input = {
    folded: valuesOf(fields, 'folded'),
    allow_contact: fields['allow_contact'] !== undefined,
  };
  if (fields['confirmed'] === undefined) {
    const shown = await holders.perform(admission, 'readOwnData', { input: {} });
    return shown.ok
      ? sendPage(reply, 200, confirmErasurePage(admission.caller.token, shown.value, input))
      : sendRefusal(reply, shown);
  }
  const outcome = await holders.perform(admission, 'eraseOwnData', { input });
  return outcome.ok ? sendPage(reply, 200, erasedPage(outcome.value)) : sendRefusal(reply, outcome);
};

const sendCopy = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields }: Pressed,
): Promise<FastifyReply> => {
  const input = { folded: valuesOf(fields, 'folded') };
  const copy = await holders.perform(admission, 'exportOwnData', { input });
  if (!copy.ok) return sendRefusal(reply, copy);
  return reply
    .header('content-disposition', 'attachment; filename="your-data.json"')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(copy.value, null, 2));
};

const showRefusedForm = (
  reply: FastifyReply,
  { mailbox, refusal }: { mailbox: string; refusal: Refusal },
): FastifyReply | Promise<FastifyReply> => {
  if (refusal.code === 'rate_limited')
    return sendErrorPage(withRetryAfter(reply, refusal), 429, NETWORK_FULL);
  if (refusal.code !== 'validation_failed') return sendRefusal(reply, refusal);
  const faults = new Map([['mailbox', 'Enter an e-mail address, like ada@example.com.']]);
  return sendPage(reply, 422, askPage(mailbox, faults));
};
