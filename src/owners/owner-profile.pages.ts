/** The approvals, the profile and the people of a promoter. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { App } from '#src/registries/app.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { type PageAct, serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page, type You } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  badge,
  type Content,
  dataTable,
  filters,
  type FormState,
  hrefWith,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople, type Typed } from '#src/web/person-admission.ts';
import {
  type Answer,
  all,
  copied,
  everyRow,
  fileLink,
  homeOf,
  mayAct,
  type OwnerFile,
  ownerOfPage,
  ownerPage,
  FULL_PAGE,
  reader,
  serveFile,
} from './owner-frame.pages.ts';
import { markOf } from './owner-links.pages.ts';
import { agentNames, beginning, KIND_NAMES, OUTREACH_WORDS } from './owner-words.pages.ts';

const NO_PERSON = refuse('resource_not_found', 'There is no such person.');

const STATUS_FILTERS = [
  ['', 'Unfinished'],
  ['pending_approval', 'Wait for approval'],
  ['changes_requested', 'Sent back'],
  ['confirmed', 'Sent'],
  ['rejected', 'Refused'],
  ['failed', 'Failed'],
  ['outcome_unknown', 'Outcome unknown'],
  ['expired', 'Expired'],
] as const;

const statusFilter = ({ status = '' }: Typed): { status?: Outbound['status'] } =>
  STATUS_FILTERS.some(([name]) => name === status && name !== '')
    ? { status: status as Outbound['status'] }
    : {};

const showApprovals = async ({
  app,
  person,
  params,
  query,
}: PageRequest): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner_id = found.value;
  const read = reader(app, person);
  const filter = statusFilter(query);
  const answers = await all({
    listed: read('listApprovals', { owner_id, ...filter, ...markOf(query['before']) }),
    agents: read('listAgents', { owner_id, ...FULL_PAGE }),
  });
  if (isRefusal(answers)) return answers;
  const { listed, agents } = answers.value;
  const nameOf = agentNames(agents.data);
  const path = `${homeOf(owner_id)}/approvals`;
  return done(
    ownerPage({
      you: person.you,
      owner: owner_id,
      tab: '/approvals',
      title: 'Approvals',
      main: html`${filters(
        'State',
        STATUS_FILTERS.map(([status, text]) => ({
          text,
          href: hrefWith(path, { status }),
          isCurrent: status === (filter.status ?? ''),
        })),
      )}${dataTable(
        'What agents propose to send, newest first',
        [
          { head: 'Text' },
          { head: 'Kind' },
          { head: 'State' },
          { head: 'By' },
          { head: 'Expires' },
        ],
        {
          rows: listed.data.map(({ id, kind, content, status, agent_id, schedule }) => [
            html`<a href="/approvals/${id}">${beginning(content)}</a>`,
            KIND_NAMES[kind],
            badge(OUTREACH_WORDS[status], status === 'pending_approval' ? 'warn' : 'calm'),
            nameOf(agent_id),
            timeOf(schedule.not_after),
          ]),
          empty: 'There is nothing. What your agents propose appears here.',
        },
      )}${nextPage(
        listed.next_before === null
          ? undefined
          : hrefWith(path, { ...filter, before: String(listed.next_before) }),
        'Older ones',
      )}${fileLink(path, filter)}`,
    }),
  );
};

type Profile = Answer<'readOwnerProfile'>;
type Settings = Answer<'getOutreach'>;
type Person = Answer<'listPeople'>['data'][number];

export const profileFacts = (profile: Profile): Html =>
  facts([
    ['Name', profile.name],
    ['Address', html`<span class="message">${profile.postal_address}</span>`],
    [
      'Mailbox',
      html`${profile.mailbox} ${
        profile.mailbox_confirmed_at === undefined
          ? badge('not confirmed', 'warn')
          : badge('confirmed', 'good')
      }`,
    ],
    ['Clicks count for', `${profile.attribution_days} days`],
    ['Stock is old after', `${profile.stale_stock_days} days`],
    [
      'Ended links lead to',
      profile.fallback ? `${profile.fallback.kind} ${profile.fallback.ref}` : 'nowhere',
    ],
    ['Answers to agents', profile.record_answers === 'on' ? 'recorded' : 'not recorded'],
  ]);

const profileSection = (profile: Profile | undefined): Html =>
  profile === undefined
    ? html`<p>There is no profile yet: who you are, and where notices to you are sent.</p>`
    : profileFacts(profile);

const NOWHERE = ['', 'nowhere'] as const;

type Fields = NonNullable<ActForm['fields']>;

const attributionField = (profile: Profile | undefined): Fields[number] => ({
  name: 'attribution_days',
  label: 'Days for which clicks count',
  value: String(profile?.attribution_days ?? LIMITS.ATTRIBUTION_DAYS),
  type: 'number',
  hint: `1 to ${LIMITS.ATTRIBUTION_DAYS_MAX}`,
  required: true,
});

const fallbackFields = (profile: Profile | undefined): Fields => [
  {
    name: 'fallback_kind',
    label: 'Where links lead that have ended or are stopped',
    value: profile?.fallback?.kind,
    options: [
      NOWHERE,
      ['search', 'to a search for'],
      ['category', 'to the category'],
      ['product', 'to the product'],
    ],
  },
  {
    name: 'fallback_ref',
    label: 'Words, category or SKU',
    value: profile?.fallback?.ref,
    maxlength: 200,
  },
];

const profileFields = ({ roles }: You, profile: Profile | undefined): Fields => [
  {
    name: 'name',
    label: 'Name of the person or company',
    value: profile?.name,
    hint: 'Buyers read it.',
    maxlength: 200,
    required: true,
  },
  {
    name: 'postal_address',
    label: 'Postal address',
    value: profile?.postal_address,
    rows: 3,
    required: true,
  },
  {
    name: 'mailbox',
    label: 'Mailbox for notices',
    value: profile?.mailbox,
    type: 'email',
    maxlength: 254,
    required: true,
  },
  ...(roles.includes('staff') ? [attributionField(profile)] : []),
  {
    name: 'stale_stock_days',
    label: 'Days until agents see stock as old',
    value: String(profile?.stale_stock_days ?? LIMITS.STOCK_STALE_DAYS),
    type: 'number',
    hint: `1 to ${LIMITS.STOCK_STALE_DAYS_MAX}`,
    required: true,
  },
  ...fallbackFields(profile),
  {
    name: 'record_answers',
    label: 'Record what agents were answered',
    value: profile?.record_answers,
    hint: 'So that auditors can show what an agent read of numbers and leads.',
    options: [
      ['off', 'no'],
      ['on', 'yes'],
    ],
  },
];

/** The form of a promoter's profile; how long clicks count is a field of staff. */
export const profileForm = (you: You, profile: Profile | undefined): ActForm => ({
  name: 'set',
  title: profile ? 'Change the profile' : 'Enter the profile',
  text: `Another mailbox gets a link to confirm it.${
    you.roles.includes('staff') ? '' : ' How long clicks count is agreed with staff.'
  }`,
  fields: profileFields(you, profile),
  button: 'Save the profile',
});

