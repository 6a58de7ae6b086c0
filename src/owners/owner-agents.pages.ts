/** The agents of a promoter and their keys: what each did, with which assistant, and who may still act. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { AgentRecord, KeyRecord, ListedKey } from '#contracts/access/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { scopeBoxes } from '#src/access/application.pages.ts';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { type PageAct, serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, NO_FAULTS, notice, type Page, type You } from '#src/web/layout.ts';
import {
  actForm,
  badge,
  type Content,
  dataTable,
  eventWords,
  fieldId,
  type FormState,
  hrefWith,
  happened,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';
import {
  type Answer,
  all,
  copied,
  fileLink,
  homeOf,
  mayAct,
  type OwnerFile,
  ownerOfPage,
  ownerPage,
  FULL_PAGE,
  type Period,
  periodOf,
  type Read,
  reader,
  serveFile,
  writer,
} from './owner-frame.pages.ts';
import { markOf } from './owner-links.pages.ts';
import { countDays, fiveNumbers, NUMBER_HEADS, numbersLine } from './owner-numbers.pages.ts';
import { agentNames } from './owner-words.pages.ts';

const NO_AGENT = refuse('resource_not_found', 'There is no such agent.');
const NO_KEY = refuse('resource_not_found', 'There is no such key.');

export const AGENT_STATES: Readonly<Record<AgentRecord['status'], Html>> = {
  requested: badge('waits for staff', 'warn'),
  approved: badge('active', 'good'),
  denied: badge('denied', 'bad'),
  suspended: badge('suspended', 'bad'),
};
export const KEY_STATES: Readonly<Record<KeyRecord['status'], Html>> = {
  active: badge('active', 'good'),
  rotating: badge('replaced, works for a while', 'warn'),
  revoked: badge('revoked', 'bad'),
  expired: badge('expired', 'bad'),
  suspended: badge('suspended with its agent', 'bad'),
};

const isLive = ({ status }: KeyRecord): boolean => status === 'active' || status === 'rotating';

/** The assistants with which each agent acted in a period, most used first. */
const assistantsOf = (read: Read, owner_id: string, { from, to }: Period) =>
  read('showPerformance', {
    owner_id,
    from,
    to,
    group_by: ['agent_id', 'client'],
    granularity: 'total',
    metrics: ['clicks_valid', 'handoffs_created', 'leads_submitted'],
    limit: LIMITS.PERFORMANCE_PAGE_ROWS_MAX,
  });

const assistantsText = ({ data }: Answer<'showPerformance'>, agentId: string): string => {
  const names = data.flatMap(({ dimensions: { agent_id, client } }) =>
    agent_id === agentId && client ? [client] : [],
  );
  return names.length === 0 ? '–' : new Intl.ListFormat('en-GB').format(names);
};

const showAgents = async (
  { app, person, params, query }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner = found.value;
  const read = reader(app, person);
  const answers = await all({
    agents: read('listAgents', { owner_id: owner, ...markOf(query['before']) }),
    keys: read('listKeys', { owner_id: owner, ...FULL_PAGE }),
    assistants: assistantsOf(read, owner, periodOf({}, app.now())),
  });
  if (isRefusal(answers)) return answers;
  const { agents, keys, assistants } = answers.value;
  const path = `${homeOf(owner)}/agents`;
  const keysOf = (id: string): number =>
    keys.data.filter((key) => key.agent_id === id && isLive(key)).length;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/agents',
      title: 'Agents',
      form,
      main: html`${dataTable(
        'Agents, newest first',
        [{ head: 'Agent' }, { head: 'State' }, { head: 'Assistants in 30 days' }, { head: 'Keys' }],
        {
          rows: agents.data.map((agent) => [
            html`<a href="${path}/${agent.id}">${agent.name}</a><span class="hint">${agent.purpose}</span>`,
            html`${AGENT_STATES[agent.status]}${agent.pending && agent.status !== 'requested' ? html` ${badge('change waits for staff', 'warn')}` : ''}`,
            assistantsText(assistants, agent.id),
            `${keysOf(agent.id)} ${keysOf(agent.id) === 1 ? 'works' : 'work'}`,
          ]),
          empty: 'There is no agent yet.',
        },
      )}${nextPage(
        agents.next_before === null
          ? undefined
          : hrefWith(path, { before: String(agents.next_before) }),
        'Older agents',
      )}${accessForm(person.you, path, form)}${fileLink(path)}`,
    }),
  );
};

