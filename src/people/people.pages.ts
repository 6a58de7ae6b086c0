/** The people who sign in: who they are, what they may do, and the acts of those who invite and end them. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { ownerId } from '#contracts/fields.ts';
import { DESK_ROLE_NAMES, DESK_ROLES } from '#contracts/scopes.ts';
import { beginningOf } from '#contracts/texts.ts';
import { type Answer, copied, reader } from '#src/owners/owner-frame.pages.ts';
import { PERSON_STATES } from '#src/owners/owner-profile.pages.ts';
import { markOf } from '#src/owners/owner-links.pages.ts';
import { deskPage, mayPerform, ownerLink } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { present } from '#src/shared/json.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal, type Outcome } from '#src/shared/outcome.ts';
import { type PageAct, serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page, tick, type You } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  type Content,
  dataTable,
  fieldId,
  filters,
  findForm,
  type FormState,
  hrefWith,
  nextPage,
  timeOf,
  typedIn,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';

const PATH = '/desk/people';
const NAME_CHARS = 100;

type Person = Answer<'listPeople'>['data'][number];

const WAYS: Readonly<Record<Person['ways'][number], string>> = {
  mailed_link: 'mailed link',
  passkey: 'passkey',
  openid: 'OpenID account',
};

const signInText = ({ last_sign_in_at }: Person): Content =>
  last_sign_in_at === null ? 'never' : timeOf(last_sign_in_at);

const rolesOf = ({ roles, owners }: Person): Html =>
  owners.length === 0
    ? html`${roles.join(', ')}`
    : html`owner of ${owners.map((owner, at) => html`${at > 0 && ', '}${ownerLink(owner)}`)}`;

const faultOf = (act: string, state: FormState, name: string): Html | '' => {
  const text = state.faults.get(fieldId(act, name));
  return text === undefined ? '' : html`<p class="fault">${text}</p>`;
};

/** The choice of roles. */
export const rolesChoice = (act: string, state: FormState, roles: readonly string[] = []): Html => {
  const isSent = state.act === act;
  return html`<fieldset id="${fieldId(act, 'roles')}"><legend>Roles</legend>${faultOf(act, state, 'roles')}${DESK_ROLE_NAMES.map(
    (role) =>
      tick({
        id: fieldId(act, `role-${role}`),
        name: `role-${role}`,
        value: 'yes',
        label: `${role}: ${DESK_ROLES[role]}`,
        isTicked: isSent ? state.typed[`role-${role}`] === 'yes' : roles.includes(role),
      }),
  )}</fieldset>`;
};

/** The roles that a form with `rolesChoice` sends. */
export const rolesIn = (sent: Typed) =>
  DESK_ROLE_NAMES.filter((role) => sent[`role-${role}`] === 'yes');

/** The choice of roles, and of promoters for the role owner. */
const rolesBody = (
  act: string,
  state: FormState,
  { roles, owners }: Partial<Person> = {},
): Html => {
  const typedOwners = typedIn(state, act, 'owners') ?? owners?.join(' ') ?? '';
  return html`${rolesChoice(act, state, roles)}
<div class="field"><label for="${fieldId(act, 'owners')}">Promoters <span class="quiet">for the role owner, separated by spaces</span></label>${faultOf(act, state, 'owners')}
<input id="${fieldId(act, 'owners')}" name="owners" maxlength="500" autocomplete="off" value="${typedOwners}"></div>`;
};

const rightsIn = (sent: Typed) => ({
  roles: rolesIn(sent),
  owners: (sent['owners'] ?? '').split(/[\s,]+/).filter((owner) => owner !== ''),
});

const inviteForm = (state: FormState): ActForm => ({
  name: 'invite',
  title: 'Invite a person',
  text: 'They get a link by mail, which is also shown to you once.',
  fields: [
    { name: 'name', label: 'Name', required: true, maxlength: 100 },
    { name: 'mailbox', label: 'E-mail address', type: 'email', required: true, maxlength: 254 },
  ],
  body: rolesBody('invite', state),
  button: 'Invite',
});

/** The search by name, and the promoter whose people are shown. */
const narrowing = (name: string, owner: string | undefined): Html =>
  html`${findForm(PATH, { what: 'People', label: 'Name', field: ['name', name], maxlength: NAME_CHARS })}${
    owner !== undefined &&
    filters('Only', [{ text: `Promoter ${owner} ×`, href: PATH, isCurrent: true }])
  }`;

const nobody = (isNarrowed: boolean): Html =>
  isNarrowed
    ? html`Nobody is found. <a href="${PATH}">See all people.</a>`
    : html`Nobody signs in yet. Invite the first person with <code>tributary people invite</code>.`;

