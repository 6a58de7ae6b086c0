/** The lists, the RFQs and the leads of a promoter: where they stand, and what happened. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { App } from '#src/registries/app.ts';
import { moneyText } from '#src/shared/cells.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html, type Page } from '#src/web/layout.ts';
import {
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
  everyRow,
  fileLink,
  homeOf,
  mayAct,
  type OwnerFile,
  ownerOfPage,
  ownerPage,
  FULL_PAGE,
  type Period,
  periodOf,
  recordsQuery,
  reader,
  serveFile,
  writer,
} from './owner-frame.pages.ts';
import { markOf } from './owner-links.pages.ts';
import { amountsText } from './owner-numbers.pages.ts';
import {
  agentNames,
  historySection,
  LEAD_WORDS,
  LIST_WORDS,
  readHistory,
  RFQ_WORDS,
  stateWords,
} from './owner-words.pages.ts';

type List = Answer<'listHandoffs'>['data'][number];
type Lead = Answer<'listOwnerLeads'>['data'][number];

/** What every page of records needs: the promoter, how to read, and the names of its agents. */
const begin = async ({ app, person, params }: PageRequest) => {
  const owner = ownerOfPage(person, params);
  if (isRefusal(owner)) return owner;
  const read = reader(app, person);
  const agents = await read('listAgents', { owner_id: owner.value, ...FULL_PAGE });
  if (isRefusal(agents)) return agents;
  const nameOf = agentNames(agents.value.data);
  return done({ owner: owner.value, read, nameOf });
};

/** The period that an address names; undefined without one. */
const chosenPeriod = (query: Typed, now: number): Period | undefined =>
  'period' in query || 'from' in query ? periodOf(query, now) : undefined;

const isWithin =
  (period: Period | undefined) =>
  ({ created_at }: { created_at: string }): boolean =>
    period === undefined ||
    (created_at.slice(0, 10) >= period.from && created_at.slice(0, 10) <= period.to);

const periodText = (path: string, period: Period | undefined): Html | '' =>
  period === undefined ? '' : html`<p>Of ${period.text}. <a href="${path}">Show all</a></p>`;

const listState = ({ status, rfq }: List): Content =>
  status === 'rfq_submitted' && rfq
    ? badge(`RFQ ${rfq.state}`, rfq.state === 'won' ? 'good' : 'calm')
    : badge(LIST_WORDS[status]);

const showLists = async (asked: PageRequest): Promise<Outcome<Page>> => {
  const begun = await begin(asked);
  if (isRefusal(begun)) return begun;
  const { owner, read, nameOf } = begun.value;
  const { query, person, app } = asked;
  const listed = await read('listHandoffs', {
    owner_id: owner,
    ...markOf(query['before']),
    ...FULL_PAGE,
  });
  if (isRefusal(listed)) return listed;
  const path = `${homeOf(owner)}/lists`;
  const period = chosenPeriod(query, app.now());
  const { data, next_before } = listed.value;
  const isOlder = period !== undefined && (data.at(-1)?.created_at ?? '') < period.from;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/lists',
      title: 'Lists',
      main: html`${periodText(path, period)}${dataTable(
        'Lists, newest first',
        [
          { head: 'List' },
          { head: 'State' },
          { head: 'Indicative total', isNumber: true },
          { head: 'By' },
          { head: 'Made' },
        ],
        {
          rows: data
            .filter(isWithin(period))
            .map((list) => [
              html`<a href="${path}/${list.id}">${list.title}</a>${list.buyer.company && html`<span class="hint">${list.buyer.company}</span>`}`,
              listState(list),
              amountsText(list.indicative_totals),
              nameOf(list.agent_id),
              timeOf(list.created_at),
            ]),
          empty:
            next_before === null || isOlder ? 'There is no list.' : 'There is none on this page.',
        },
      )}${nextPage(
        next_before === null || isOlder
          ? undefined
          : hrefWith(path, { ...(period && recordsQuery(period)), before: String(next_before) }),
        'Older lists',
      )}${fileLink(path)}`,
    }),
  );
};

const NO_LIST = refuse('resource_not_found', 'There is no such list.');