type Act = Answer<'auditHistory'>['data'][number];

/** Auditing is for owners and auditors; others see the agent without it. */
const mayAudit = ({ roles }: You): boolean => roles.includes('owner') || roles.includes('auditor');

const ACTS_SHOWN = 25;

const readActs = (
  read: Read,
  you: You,
  query: { owner_id: string; actor?: string; key_id?: string; before?: number },
) =>
  mayAudit(you)
    ? read('auditHistory', { ...query, limit: ACTS_SHOWN })
    : Promise.resolve(done({ data: [] as Act[], next_before: null }));

const OUTCOME_WORDS: Readonly<Record<Act['outcome'], string>> = {
  done: '',
  allowed: '',
  denied: ', not allowed',
  refused: ', refused',
  failed: ', failed',
  replayed: ', repeated',
};

/** What an act was: its event, or for reads and refusals the operation. */
const actWords = ({ outcome, type, operation, count = 1, code }: Act): string => {
  const words = eventWords(
    outcome === 'done' ? type : operation.charAt(0).toUpperCase() + operation.slice(1),
  );
  const reason = code === undefined ? '' : ` (${code.replaceAll('_', ' ')})`;
  return `${words}${OUTCOME_WORDS[outcome]}${reason}${count > 1 ? ` · ${writer.count(count)} times` : ''}`;
};

/** The page of a record; undefined if it has none. */
const pageOfRecord = (owner: string, record = ''): string | undefined => {
  if (record.startsWith('out_')) return `/approvals/${record}`;
  const page = { lnk: 'links', hnd: 'lists', led: 'leads' }[record.slice(0, 3)];
  return page && `${homeOf(owner)}/${page}/${record}`;
};

const actsSection = (
  owner: string,
  { data, next_before }: { data: readonly Act[]; next_before: number | null },
  path: string,
): Html =>
  html`<section><h2>What it did</h2>${
    data.length === 0
      ? html`<p class="quiet">Nothing in the part of the history that was read.</p>`
      : happened(
          data.map((act) => {
            const href = pageOfRecord(owner, act.record);
            return {
              at: act.at,
              what: href ? html`<a href="${href}">${actWords(act)}</a>` : actWords(act),
              ...(act.client && { who: act.client.name }),
            };
          }),
        )
  }${nextPage(
    next_before === null ? undefined : hrefWith(path, { before: String(next_before) }),
    'Earlier acts',
  )}</section>`;

/** The last use of a key or a token, as far as the newest events say. */
export const lastUseOf = ({
  last_used_at,
  unused_since,
  created_at,
}: Pick<ListedKey, 'last_used_at' | 'unused_since' | 'created_at'>): Content => {
  if (last_used_at !== undefined) return timeOf(last_used_at);
  return unused_since === undefined || unused_since === created_at
    ? 'never'
    : html`none since ${timeOf(unused_since)}`;
};

/** The keys of an agent, each with the way to its page. */
export const keysOfAgent = (owner: string, keys: readonly ListedKey[]): Html =>
  dataTable(
    'Keys that are not revoked',
    [{ head: 'Key' }, { head: 'State' }, { head: 'Last use' }, { head: 'Expires' }],
    {
      rows: keys.map((key) => [
        html`<a href="${homeOf(owner)}/keys/${key.id}">…${key.last4}</a>${key.environment === 'test' && html` <span class="quiet">test</span>`}`,
        KEY_STATES[key.status],
        lastUseOf(key),
        timeOf(key.expires_at),
      ]),
      empty: 'The agent has no key.',
    },
  );

