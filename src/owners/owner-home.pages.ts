/** The home of a promoter: what waits, the numbers of a period, and the links that did most. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal } from '#src/shared/outcome.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { serveActs } from '#src/web/acts.ts';
import type { Html } from '#src/web/layout.ts';
import { ageOf, badge, type Content } from '#src/web/parts.ts';
import { acceptPeople } from '#src/web/person-admission.ts';
import {
  type Answer,
  all,
  fileLink,
  homeOf,
  ownerOfPage,
  ownerPage,
  periodLinks,
  periodOf,
  periodQuery,
  type Read,
  reader,
  serveFile,
  writer,
} from './owner-frame.pages.ts';
import {
  amountsText,
  comparedText,
  countBy,
  countDays,
  fiveNumbers,
  fromVisitToWin,
  linkName,
  NUMBER_HEADS,
  numbersLine,
  numbersTable,
  visitsByDay,
} from './owner-numbers.pages.ts';
import { agentNames, beginning, KIND_NAMES, RFQ_WORDS } from './owner-words.pages.ts';

/** For how long a decision, a failure or the end of a key is news. */
const NEWS_MS = 14 * DAY_MS;
const SHOWN_MAX = 5;

/** Something that waits for the promoter. */
type Waiting = { what: Content; when: Html; act: { text: string; href: string } };

/** What a page reads of what waits: each list is one page, so that its cost is bounded. */
const readWaiting = (read: Read, owner_id: string) =>
  all({
    approvals: read('listApprovals', { owner_id, status: 'pending_approval', limit: SHOWN_MAX }),
    unknown: read('listApprovals', { owner_id, status: 'outcome_unknown', limit: SHOWN_MAX }),
    failed: read('listApprovals', { owner_id, status: 'failed', limit: SHOWN_MAX }),
    keys: read('listKeys', { owner_id, limit: 100 }),
    access: read('listAccessRequests', { owner_id, limit: SHOWN_MAX }),
    rfqs: read('listRfqs', { owner_id, state: 'open', after: 0, limit: SHOWN_MAX }),
    agents: read('listAgents', { owner_id, limit: 100 }),
  });
type Read7 =
  Awaited<ReturnType<typeof readWaiting>> extends infer Read
    ? Extract<Read, { ok: true }> extends { value: infer Value }
      ? Value
      : never
    : never;

type Outreach = Answer<'listApprovals'>['data'][number];

const outreachItem =
  (text: string, now: number) =>
  ({ id, kind, content, updated_at }: Outreach): Waiting => ({
    what: html`<strong>${KIND_NAMES[kind]}</strong> ${beginning(content)}`,
    when: html`${ageOf(updated_at, now)}`,
    act: { text, href: `/approvals/${id}` },
  });

/** Whether people of the promoter decide; otherwise staff do. */
const isOfOwner = ({ kind, approval }: Outreach): boolean =>
  kind === 'handoff_delivery' || approval.mode === 'owner_controlled';

const keyItems = (
  owner: string,
  { keys }: Pick<Read7, 'keys'>,
  { now, nameOf }: { now: number; nameOf(id: string): string },
): Waiting[] =>
  keys.data
    .filter(({ status, expires_at }) => {
      const left = Date.parse(expires_at) - now;
      return (status === 'active' || status === 'expired') && Math.abs(left) < NEWS_MS;
    })
    .map(({ agent_id, last4, status, expires_at }) => ({
      what: html`<strong>Key …${last4}</strong> of ${nameOf(agent_id)} ${
        status === 'expired' ? 'has expired' : `expires on ${momentText(expires_at)}`
      }`,
      when: status === 'expired' ? badge('expired', 'bad') : badge('expires', 'warn'),
      act: {
        text: status === 'expired' ? 'Issue another' : 'Roll it',
        href: `${homeOf(owner)}/agents/${agent_id}#keys`,
      },
    }));

const OUTCOMES = {
  pending: undefined,
  granted: 'granted',
  partial: 'granted in part',
  denied: 'denied',
} as const;

const accessItems = (owner: string, { access }: Pick<Read7, 'access'>, now: number): Waiting[] =>
  access.data.flatMap(({ agent_id, name, outcome, decided_at, agent_status }) => {
    const text = OUTCOMES[outcome];
    if (text === undefined || decided_at === undefined || agent_status === 'suspended') return [];
    if (now - Date.parse(decided_at) > NEWS_MS) return [];
    return [
      {
        what: html`<strong>Access of ${name}</strong> was ${text}`,
        when: html`${ageOf(decided_at, now)}`,
        act: { text: 'See the agent', href: `${homeOf(owner)}/agents/${agent_id}` },
      },
    ];
  });

