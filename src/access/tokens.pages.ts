/** The desk tokens, for those who run the service: who holds them, their last use, and the way to end them. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import { type Answer, copied, reader } from '#src/owners/owner-frame.pages.ts';
import { lastUseOf } from '#src/owners/owner-agents.pages.ts';
import { markOf } from '#src/owners/owner-links.pages.ts';
import { rolesChoice, rolesIn } from '#src/people/people.pages.ts';
import { deskPage, mayPerform } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { rolesText } from '#src/shared/roles.ts';
import { serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  badge,
  dataTable,
  type FormState,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';

type Token = Answer<'listDeskTokens'>['data'][number];

const PATH = '/desk/tokens';

const NO_TOKEN = refuse('resource_not_found', 'There is no such token.');

const stateOf = ({ status, expires_at }: Token, now: number): Html => {
  if (status === 'revoked') return badge('revoked', 'bad');
  return expires_at !== undefined && Date.parse(expires_at) <= now
    ? badge('expired', 'bad')
    : badge('active', 'good');
};

/** What a token may do, in words. */
const mayText = ({ roles, owner_id }: Token): string =>
  rolesText({ roles, owners: owner_id === undefined ? [] : [owner_id] });

const expiryText = ({ expires_at }: Token) =>
  expires_at === undefined ? 'never' : timeOf(expires_at);

const issueForm = (state: FormState): ActForm => ({
  name: 'issue',
  title: 'Issue a token',
  text: 'For a program, or for somebody who uses the command line without signing in. It is shown to you once.',
  body: html`${rolesChoice('issue', state)}`,
  fields: [
    { name: 'name', label: 'Name of the person', required: true, maxlength: 100 },
    {
      name: 'person_id',
      label: 'Identity of the person',
      hint: 'The same for all tokens of one person, like ann@acme.example: where two people must act, they count once. Empty: made from the name.',
      maxlength: 100,
    },
    { name: 'owner_id', label: 'Promoter', hint: 'For the role owner, which is then the only one' },
    {
      name: 'expires_in_days',
      label: 'Days until it expires',
      type: 'number',
      hint: `1 to ${LIMITS.KEY_DAYS_MAX}; empty: never`,
    },
  ],
  button: 'Issue the token',
});

/** Without what was left empty. */
const issueInput = ({ name, person_id, owner_id, expires_in_days, ...sent }: Typed) => ({
  name,
  roles: rolesIn(sent),
  ...(person_id && { person_id }),
  ...(owner_id && { owner_id }),
  ...(expires_in_days && { expires_in_days: Number(expires_in_days) }),
});

/** The only page that shows a token. */
const issuedPage = ({ you }: SignedIn, origin: string, value: unknown): Page => {
  const { id, name, token, expires_at } = value as Answer<'issueDeskToken'>;
  return deskPage({
    you,
    tab: PATH,
    title: 'The new token',
    above: html`<a href="${PATH}/${id}"><bdi>${name}</bdi></a>`,
    script: 'copy.js',
    main: html`${notice(
      'warn',
      html`<p><strong>It is shown only now.</strong> Store it where only its holder reads it. It works ${
        expires_at === undefined ? 'until it is revoked' : html`until ${timeOf(expires_at)}`
      }.</p>`,
    )}
<section><h2>The token</h2><p>${copied(token)}</p></section>
<section><h2>For the command line</h2><p>${copied(`DESK_TOKEN=${token} tributary whoami --url ${origin}`)}</p></section>`,
  });
};

const showTokens = async (
  { app, person, query }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const listed = await reader(app, person)('listDeskTokens', markOf(query['before']));
  if (isRefusal(listed)) return listed;
  const { data, next_before } = listed.value;
  const now = app.now();
  return done(
    deskPage({
      you: person.you,
      tab: PATH,
      title: 'Tokens',
      form,
      main: html`<p class="quiet">Credentials of the command line and of programs at the desk. A person who signs in needs none.
Writes, refusals and reads of personal data are recorded uses; other reads are not.</p>${
        mayPerform(person.you, 'issueDeskToken') &&
        actForm(person.you, { path: PATH, state: form }, issueForm(form))
      }${dataTable(
        'Desk tokens, newest first',
        [
          { head: 'Holder' },
          { head: 'State' },
          { head: 'May act as' },
          { head: 'Last recorded use' },
          { head: 'Expires' },
        ],
        {
          rows: data.map((token) => [
            html`<a href="${PATH}/${token.id}" data-item><bdi>${token.name}</bdi></a><span class="hint sku">${token.id}</span>`,
            stateOf(token, now),
            mayText(token),
            lastUseOf(token),
            expiryText(token),
          ]),
          empty: 'There is no token.',
        },
      )}${nextPage(next_before === null ? undefined : `${PATH}?before=${next_before}`, 'Older tokens')}`,
    }),
  );
};

const findToken = async ({ app, person, params }: PageRequest): Promise<Outcome<Token>> => {
  const { id = '' } = params;
  const listed = await reader(app, person)('listDeskTokens', { token_id: id });
  if (isRefusal(listed)) return listed.code === 'validation_failed' ? NO_TOKEN : listed;
  const [found] = listed.value.data;
  return found ? done(found) : NO_TOKEN;
};

const showToken = async (asked: PageRequest, form: FormState): Promise<Outcome<Page>> => {
  const found = await findToken(asked);
  if (isRefusal(found)) return found;
  const token = found.value;
  const { app, person } = asked;
  const { you } = person;
  const state = { path: `${PATH}/${token.id}`, state: form };
  return done(
    deskPage({
      you,
      tab: PATH,
      title: token.name,
      above: html`<a href="${PATH}">Tokens</a>`,
      form,
      main: html`${facts([
        ['State', stateOf(token, app.now())],
        ['May act as', mayText(token)],
        ['Person', token.person_id],
        ['Token', html`<span class="sku">${token.id}</span>`],
        ['Issued', timeOf(token.created_at)],
        ['Expires', expiryText(token)],
        ['Last recorded use', html`${lastUseOf(token)}`],
      ])}${
        token.status === 'active' &&
        mayPerform(you, 'revokeDeskToken') &&
        actForm(you, state, {
          name: 'revoke',
          title: 'Revoke this token',
          text: 'It stops working within a second, for good. Programs that use it need another one.',
          fields: [REASON],
          button: 'Revoke the token',
          isDangerous: true,
        })
      }`,
    }),
  );
};

/** Serves `/desk/tokens`. */
export const tokenRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: PATH,
    acts: {
      issue: {
        operation: 'issueDeskToken',
        input: issueInput,
        done: 'The token is issued.',
        shows: (person, value) => issuedPage(person, app.origin(), value),
      },
    },
    show: showTokens,
  });
  serveActs(scope, app, {
    path: `${PATH}/:id`,
    acts: {
      revoke: {
        operation: 'revokeDeskToken',
        input: ({ reason }, { id }) => ({ token_id: id, reason }),
        done: 'The token is revoked.',
      },
    },
    show: showToken,
  });
};