const showPeople = async (
  { app, person, query }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const name = beginningOf((query['name'] ?? '').trim(), NAME_CHARS);
  const owner = ownerId.safeParse(query['owner']).data;
  const chosen = present({ owner_id: owner, name: name === '' ? undefined : name });
  const listed = await reader(app, person)('listPeople', { ...chosen, ...markOf(query['before']) });
  if (isRefusal(listed)) return listed;
  const { data, next_before } = listed.value;
  const { you } = person;
  return done(
    deskPage({
      you,
      tab: '/desk/people',
      title: 'People',
      form,
      main: html`${
        mayPerform(you, 'invitePerson') &&
        actForm(you, { path: PATH, state: form }, inviteForm(form))
      }${narrowing(name, owner)}${dataTable(
        'People, newest first',
        [
          { head: 'Person' },
          { head: 'State' },
          { head: 'Roles' },
          { head: 'Last sign-in' },
          { head: 'Signs in by' },
          { head: 'Invited by' },
        ],
        {
          rows: data.map((one) => [
            mayPerform(you, 'readPerson')
              ? html`<a href="/desk/people/${one.id}" data-item><bdi>${one.name}</bdi></a>`
              : html`<bdi>${one.name}</bdi>`,
            PERSON_STATES[one.status],
            rolesOf(one),
            signInText(one),
            one.ways.map((way) => WAYS[way]).join(', '),
            one.invited_by ?? 'nobody',
          ]),
          empty: nobody(Object.keys(chosen).length > 0),
        },
      )}${nextPage(
        next_before === null
          ? undefined
          : hrefWith(PATH, { owner, name, before: String(next_before) }),
        'Earlier people',
      )}`,
    }),
  );
};

/** The acts on a person in their state. */
const personForms = (you: You, person: Person, state: FormState): ActForm[] => [
  ...(person.status === 'invited' && mayPerform(you, 'invitePersonAgain')
    ? [
        {
          name: 'again',
          title: 'Invite again',
          text: 'A new link is mailed, and shown to you once; the earlier one no longer works.',
          button: 'Invite again',
        },
      ]
    : []),
  ...(person.status !== 'ended' && mayPerform(you, 'changePersonRoles')
    ? [
        {
          name: 'roles',
          title: 'Change the roles',
          text: 'Replaces all roles. The sessions of the person end, and the next sign-in has the new roles.',
          fields: [REASON],
          body: rolesBody('roles', state, person),
          button: 'Change the roles',
        },
      ]
    : []),
  ...(person.status !== 'ended' && mayPerform(you, 'endPerson')
    ? [
        {
          name: 'end',
          title: 'End the access of this person',
          text: 'Sessions, tokens and logins stop working within a second. What the person did stays in the records.',
          fields: [REASON],
          button: 'End the access',
          isDangerous: true,
        },
      ]
    : []),
];

const showPerson = async (
  { app, person, params }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const { id = '' } = params;
  const read = await reader(app, person)('readPerson', { person_id: id });
  if (isRefusal(read)) return read;
  const shown = read.value;
  const { you } = person;
  const at = { path: `/desk/people/${id}`, state: form };
  return done(
    deskPage({
      you,
      tab: '/desk/people',
      title: shown.name,
      above: html`<a href="/desk/people">People</a>`,
      form,
      main: html`${facts([
        ['State', PERSON_STATES[shown.status]],
        ['E-mail address', shown.mailbox],
        ['Roles', rolesOf(shown)],
        ['Last sign-in', html`${signInText(shown)}`],
        ['Signs in by', shown.ways.map((way) => WAYS[way]).join(', ') || 'nothing any more'],
        ['Invited by', shown.invited_by ?? 'nobody'],
        ...(shown.reason === undefined ? [] : [['Ended because', shown.reason] as const]),
      ])}${personForms(you, shown, form).map((one) => actForm(you, at, one))}`,
    }),
  );
};

/** The only page that shows the link of an invitation. */
const invitedPage = ({ you }: SignedIn, value: unknown): Page => {
  const { id, name, invitation_url, invitation_expires_at } = value as Answer<'invitePerson'>;
  return deskPage({
    you,
    tab: '/desk/people',
    title: 'The invitation',
    above: html`<a href="/desk/people/${id}"><bdi>${name}</bdi></a>`,
    script: 'copy.js',
    main: html`${notice(
      'good',
      html`<p role="status">The link is mailed to ${name}. It works once${
        invitation_expires_at !== undefined && html`, until ${momentText(invitation_expires_at)}`
      }.</p>`,
    )}<p>If the letter does not arrive, hand it over yourself. It is shown only now.</p><p>${copied(invitation_url)}</p>`,
  });
};

const PERSON_ACTS: Readonly<Record<string, PageAct>> = {
  again: {
    operation: 'invitePersonAgain',
    input: (_sent, { id }) => ({ person_id: id }),
    done: 'The invitation is mailed again.',
    shows: invitedPage,
  },
  roles: {
    operation: 'changePersonRoles',
    input: (sent, { id }) => ({ person_id: id, ...rightsIn(sent), reason: sent['reason'] }),
    done: 'The roles are changed.',
  },
  end: {
    operation: 'endPerson',
    input: ({ reason }, { id }) => ({ person_id: id, reason }),
    done: 'The access has ended.',
  },
};

/** Serves `/desk/people`. */
export const peopleRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: PATH,
    acts: {
      invite: {
        operation: 'invitePerson',
        input: (sent) => ({ name: sent['name'], mailbox: sent['mailbox'], ...rightsIn(sent) }),
        done: 'The invitation is mailed.',
        shows: invitedPage,
      },
    },
    show: showPeople,
  });
  serveActs(scope, app, {
    path: '/desk/people/:id',
    acts: PERSON_ACTS,
    show: showPerson,
  });
};