const rfqItems = (owner: string, { rfqs }: Pick<Read7, 'rfqs'>, now: number): Waiting[] =>
  rfqs.data.map(({ handoff_id, title = 'An RFQ', company, state, submitted_at, ...rfq }) => ({
    what: html`<strong>${title}</strong>${company && html` for ${company}`}, ${amountsText(rfq.indicative_totals)}: the RFQ ${RFQ_WORDS[state]}${
      (rfq.open_questions ?? 0) > 0 ? ', with a question of the buyer' : ''
    }`,
    when: html`${ageOf(submitted_at, now)}`,
    act: { text: 'See where it is', href: `${homeOf(owner)}/lists/${handoff_id}` },
  }));

const moreOf = (
  count: number,
  hasMore: boolean,
  [text, href]: readonly [string, string],
): Html | '' => (hasMore && count > 0 ? html`<a href="${href}">${text}</a> ` : '');

/** What waits for the promoter, each with its act. */
const waitingList = (owner: string, read: Read7, now: number): Html => {
  const { approvals, unknown, failed, rfqs } = read;
  const nameOf = agentNames(read.agents.data);
  const isNews = ({ updated_at }: Outreach): boolean => now - Date.parse(updated_at) < NEWS_MS;
  const items = [
    ...approvals.data.map((one) => outreachItem(isOfOwner(one) ? 'Decide' : 'See it', now)(one)),
    ...unknown.data.map(outreachItem('See whether it was sent', now)),
    ...failed.data.filter(isNews).map(outreachItem('See why it failed', now)),
    ...keyItems(owner, read, { now, nameOf }),
    ...accessItems(owner, read, now),
    ...rfqItems(owner, read, now),
  ];
  const more = [
    moreOf(approvals.data.length, approvals.next_before !== null, [
      'More approvals',
      `${homeOf(owner)}/approvals`,
    ]),
    moreOf(rfqs.data.length, rfqs.next_after !== null, [
      'More open RFQs',
      `${homeOf(owner)}/rfqs?state=open`,
    ]),
  ].filter((one) => one !== '');
  const heading =
    items.length === 0
      ? 'Nothing waits for you'
      : `${writer.count(items.length)} ${items.length === 1 ? 'thing waits' : 'things wait'}`;
  return html`<section class="waits"><h2>${heading}</h2>
${
  items.length === 0
    ? html`<p class="quiet">Approvals, keys that expire, decisions on access, RFQs and failed deliveries appear here.</p>`
    : html`<ul class="plain">${items.map(
        ({ what, when, act }) =>
          html`<li><p>${what}</p><span class="quiet">${when}</span> <a class="button second" href="${act.href}">${act.text}</a></li>\n`,
      )}</ul>`
}${more.length > 0 ? html`<p>${more}</p>` : ''}</section>`;
};

const TOP_LINKS = 10;

/** Serves `/o/NAME`. */
export const ownerHomeRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/o/:owner',
    acts: {},
    async show({ person, params, query }, form) {
      const owner = ownerOfPage(person, params);
      if (isRefusal(owner)) return owner;
      const read = reader(app, person);
      const period = periodOf(query, app.now());
      const answers = await all({
        report: countDays(read, owner.value, period),
        links: countBy(read, owner.value, { period, by: 'link_id', limit: TOP_LINKS }),
        waiting: readWaiting(read, owner.value),
      });
      if (isRefusal(answers)) return answers;
      const { report, links, waiting } = answers.value;
      const home = homeOf(owner.value);
      return done(
        ownerPage({
          you: person.you,
          owner: owner.value,
          tab: '',
          title: 'Overview',
          form,
          main: html`${waitingList(owner.value, waiting, app.now())}
<section><h2>Numbers of ${period.text}</h2>${periodLinks(home, period)}
${fiveNumbers(owner.value, period, report)}<p class="quiet">${comparedText(report)}</p>
<div class="pictures">${visitsByDay(owner.value, period, report)}${fromVisitToWin(owner.value, period, report)}</div>
${fileLink(`${home}/days`, periodQuery(period))}</section>
<section><h2>Links</h2>${numbersTable(
            {
              caption: `The links with most visits in ${period.text}`,
              head: 'Link',
              name: linkName(owner.value, period),
              empty: html`No link had a visit in ${period.text}.`,
            },
            links.data,
          )}
<p><a href="${home}/links">All links</a></p></section>`,
        }),
      );
    },
  });

  serveFile(scope, app, {
    path: '/o/:owner/days.csv',
    head: ['day', ...NUMBER_HEADS],
    async rows(read, owner_id, query) {
      const { from, to } = periodOf(query, app.now());
      const report = await read('showPerformance', { owner_id, from, to });
      if (isRefusal(report)) return report;
      return done(report.value.data.map((row) => [row.bucket_start, ...numbersLine(row.metrics)]));
    },
  });
};