/** The acts on an agent in its state. */
const agentForms = (
  you: You,
  path: string,
  { status, suspended_by }: AgentRecord,
  state: FormState,
) => {
  if (!mayAct(you)) return '';
  if (status === 'suspended')
    return suspended_by === 'staff'
      ? notice('warn', html`<p>Staff suspended this agent. Only staff can reinstate it.</p>`)
      : actForm(
          you,
          { path, state },
          {
            name: 'reinstate',
            title: 'Reinstate this agent',
            text: 'Keys that have not expired or been revoked work again.',
            fields: [REASON],
            button: 'Reinstate the agent',
          },
        );
  if (status !== 'approved') return '';
  return actForm(
    you,
    { path, state },
    {
      name: 'suspend',
      title: 'Suspend this agent',
      text: 'All its keys stop working within a second. You can reinstate it.',
      fields: [REASON],
      button: 'Suspend the agent',
      isDangerous: true,
    },
  );
};

const DAYS_FIELD = {
  name: 'expires_in_days',
  label: 'Days until it expires',
  type: 'number',
  value: String(LIMITS.KEY_DAYS_DEFAULT),
  hint: `1 to ${LIMITS.KEY_DAYS_MAX}`,
  required: true,
} as const;

const scopeField = (scope: string): string => `scope_${scope}`;

/** Asks for a new agent, or for what an agent should be and may do from now on. */
const accessForm = (you: You, path: string, state: FormState, agent?: AgentRecord): Content => {
  if (!mayAct(you) || agent?.status === 'suspended') return '';
  const { name, purpose, scopes } = agent?.pending ?? {
    name: agent?.name,
    purpose: agent?.purpose,
    scopes: agent?.granted_scopes ?? [],
  };
  const isSent = state.act === 'request';
  const ticked = isSent
    ? SCOPE_NAMES.filter((scope) => state.typed[scopeField(scope)] !== undefined)
    : scopes;
  return actForm(
    you,
    { path, state },
    {
      name: 'request',
      title: agent ? 'Ask for another name, purpose or permissions' : 'Ask for a new agent',
      text: agent
        ? 'Until staff have decided, it keeps what it has.'
        : 'Staff decide. After that you issue its key on its page.',
      fields: [
        {
          name: 'name',
          label: 'Name of the agent',
          value: name,
          hint: 'Buyers read it.',
          maxlength: 100,
          required: true,
        },
        {
          name: 'purpose',
          label: 'What it does',
          value: purpose,
          maxlength: 2_000,
          rows: 3,
          required: true,
        },
      ],
      body: scopeBoxes(ticked, isSent ? state.faults : NO_FAULTS, {
        id: fieldId('request', 'scopes'),
        nameOf: scopeField,
      }),
      button: 'Ask staff',
    },
  );
};

const REQUEST: PageAct = {
  operation: 'requestAccess',
  input: ({ name = '', purpose = '', ...sent }, { owner, id }) => ({
    owner_id: owner,
    ...(id !== undefined && { agent_id: id }),
    name,
    purpose,
    scopes: SCOPE_NAMES.filter((scope) => sent[scopeField(scope)] !== undefined),
  }),
  done: 'Staff have the request.',
};

const issueForm = (you: You, path: string, { status }: AgentRecord, state: FormState): Content =>
  mayAct(you) && status === 'approved'
    ? actForm(
        you,
        { path, state },
        {
          name: 'issue',
          title: 'Issue a key',
          text: `The key is shown once. An agent has at most ${LIMITS.KEYS_PER_AGENT_MAX} keys that work.`,
          fields: [
            {
              name: 'environment',
              label: 'For',
              required: true,
              options: [
                ['live', 'live records'],
                ['test', 'a space of records for tests'],
              ],
            },
            DAYS_FIELD,
          ],
          button: 'Issue the key',
        },
      )
    : '';

const agentFacts = (agent: AgentRecord, assistants: string): Html =>
  facts([
    ['State', AGENT_STATES[agent.status]],
    ...(agent.reason === undefined ? [] : [['Reason', agent.reason] as const]),
    ['Since', momentText(agent.created_at)],
    ['Assistants in 30 days', assistants],
    ['May use', agent.granted_scopes.join(', ') || 'nothing yet'],
    ...(agent.pending ? [['Requested', agent.pending.scopes.join(', ')] as const] : []),
  ]);