const listFacts = (owner: string, list: List, agent: string): Html => {
  const { buyer, lines, indicative_totals, delivery, link_id, rfq } = list;
  return facts([
    ['State', listState(list)],
    ...(rfq?.won_value ? [['Value won', amountsText(rfq.won_value)] as const] : []),
    ['By', agent],
    ['Made', momentText(list.created_at)],
    ['Ends', momentText(list.expires_at)],
    ...(buyer.company === undefined ? [] : [['For', buyer.company] as const]),
    ['Lines', writer.count(lines)],
    ['Indicative total', amountsText(indicative_totals)],
    ...(link_id === undefined
      ? []
      : [['From', html`<a href="${homeOf(owner)}/links/${link_id}">its link</a>`] as const]),
    ...(delivery === undefined
      ? []
      : [
          [
            'Delivery',
            html`<a href="/approvals/${delivery.outbound_id}">${
              delivery.delivered_at === undefined
                ? 'not delivered'
                : `delivered on ${momentText(delivery.delivered_at)}`
            }</a>`,
          ] as const,
        ]),
  ]);
};

const WITHDRAWABLE: ReadonlySet<List['status']> = new Set(['awaiting_buyer', 'in_review']);

const showList = async (asked: PageRequest, form: FormState): Promise<Outcome<Page>> => {
  const begun = await begin(asked);
  if (isRefusal(begun)) return begun;
  const { owner, read, nameOf } = begun.value;
  const { id = '' } = asked.params;
  if (!/^hnd_[0-9a-z]{24}$/.test(id)) return NO_LIST;
  const answers = await all({
    record: read('readOwnerRecord', { owner_id: owner, id }),
    events: readHistory(read, owner, id),
  });
  if (isRefusal(answers)) return answers;
  const { record, events } = answers.value;
  const { handoff: list } = record;
  if (!list) return NO_LIST;
  const { you } = asked.person;
  const path = `${homeOf(owner)}/lists/${id}`;
  const withdraw =
    WITHDRAWABLE.has(list.status) && mayAct(you)
      ? actForm(
          you,
          { path, state: form },
          {
            name: 'withdraw',
            title: 'Withdraw this list',
            text: 'Final: the buyer can no longer send it. The buyer reads the reason.',
            fields: [REASON],
            button: 'Withdraw the list',
            isDangerous: true,
          },
        )
      : '';
  return done(
    ownerPage({
      you,
      owner,
      tab: '/lists',
      title: list.title,
      above: html`<a href="${homeOf(owner)}/lists">Lists</a>`,
      form,
      main: html`${listFacts(owner, list, nameOf(list.agent_id))}
${list.status_reason && html`<p>Reason: ${list.status_reason}</p>`}${withdraw}${historySection(events, nameOf)}`,
    }),
  );
};

const RFQ_FILTERS = [
  ['', 'All'],
  ['open', 'Open'],
  ['quoted', 'Quoted'],
  ['agreed', 'Agreed'],
  ['won', 'Won'],
  ['lost', 'Lost'],
] as const;
type RfqFilter = Exclude<(typeof RFQ_FILTERS)[number][0], ''>;

const rfqFilter = ({ state = '' }: Typed): { state?: RfqFilter } =>
  RFQ_FILTERS.some(([name]) => name === state && name !== '') ? { state: state as RfqFilter } : {};

/** The days of a period as the times of an inbox. */
const timesOf = (period: Period | undefined) =>
  period === undefined
    ? {}
    : { from: `${period.from}T00:00:00.000Z`, to: `${period.to}T23:59:59.999Z` };

