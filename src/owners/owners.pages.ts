/** The promoters as staff see them: who they are, their agents and keys, and who approves their outreach. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { ListedKey } from '#contracts/access/records.ts';
import { ownerId } from '#contracts/fields.ts';
import { NO_OWNER } from '#src/calls/desk-handler.ts';
import { agentLink, deskPage, mayPerform, NOT_STAFF } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { done, isRefusal, type Outcome } from '#src/shared/outcome.ts';
import { type PageAct, serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page, type You } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  ageOf,
  badge,
  type Content,
  dataTable,
  type FormState,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople } from '#src/web/person-admission.ts';
import { AGENT_STATES, KEY_STATES, lastUseOf } from './owner-agents.pages.ts';
import { type Answer, all, FULL_PAGE, homeOf, reader } from './owner-frame.pages.ts';
import { markOf } from './owner-links.pages.ts';
import {
  MODES,
  PERSON_STATES,
  profileFacts,
  profileForm,
  SET_PROFILE,
} from './owner-profile.pages.ts';
import { agentNames, KIND_NAMES } from './owner-words.pages.ts';

type Owner = Answer<'listOwners'>['data'][number];

const agentsText = ({ agents, more_agents, owner_id }: Owner): Content =>
  html`${agents.map(({ id, name, status }, at) => {
    const isWaiting = status === 'requested';
    const state = isWaiting ? 'waits' : status;
    return html`${at > 0 && ', '}${agentLink(id, name)}${status !== 'approved' && html` ${badge(state, isWaiting ? 'warn' : 'bad')}`}`;
  })}${more_agents && html` <a href="/desk/owners/${owner_id}">and more</a>`}`;

const showOwners = async ({ app, person, query }: PageRequest): Promise<Outcome<Page>> => {
  const listed = await reader(app, person)('listOwners', markOf(query['before']));
  if (isRefusal(listed)) return listed;
  const { data, next_before } = listed.value;
  const now = app.now();
  return done(
    deskPage({
      you: person.you,
      tab: '/desk/owners',
      title: 'Promoters',
      main: html`${dataTable(
        'Promoters, newest first',
        [{ head: 'Promoter' }, { head: 'Agents' }, { head: 'Mailbox' }, { head: 'Last activity' }],
        {
          rows: data.map((owner) => [
            html`<a href="/desk/owners/${owner.owner_id}" data-item><bdi>${owner.name ?? owner.owner_id}</bdi></a>${
              owner.name !== undefined && html`<span class="hint">${owner.owner_id}</span>`
            }`,
            agentsText(owner),
            owner.mailbox_confirmed ? badge('confirmed', 'good') : badge('not confirmed', 'warn'),
            owner.last_activity_at === null
              ? 'none'
              : html`${ageOf(owner.last_activity_at, now)} ago`,
          ]),
          empty: html`There is no promoter yet. Promoters <a href="/apply">apply for access</a>, or staff request it with <code>tributary access request</code>.`,
        },
      )}${nextPage(next_before === null ? undefined : `/desk/owners?before=${next_before}`, 'Earlier promoters')}`,
    }),
  );
};

type Facts = {
  owner: string;
  profile: Answer<'readOwnerProfile'> | undefined;
  agents: Answer<'listAgents'>['data'];
  keys: readonly ListedKey[];
  settings: Answer<'getOutreach'>;
  people: Answer<'listPeople'>;
};

const agentsTable = ({ agents }: Facts): Html =>
  html`<section><h2>Agents</h2>${dataTable(
    'Agents, newest first',
    [{ head: 'Agent' }, { head: 'State' }, { head: 'Granted' }, { head: 'Requested, not granted' }],
    {
      rows: agents.map(({ id, name, status, pending, requested_scopes, granted_scopes }) => [
        html`<a href="/desk/r/${id}" data-item><bdi>${name}</bdi></a>`,
        html`${AGENT_STATES[status]}${pending && status !== 'requested' && html` ${badge('change waits', 'warn')}`}`,
        granted_scopes.join(', ') || 'nothing',
        (pending?.scopes ?? requested_scopes)
          .filter((scope) => !granted_scopes.includes(scope))
          .join(', ') || 'nothing more',
      ]),
      empty: 'The promoter has no agent.',
    },
  )}</section>`;

const keysTable = ({ owner, keys, agents }: Facts): Html => {
  const nameOf = agentNames(agents);
  return html`<section><h2>Keys</h2>${dataTable(
    'Keys that are not revoked, newest first',
    [
      { head: 'Key' },
      { head: 'Agent' },
      { head: 'State' },
      { head: 'Last use' },
      { head: 'Expires' },
    ],
    {
      rows: keys.map((key) => [
        html`<a href="${homeOf(owner)}/keys/${key.id}">…${key.last4}</a>${key.environment === 'test' && html` <span class="quiet">test</span>`}`,
        agentLink(key.agent_id, nameOf(key.agent_id)),
        KEY_STATES[key.status],
        lastUseOf(key),
        timeOf(key.expires_at),
      ]),
      empty: 'No agent has a key.',
    },
  )}</section>`;
};

const outreachPart = ({ settings }: Facts): Html => {
  const { mode, approvals_required, channels, halted, halted_for_everybody } = settings;
  const why = halted ?? halted_for_everybody;
  return html`<section><h2>Outreach</h2>${why !== null && notice('warn', html`<p>Halted${halted === null ? ' for everybody' : ''}: ${why}</p>`)}
${facts([
  ['Who approves', mode === null ? 'nobody: nothing can be proposed' : MODES[mode]],
  ['Approvals needed', String(approvals_required ?? 0)],
  ['Lists delivered a day without an approval', String(settings.automatic_deliveries_per_day)],
  ...channels.map(
    ({ kind, adapter, url, disabled }) =>
      [
        KIND_NAMES[kind],
        html`by ${adapter}${url !== undefined && html` to ${url}`}${disabled !== undefined && html` ${badge(`disabled: ${disabled}`, 'bad')}`}`,
      ] as const,
  ),
])}</section>`;
};

const peoplePart = ({ owner, people }: Facts): Html =>
  html`<section><h2>People</h2>${dataTable(
    'Who acts for this promoter',
    [{ head: 'Person' }, { head: 'State' }, { head: 'Last sign-in' }],
    {
      rows: people.data.map(({ name, status, last_sign_in_at }) => [
        html`<bdi>${name}</bdi>`,
        PERSON_STATES[status],
        last_sign_in_at === null ? 'never' : timeOf(last_sign_in_at),
      ]),
      empty: 'Nobody acts for this promoter yet.',
    },
  )}${nextPage(people.next_before === null ? undefined : `/desk/people?owner=${owner}`, 'All people of this promoter')}</section>`;

const forms = (you: You, { profile, settings: { halted } }: Facts): ActForm[] => [
  { ...profileForm(you, profile), isOpen: profile === undefined },
  ...(profile && profile.mailbox_confirmed_at === undefined
    ? [
        {
          name: 'confirm',
          title: 'Confirm the mailbox',
          text: html`For a holder who cannot open the mailed link to ${profile.mailbox}.`,
          hidden: { mailbox: profile.mailbox },
          fields: [{ ...REASON, label: 'How you know that it is theirs' }],
          button: 'Confirm the mailbox',
        },
      ]
    : []),
  halted === null
    ? {
        name: 'halt',
        title: 'Halt outreach',
        text: 'At once: nothing is proposed, approved or sent until it is resumed.',
        fields: [REASON],
        button: 'Halt outreach',
        isDangerous: true,
      }
    : { name: 'resume', title: 'Resume outreach', fields: [REASON], button: 'Resume outreach' },
];

const readFacts = async ({ app, person }: PageRequest, owner: string): Promise<Outcome<Facts>> => {
  const read = reader(app, person);
  const owned = { owner_id: owner, ...FULL_PAGE };
  const answers = await all({
    agents: read('listAgents', owned),
    keys: read('listKeys', owned),
    settings: read('getOutreach', { owner_id: owner }),
    people: read('listPeople', { owner_id: owner }),
  });
  if (isRefusal(answers)) return answers;
  const profile = await read('readOwnerProfile', { owner_id: owner });
  if (isRefusal(profile) && profile.code !== 'resource_not_found') return profile;
  const { agents, keys, settings, people } = answers.value;
  if (agents.data.length === 0 && isRefusal(profile)) return NO_OWNER;
  return done({
    owner,
    profile: isRefusal(profile) ? undefined : profile.value,
    agents: agents.data,
    keys: keys.data.filter(({ status }) => status !== 'revoked'),
    settings,
    people,
  });
};

const showOwner = async (asked: PageRequest, form: FormState): Promise<Outcome<Page>> => {
  const { person, params } = asked;
  if (!mayPerform(person.you, 'listOwners')) return NOT_STAFF;
  const parsed = ownerId.safeParse(params['owner']);
  if (!parsed.success) return NO_OWNER;
  const owner = parsed.data;
  const read = await readFacts(asked, owner);
  if (isRefusal(read)) return read;
  const { value } = read;
  const { you } = person;
  const at = { path: `/desk/owners/${owner}`, state: form };
  return done(
    deskPage({
      you,
      tab: '/desk/owners',
      title: value.profile?.name ?? owner,
      above: html`<a href="/desk/owners">Promoters</a> · <span class="sku">${owner}</span> ·
<a href="/desk?owner=${owner}">what waits</a> · <a href="${homeOf(owner)}">its own pages</a>`,
      form,
      main: html`${
        value.profile
          ? profileFacts(value.profile)
          : html`<p>There is no profile yet: who the promoter is, and where notices are sent.</p>`
      }${forms(you, value).map((one) => actForm(you, at, one))}
${agentsTable(value)}<p class="quiet">Access is decided, suspended and reinstated on the page of an agent.</p>
${keysTable(value)}${outreachPart(value)}${peoplePart(value)}`,
    }),
  );
};

const ACTS: Readonly<Record<string, PageAct>> = {
  set: SET_PROFILE,
  confirm: {
    operation: 'confirmOwnerMailbox',
    input: ({ mailbox, reason }, { owner }) => ({ owner_id: owner, mailbox, reason }),
    done: 'The mailbox is confirmed.',
  },
  halt: {
    operation: 'haltOutreach',
    input: ({ reason }, { owner }) => ({ owner_id: owner, reason }),
    done: 'Outreach is halted.',
  },
  resume: {
    operation: 'resumeOutreach',
    input: ({ reason }, { owner }) => ({ owner_id: owner, reason }),
    done: 'Outreach is resumed.',
  },
};

/** Serves `/desk/owners`. */
export const ownersRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/desk/owners',
    acts: {},
    show: showOwners,
  });
  serveActs(scope, app, {
    path: '/desk/owners/:owner',
    acts: ACTS,
    show: showOwner,
  });
};