const showAgent = async (
  { app, person, params, query }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner = found.value;
  const { id = '' } = params;
  const { you } = person;
  const read = reader(app, person);
  const period = periodOf({}, app.now());
  const answers = await all({
    agent: read('readAgent', { agent_id: id }),
    report: countDays(read, owner, period, { agent_id: id }),
    assistants: assistantsOf(read, owner, period),
    acts: readActs(read, you, { owner_id: owner, actor: id, ...markOf(query['before']) }),
  });
  if (isRefusal(answers)) return answers;
  const { agent, report, assistants, acts } = answers.value;
  if (agent.owner_id !== owner) return NO_AGENT;
  const path = `${homeOf(owner)}/agents/${id}`;
  const { keys } = agent;
  return done(
    ownerPage({
      you,
      owner,
      tab: '/agents',
      title: agent.name,
      above: html`<a href="${homeOf(owner)}/agents">Agents</a>`,
      form,
      main: html`<p>${agent.purpose}</p>
${agentFacts(agent, assistantsText(assistants, id))}
${accessForm(you, path, form, agent)}${agentForms(you, path, agent, form)}
<section><h2>Numbers of ${period.text}</h2>${fiveNumbers(owner, period, report)}</section>
<section id="keys"><h2>Keys</h2>${keysOfAgent(owner, keys)}${issueForm(you, path, agent, form)}</section>
${mayAudit(you) && actsSection(owner, acts, path)}`,
    }),
  );
};

/** The only page that shows a key. */
const shownOnce = (
  { you }: SignedIn,
  { owner, agentId, origin }: { owner: string; agentId: string; origin: string },
  { api_key, expires_at }: { api_key: string; expires_at: string },
): Page => {
  const mcp = `claude mcp add --transport http tributary ${origin}/api/affiliate/mcp --header "Authorization: Bearer ${api_key}"`;
  const curl = `curl -s ${origin}/api/affiliate/v1/connection -H "Authorization: Bearer ${api_key}"`;
  return ownerPage({
    you,
    owner,
    tab: '/agents',
    title: 'The new key',
    above: html`<a href="${homeOf(owner)}/agents/${agentId}">The agent</a>`,
    main: html`${notice(
      'warn',
      html`<p><strong>It is shown only now.</strong> Store it in a secret of a server, never in a
browser or a URL. It works until ${momentText(expires_at)}.</p>`,
    )}
<section><h2>The key</h2><p>${copied(api_key)}</p></section>
<section><h2>For a file <code>.env</code></h2><p>${copied(`SERVICE_API_KEY=${api_key}`)}</p></section>
<section><h2>Try it</h2><p>${copied(curl)}</p></section>
<section><h2>For Claude Code</h2><p>${copied(mcp)}</p><p class="quiet">Other clients are in <a href="/docs">the documentation</a>.</p></section>`,
  });
};

/** The acts on a key in its state. */
const keyForms = (you: You, path: string, status: KeyRecord['status'], form: FormState): Html =>
  html`${
    status === 'active' &&
    actForm(
      you,
      { path, state: form },
      {
        name: 'roll',
        title: 'Roll this key',
        text: 'A new key is issued and shown once. Both work during the overlap, so that nothing stops.',
        fields: [
          {
            name: 'overlap_hours',
            label: 'Hours for which both work',
            type: 'number',
            value: String(LIMITS.KEY_OVERLAP_HOURS_DEFAULT),
            hint: `0 to ${LIMITS.KEY_OVERLAP_HOURS_MAX}`,
            required: true,
          },
          DAYS_FIELD,
        ],
        button: 'Roll the key',
        isOpen: true,
      },
    )
  }${
    status !== 'revoked' &&
    actForm(
      you,
      { path, state: form },
      {
        name: 'revoke',
        title: 'Revoke this key',
        text: 'Final: it stops working within a second.',
        fields: [REASON],
        button: 'Revoke the key',
        isDangerous: true,
      },
    )
  }`;