export const MODES = {
  owner_controlled: 'people of the promoter',
  admin_approved: 'staff',
} as const;

const outreachSection = (
  you: You,
  path: string,
  { mode, approvals_required, automatic_deliveries_per_day, halted }: Settings,
  state: FormState,
): Html =>
  html`<section><h2>Outreach</h2>${halted !== null && notice('warn', html`<p>Halted: ${halted}. Staff can resume it.</p>`)}
${facts([
  ['Who approves', mode === null ? 'nobody: nothing can be proposed' : MODES[mode]],
  ['Approvals needed', String(approvals_required ?? 0)],
  ['Lists delivered a day without an approval', String(automatic_deliveries_per_day)],
])}
${
  mayAct(you) &&
  html`${
    halted === null &&
    actForm(
      you,
      { path, state },
      {
        name: 'halt',
        title: 'Halt all outreach',
        text: 'At once: nothing is proposed, approved or sent until staff resume it.',
        fields: [REASON],
        button: 'Halt outreach',
        isDangerous: true,
      },
    )
  }${
    mode === 'owner_controlled' &&
    actForm(
      you,
      { path, state },
      {
        name: 'automatic',
        title: 'Deliver lists without an approval',
        text: 'Only to the mailbox of a lead that staff accepted and that consented. 0: each delivery needs an approval.',
        fields: [
          {
            name: 'per_day',
            label: 'Deliveries a day',
            type: 'number',
            value: String(automatic_deliveries_per_day),
            required: true,
          },
        ],
        button: 'Save',
      },
    )
  }`
}</section>`;