const showRfqs = async (asked: PageRequest): Promise<Outcome<Page>> => {
  const begun = await begin(asked);
  if (isRefusal(begun)) return begun;
  const { owner, read, nameOf } = begun.value;
  const { query, person, app } = asked;
  const period = chosenPeriod(query, app.now());
  const filter = rfqFilter(query);
  const input = { owner_id: owner, ...filter, ...timesOf(period), ...markOf(query['before']) };
  const listed = await read('listRfqs', input);
  if (isRefusal(listed)) return listed;
  const path = `${homeOf(owner)}/rfqs`;
  const kept = period ? recordsQuery(period) : {};
  const { data, next_before } = listed.value;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/rfqs',
      title: 'RFQs',
      main: html`${filters(
        'State',
        RFQ_FILTERS.map(([state, text]) => ({
          text,
          href: hrefWith(path, { ...kept, state }),
          isCurrent: state === (filter.state ?? ''),
        })),
      )}${periodText(path, period)}${dataTable(
        'RFQs, newest first',
        [
          { head: 'RFQ' },
          { head: 'State' },
          { head: 'Indicative total', isNumber: true },
          { head: 'Value won', isNumber: true },
          { head: 'By' },
          { head: 'Sent' },
        ],
        {
          rows: data.map((rfq) => [
            html`<a href="${homeOf(owner)}/lists/${rfq.handoff_id}">${rfq.title ?? 'An RFQ'}</a>${rfq.company && html`<span class="hint">${rfq.company}</span>`}`,
            stateWords(RFQ_WORDS[rfq.state]),
            amountsText(rfq.indicative_totals),
            amountsText(rfq.won_value),
            nameOf(rfq.agent_id),
            timeOf(rfq.submitted_at),
          ]),
          empty: next_before === null ? 'There is no such RFQ.' : 'There is none on this page.',
        },
      )}${nextPage(
        next_before === null
          ? undefined
          : hrefWith(path, { ...kept, ...filter, before: String(next_before) }),
        'Older RFQs',
      )}${fileLink(path, filter)}`,
    }),
  );
};

const leadState = ({ state }: Lead): Content =>
  badge(LEAD_WORDS[state], state === 'won' ? 'good' : 'calm');

const leadValue = ({ outcome_value: value }: Lead): string =>
  amountsText(value === undefined ? [] : [value]);

const showLeads = async (asked: PageRequest): Promise<Outcome<Page>> => {
  const begun = await begin(asked);
  if (isRefusal(begun)) return begun;
  const { owner, read, nameOf } = begun.value;
  const { query, person } = asked;
  const listed = await read('listOwnerLeads', { owner_id: owner, ...markOf(query['before']) });
  if (isRefusal(listed)) return listed;
  const path = `${homeOf(owner)}/leads`;
  const { data, next_before } = listed.value;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/leads',
      title: 'Leads',
      main: html`${dataTable(
        'Leads, newest first',
        [
          { head: 'Company' },
          { head: 'State' },
          { head: 'Value', isNumber: true },
          { head: 'By' },
          { head: 'Submitted' },
        ],
        {
          rows: data.map((lead) => [
            html`<a href="${path}/${lead.id}">${lead.company.name}</a> <span class="quiet">${lead.company.country}</span>`,
            leadState(lead),
            leadValue(lead),
            nameOf(lead.agent_id),
            timeOf(lead.created_at),
          ]),
          empty: 'Your agents have submitted no lead yet.',
        },
      )}${nextPage(
        next_before === null ? undefined : hrefWith(path, { before: String(next_before) }),
        'Older leads',
      )}${fileLink(path)}`,
    }),
  );
};

const NO_LEAD = refuse('resource_not_found', 'There is no such lead.');

/** Where a lead came from, as a link where it has a page. */
const sourceOf = (owner: string, { source: { kind, ref = '' } }: Lead): Content => {
  if (ref.startsWith('lnk_')) return html`<a href="${homeOf(owner)}/links/${ref}">a link</a>`;
  if (ref.startsWith('hnd_')) return html`<a href="${homeOf(owner)}/lists/${ref}">a list</a>`;
  return kind === 'agent' ? 'the agent' : 'entered by hand';
};