const showKey = async (
  { app, person, params }: PageRequest,
  form: FormState,
): Promise<Outcome<Page>> => {
  const found = ownerOfPage(person, params);
  if (isRefusal(found)) return found;
  const owner = found.value;
  const { you } = person;
  const { id = '' } = params;
  const read = reader(app, person);
  const key = await read('readKey', { key_id: id });
  if (isRefusal(key)) return key;
  const { owner_id, agent_id, last4, status, environment, created_at, expires_at } = key.value;
  if (owner_id !== owner) return NO_KEY;
  const answers = await all({
    agent: read('readAgent', { agent_id }),
    acts: readActs(read, you, { owner_id: owner, key_id: id }),
  });
  if (isRefusal(answers)) return answers;
  const { agent, acts } = answers.value;
  const path = `${homeOf(owner)}/keys/${id}`;
  return done(
    ownerPage({
      you,
      owner,
      tab: '/agents',
      title: `Key …${last4}`,
      above: html`<a href="${homeOf(owner)}/agents/${agent_id}">${agent.name}</a>`,
      form,
      main: html`${facts([
        ['State', KEY_STATES[status]],
        ['For', environment === 'live' ? 'live records' : 'tests'],
        ['Issued', momentText(created_at)],
        ['Expires', momentText(expires_at)],
        ...(acts.data[0] ? [['Last use', timeOf(acts.data[0].at)] as const] : []),
      ])}${mayAct(you) && keyForms(you, path, status, form)}`,
    }),
  );
};

const agentsFile = (app: App): OwnerFile => ({
  path: '/o/:owner/agents.csv',
  head: ['agent', 'id', 'state', ...NUMBER_HEADS],
  async rows(read, owner_id, query) {
    const { from, to } = periodOf(query, app.now());
    const answers = await all({
      agents: read('listAgents', { owner_id, ...FULL_PAGE }),
      report: read('showPerformance', {
        owner_id,
        from,
        to,
        group_by: ['agent_id'],
        granularity: 'total',
      }),
    });
    if (isRefusal(answers)) return answers;
    const { agents, report } = answers.value;
    const nameOf = agentNames(agents.data);
    const states = new Map(agents.data.map(({ id, status }) => [id, status]));
    return done(
      report.data.map(({ dimensions: { agent_id: id }, metrics }) => [
        nameOf(id ?? ''),
        id,
        states.get(id ?? ''),
        ...numbersLine(metrics),
      ]),
    );
  },
});

const keyRoutes = (
  scope: FastifyInstance,
  app: App,
  shows: NonNullable<PageAct['shows']>,
): void => {
  serveActs(scope, app, {
    path: '/o/:owner/keys/:id',
    acts: {
      roll: {
        operation: 'rotateKey',
        input: ({ overlap_hours, expires_in_days }, { id }) => ({
          key_id: id,
          overlap_hours: Number(overlap_hours),
          expires_in_days: Number(expires_in_days),
        }),
        done: 'The key is rolled.',
        shows,
      },
      revoke: {
        operation: 'revokeKey',
        input: ({ reason }, { id }) => ({ key_id: id, reason }),
        done: 'The key is revoked.',
      },
    },
    show: showKey,
  });
};

/** Serves the agents of a promoter, and their keys. */
export const ownerAgentRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/o/:owner/agents',
    acts: { request: REQUEST },
    show: showAgents,
  });
  const reasoned = ({ reason }: Typed, { id }: Typed) => ({ agent_id: id, reason });
  const shows = (person: SignedIn, value: unknown, { owner = '' }: Typed): Page => {
    const key = value as Answer<'issueKey'>;
    return shownOnce(person, { owner, agentId: key.agent_id, origin: app.origin() }, key);
  };
  serveActs(scope, app, {
    path: '/o/:owner/agents/:id',
    acts: {
      request: REQUEST,
      suspend: { operation: 'suspendAgent', input: reasoned, done: 'The agent is suspended.' },
      reinstate: { operation: 'reinstateAgent', input: reasoned, done: 'The agent is reinstated.' },
      issue: {
        operation: 'issueKey',
        input: ({ environment, expires_in_days }, { id }) => ({
          agent_id: id,
          environment,
          expires_in_days: Number(expires_in_days),
        }),
        done: 'The key is issued.',
        shows,
      },
    },
    show: showAgent,
  });
  keyRoutes(scope, app, shows);
  serveFile(scope, app, agentsFile(app));
};