export const PERSON_STATES: Readonly<Record<Person['status'], Html>> = {
  invited: badge('invited', 'warn'),
  active: badge('active', 'good'),
  ended: badge('ended', 'bad'),
};

const peopleSection = (
  you: You,
  { owner, path, people }: { owner: string; path: string; people: Answer<'listPeople'> },
  state: FormState,
): Html =>
  html`<section><h2>People</h2>${dataTable(
    'Who acts for this promoter',
    [{ head: 'Person' }, { head: 'State' }, { head: 'Last sign-in' }, { head: 'Invited by' }],
    {
      rows: people.data.map(({ id, name, status, last_sign_in_at, invited_by }) => [
        mayAct(you) ? html`<a href="${homeOf(owner)}/people/${id}">${name}</a>` : name,
        PERSON_STATES[status],
        last_sign_in_at === null ? 'never' : timeOf(last_sign_in_at),
        invited_by ?? 'nobody',
      ]),
      empty: 'Nobody acts for this promoter yet.',
    },
  )}${nextPage(people.next_before === null ? undefined : hrefWith(path, { before: String(people.next_before) }), 'Earlier people')}${
    mayAct(you) &&
    actForm(
      you,
      { path, state },
      {
        name: 'invite',
        title: 'Invite somebody',
        text: 'They get a link by mail, and act for this promoter as you do.',
        fields: [
          { name: 'name', label: 'Name', required: true, maxlength: 100 },
          {
            name: 'mailbox',
            label: 'E-mail address',
            type: 'email',
            required: true,
            maxlength: 254,
          },
        ],
        button: 'Invite',
      },
    )
  }</section>`;

const showProfile = async (
  { app, person, params, query }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner = found.value;
  const { you } = person;
  const read = reader(app, person);
  const answers = await all({
    settings: read('getOutreach', { owner_id: owner }),
    people: read('listPeople', { owner_id: owner, ...markOf(query['before']) }),
  });
  if (isRefusal(answers)) return answers;
  const profile = await read('readOwnerProfile', { owner_id: owner });
  if (isRefusal(profile) && profile.code !== 'resource_not_found') return profile;
  const { settings, people } = answers.value;
  const path = `${homeOf(owner)}/profile`;
  const set = isRefusal(profile) ? undefined : profile.value;
  return done(
    ownerPage({
      you,
      owner,
      tab: '/profile',
      title: 'Profile and people',
      form,
      main: html`${profileSection(set)}${
        mayAct(you) && actForm(you, { path, state: form }, profileForm(you, set))
      }
${outreachSection(you, path, settings, form)}
${peopleSection(you, { owner, path, people }, form)}
<section><h2>Command line</h2><p>What has no page here is done with the command line, from any machine, signed in as
yourself:</p><p>${copied(`tributary login ${onLocalhost(app.origin())}`)}</p></section>`,
    }),
  );
};

const personForms = (you: You, path: string, { status }: Person, state: FormState): Content =>
  html`${
    status === 'invited' &&
    actForm(
      you,
      { path, state },
      {
        name: 'again',
        title: 'Invite again',
        text: 'A new link is mailed; the earlier one no longer works.',
        button: 'Invite again',
      },
    )
  }${
    status !== 'ended' &&
    actForm(
      you,
      { path, state },
      {
        name: 'end',
        title: 'End the access of this person',
        text: 'Sessions and logins stop working within a second. What the person did stays in the records.',
        fields: [REASON],
        button: 'End the access',
        isDangerous: true,
      },
    )
  }`;