const showLead = async (asked: PageRequest): Promise<Outcome<Page>> => {
  const begun = await begin(asked);
  if (isRefusal(begun)) return begun;
  const { owner, read, nameOf } = begun.value;
  const { id = '' } = asked.params;
  if (!/^led_[0-9a-z]{24}$/.test(id)) return NO_LEAD;
  const answers = await all({
    record: read('readOwnerRecord', { owner_id: owner, id }),
    events: readHistory(read, owner, id),
  });
  if (isRefusal(answers)) return answers;
  const { record, events } = answers.value;
  const { lead } = record;
  if (!lead) return NO_LEAD;
  return done(
    ownerPage({
      you: asked.person.you,
      owner,
      tab: '/leads',
      title: lead.company.name,
      above: html`<a href="${homeOf(owner)}/leads">Leads</a>`,
      main: html`${facts([
        ['State', leadState(lead)],
        ['Value', leadValue(lead)],
        ['Country', lead.company.country],
        ['By', nameOf(lead.agent_id)],
        ['From', sourceOf(owner, lead) as Html],
        ['Your reference', lead.external_id],
        ['Submitted', momentText(lead.created_at)],
        ['The claim ends', momentText(lead.claim_expires_at)],
      ])}
<p class="quiet">Only staff see the contact.</p>${historySection(events, nameOf)}`,
    }),
  );
};

const LISTS_FILE: OwnerFile = {
  path: '/o/:owner/lists.csv',
  head: ['list', 'id', 'state', 'company', 'indicative_total', 'made_at', 'agent_id'],
  async rows(read, owner_id) {
    const rows = await everyRow((before) =>
      read('listHandoffs', { owner_id, ...FULL_PAGE, ...(before && { before }) }),
    );
    if (isRefusal(rows)) return rows;
    return done(
      rows.value.map(({ title, id, status, rfq, buyer, indicative_totals, ...list }) => [
        title,
        id,
        rfq?.state ?? status,
        buyer.company,
        indicative_totals.map(moneyText).join('|'),
        list.created_at,
        list.agent_id,
      ]),
    );
  },
};

const RFQS_FILE: OwnerFile = {
  path: '/o/:owner/rfqs.csv',
  head: ['list', 'list_id', 'state', 'sent_at', 'indicative_total', 'value_won', 'agent_id'],
  async rows(read, owner_id, query) {
    const rows = await everyRow((before) =>
      read('listRfqs', { owner_id, ...rfqFilter(query), ...FULL_PAGE, ...(before && { before }) }),
    );
    if (isRefusal(rows)) return rows;
    return done(
      rows.value.map(({ handoff_id, title, state, submitted_at, ...rfq }) => [
        title,
        handoff_id,
        state,
        submitted_at,
        rfq.indicative_totals.map(moneyText).join('|'),
        (rfq.won_value ?? []).map(moneyText).join('|'),
        rfq.agent_id,
      ]),
    );
  },
};

const LEADS_FILE: OwnerFile = {
  path: '/o/:owner/leads.csv',
  head: ['company', 'country', 'id', 'external_id', 'state', 'value', 'submitted_at', 'agent_id'],
  async rows(read, owner_id) {
    const rows = await everyRow((before) =>
      read('listOwnerLeads', { owner_id, ...FULL_PAGE, ...(before && { before }) }),
    );
    if (isRefusal(rows)) return rows;
    return done(
      rows.value.map(({ company, id, external_id, state, outcome_value, ...lead }) => [
        company.name,
        company.country,
        id,
        external_id,
        state,
        outcome_value && moneyText(outcome_value),
        lead.created_at,
        lead.agent_id,
      ]),
    );
  },
};

/** Serves the lists, the RFQs and the leads of a promoter. */
export const ownerRecordRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  const pages = { lists: showLists, rfqs: showRfqs, leads: showLeads, 'leads/:id': showLead };
  for (const [path, show] of Object.entries(pages))
    serveActs(scope, app, {
      path: `/o/:owner/${path}`,
      acts: {},
      show,
    });
  serveActs(scope, app, {
    path: '/o/:owner/lists/:id',
    acts: {
      withdraw: {
        operation: 'withdrawHandoff',
        input: ({ reason }, { owner, id }) => ({ owner_id: owner, handoff_id: id, reason }),
        done: 'The list is withdrawn.',
      },
    },
    show: showList,
  });
  for (const file of [LISTS_FILE, RFQS_FILE, LEADS_FILE]) serveFile(scope, app, file);
};
