/** The desk tokens, for those who run the service: who holds them, their last use, and the way to end them. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { type Answer, everyRow, FULL_PAGE, reader } from '#src/owners/owner-frame.pages.ts';
import { lastUseOf } from '#src/owners/owner-agents.pages.ts';
import { markOf } from '#src/owners/owner-links.pages.ts';
import { deskPage, mayPerform } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { rolesText } from '#src/shared/roles.ts';
import { serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, type Page } from '#src/web/layout.ts';
import {
  actForm,
  badge,
  dataTable,
  type FormState,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople } from '#src/web/person-admission.ts';

type Token = Answer<'listDeskTokens'>['data'][number];

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

const showTokens = async ({ app, person, query }: PageRequest): Promise<Outcome<Page>> => {
  const listed = await reader(app, person)('listDeskTokens', markOf(query['before']));
  if (isRefusal(listed)) return listed;
  const { data, next_before } = listed.value;
  const now = app.now();
  return done(
    deskPage({
      you: person.you,
      tab: '/desk/tokens',
      title: 'Tokens',
      main: html`<p class="quiet">Credentials of the command line and of programs at the desk. A person who signs in needs none.
Writes, refusals and reads of personal data are recorded uses; other reads are not.</p>${dataTable(
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
            html`<a href="/desk/tokens/${token.id}" data-item><bdi>${token.name}</bdi></a><span class="hint sku">${token.id}</span>`,
            stateOf(token, now),
            mayText(token),
            lastUseOf(token),
            expiryText(token),
          ]),
          empty: 'There is no token.',
        },
      )}${nextPage(next_before === null ? undefined : `/desk/tokens?before=${next_before}`, 'Older tokens')}`,
    }),
  );
};

/** Finds a token among all tokens: a service has few. */
const findToken = async ({ app, person, params }: PageRequest): Promise<Outcome<Token>> => {
  const read = reader(app, person);
  const tokens = await everyRow((before) =>
    read('listDeskTokens', { ...FULL_PAGE, ...(before && { before }) }),
  );
  if (isRefusal(tokens)) return tokens;
  const found = tokens.value.find(({ id }) => id === params['id']);
  return found ? done(found) : NO_TOKEN;
};

const showToken = async (asked: PageRequest, form: FormState): Promise<Outcome<Page>> => {
  const found = await findToken(asked);
  if (isRefusal(found)) return found;
  const token = found.value;
  const { app, person } = asked;
  const { you } = person;
  const state = { path: `/desk/tokens/${token.id}`, state: form };
  return done(
    deskPage({
      you,
      tab: '/desk/tokens',
      title: token.name,
      above: html`<a href="/desk/tokens">Tokens</a>`,
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
    path: '/desk/tokens',
    acts: {},
    show: showTokens,
  });
  serveActs(scope, app, {
    path: '/desk/tokens/:id',
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