const showPerson = async (
  { app, person, params }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner = found.value;
  const { id = '' } = params;
  const read = await reader(app, person)('readPerson', { person_id: id });
  if (isRefusal(read)) return read;
  const shown = read.value;
  if (!shown.owners.includes(owner)) return NO_PERSON;
  const path = `${homeOf(owner)}/people/${id}`;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/profile',
      title: shown.name,
      above: html`<a href="${homeOf(owner)}/profile">Profile and people</a>`,
      form,
      main: html`${facts([
        ['State', PERSON_STATES[shown.status]],
        ['E-mail address', shown.mailbox],
        ['Acts for', shown.owners.join(', ')],
        [
          'Last sign-in',
          shown.last_sign_in_at === null ? 'never' : momentText(shown.last_sign_in_at),
        ],
      ])}${personForms(person.you, path, shown, form)}`,
    }),
  );
};

const APPROVALS_FILE: OwnerFile = {
  path: '/o/:owner/approvals.csv',
  head: ['kind', 'text', 'state', 'id', 'agent_id', 'proposed_at', 'expires_at'],
  async rows(read, owner_id, query) {
    const rows = await everyRow((before) =>
      read('listApprovals', {
        owner_id,
        ...statusFilter(query),
        ...FULL_PAGE,
        ...(before && { before }),
      }),
    );
    if (isRefusal(rows)) return rows;
    return done(
      rows.value.map(({ kind, content, status, id, agent_id, created_at, schedule }) => [
        kind,
        content.subject ?? content.text,
        status,
        id,
        agent_id,
        created_at,
        schedule.not_after,
      ]),
    );
  },
};

/** The field of a fallback that a fault is about: the kind alone says that there is one. */
const profileField = (pointer: string): string =>
  pointer.startsWith('/fallback') ? 'fallback_ref' : pointer.slice(1);

export const SET_PROFILE: PageAct = {
  operation: 'setOwnerProfile',
  input: ({ fallback_kind: kind = '', fallback_ref: ref = '', ...sent }, { owner }) => ({
    owner_id: owner,
    name: sent['name'] ?? '',
    postal_address: sent['postal_address'] ?? '',
    mailbox: sent['mailbox'] ?? '',
    stale_stock_days: Number(sent['stale_stock_days']),
    ...(sent['record_answers'] && { record_answers: sent['record_answers'] }),
    ...(sent['attribution_days'] !== undefined && {
      attribution_days: Number(sent['attribution_days']),
    }),
    ...(kind !== '' && { fallback: { kind, ref } }),
  }),
  fieldOf: profileField,
  done: 'The profile is saved. A mailbox that is new gets a link to confirm it.',
};

const PROFILE_ACTS: Readonly<Record<string, PageAct>> = {
  set: SET_PROFILE,
  halt: {
    operation: 'haltOutreach',
    input: ({ reason }, { owner }) => ({ owner_id: owner, reason }),
    done: 'Outreach is halted.',
  },
  automatic: {
    operation: 'setAutomaticDelivery',
    input: ({ per_day }, { owner }) => ({ owner_id: owner, per_day: Number(per_day) }),
    done: 'Saved.',
  },
  invite: {
    operation: 'invitePerson',
    input: ({ name, mailbox }, { owner }) => ({
      name,
      mailbox,
      roles: ['owner'],
      owners: [owner],
    }),
    done: 'The invitation is mailed.',
  },
};

/** Serves the approvals, the profile and the people of a promoter. */
export const ownerProfileRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/o/:owner/approvals',
    acts: {},
    show: showApprovals,
  });
  serveActs(scope, app, {
    path: '/o/:owner/profile',
    acts: PROFILE_ACTS,
    show: showProfile,
  });
  serveActs(scope, app, {
    path: '/o/:owner/people/:id',
    acts: {
      again: {
        operation: 'invitePersonAgain',
        input: (_sent, { id }) => ({ person_id: id }),
        done: 'The invitation is mailed again.',
      },
      end: {
        operation: 'endPerson',
        input: ({ reason }, { id }) => ({ person_id: id, reason }),
        done: 'The access has ended.',
      },
    },
    show: showPerson,
  });
  serveFile(scope, app, APPROVALS_FILE);
};
