/** The inbox of staff: what waits, oldest first. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { COUNTED_UP_TO, INBOX_KINDS, WAITS_FOR } from '#contracts/records/operations.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { agentLink, deskPage, ownerLink } from './desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { HOUSE_LOCALE, momentText, writerFor } from '#src/shared/money.ts';
import { done } from '#src/shared/outcome.ts';
import { serveActs } from '#src/web/acts.ts';
import type { Html, Page, You } from '#src/web/layout.ts';
import {
  ageOf,
  badge,
  type Content,
  dataTable,
  filters,
  hrefWith,
  nextPage,
} from '#src/web/parts.ts';
import { acceptPeople, answerRefusal, signedIn, type Typed } from '#src/web/person-admission.ts';

export type InboxPage = ReturnType<DeskOperations['listInbox']['output']['parse']>;
export type InboxItem = InboxPage['data'][number];
type Counts = ReturnType<DeskOperations['countInbox']['output']['parse']>['counts'];

const KINDS: Readonly<Record<InboxItem['kind'], string>> = {
  rfq: 'Requests',
  goods: 'Goods',
  lead: 'Leads',
  access: 'Access',
  outreach: 'Outreach',
};

type Tone = Parameters<typeof badge>[1];

const WAITS: Readonly<Record<InboxItem['waits_for'], readonly [text: string, tone: Tone]>> = {
  second_person: ['second person', 'warn'],
  answer: ['answer to a question', 'warn'],
  take_up: ['somebody takes it up', 'calm'],
  quotation: ['quotation', 'calm'],
  outcome: ['outcome: the buyer agreed', 'good'],
  allocation: ['goods to allocate', 'calm'],
  shipment: ['shipment', 'calm'],
  decision: ['decision', 'calm'],
  next_move: ['next move', 'calm'],
  confirmation: ["buyer's confirmation", 'calm'],
  buyer: ["buyer's answer", 'calm'],
  delivery: ['delivery', 'calm'],
};

type Money = { amount: number; currency: string };

/** Amounts as people read them, joined: currencies are never added up. */
export const sumText = (totals: readonly Money[]): string => {
  const writer = writerFor(HOUSE_LOCALE);
  return totals.map(({ amount, currency }) => writer.money(amount, currency)).join(' + ');
};

/** The page of a record of the inbox. */
const recordPath = ({ kind, record_id }: Pick<InboxItem, 'kind' | 'record_id'>): string =>
  kind === 'outreach' ? `/approvals/${record_id}` : `/desk/r/${record_id}`;

/** The filters of the inbox that an address can have. */
const FILTERS = ['kind', 'waits', 'mine', 'due', 'others', 'owner'] as const;
type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

const filtersIn = (query: Typed): Filters =>
  Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

const oneOf = <Value extends string>(values: readonly Value[], text: string | undefined) =>
  values.find((value) => value === text);

/** The input of listInbox for an address of the inbox. */
const inboxInput = (
  { kind, waits, mine, due, others, owner }: Filters,
  { id, now }: { id: string; now: number },
) => ({
  after: 0,
  ...(kind && { kind: oneOf(INBOX_KINDS, kind) }),
  ...(waits && { waits_for: oneOf(WAITS_FOR, waits) }),
  ...(mine && { assigned_to: id }),
  ...(due && { due_by: new Date(now).toISOString() }),
  ...(others && { with_others: true }),
  ...(owner && { owner_id: owner }),
});

const countText = (count: number): string =>
  count > COUNTED_UP_TO ? `${COUNTED_UP_TO}+` : String(count);

const kindFilters = (chosen: Filters, counts: Counts): Html => {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const count = (name: string, value: number): Html =>
    html`<span class="count" data-count="${name}">${countText(value)}</span>`;
  return filters('What waits', [
    {
      text: 'Everything',
      href: '/desk',
      isCurrent: Object.keys(chosen).length === 0,
      count: count('all', all),
    },
    ...INBOX_KINDS.map((kind) => ({
      text: KINDS[kind],
      href: hrefWith('/desk', { kind }),
      isCurrent: chosen.kind === kind,
      count: count(kind, counts[kind]),
    })),
  ]);
};

const otherFilters = (chosen: Filters): Html =>
  filters('Only', [
    ...(
      [
        ['waits', 'answer', 'Questions'],
        ['waits', 'second_person', 'Second person'],
        ['mine', '1', 'Mine'],
        ['due', '1', 'Due'],
        ['others', '1', 'Also waiting for others'],
      ] as const
    ).map(([name, value, text]) => {
      const isCurrent = chosen[name] === value;
      return {
        text,
        href: hrefWith('/desk', { ...chosen, [name]: isCurrent ? undefined : value }),
        isCurrent,
      };
    }),
    ...(chosen.owner === undefined
      ? []
      : [
          {
            text: `Promoter ${chosen.owner} ×`,
            href: hrefWith('/desk', { ...chosen, owner: undefined }),
            isCurrent: true,
          },
        ]),
  ]);

const dueText = ({ due_at }: InboxItem, now: number): Content => {
  if (due_at === undefined) return '';
  return Date.parse(due_at) < now
    ? badge(`late: ${momentText(due_at)}`, 'bad')
    : momentText(due_at);
};

/** A person of whom only the id is known: holders of tokens without an address are named by their name. */
export const personText = (id = ''): string => id.replace(/^name:/, '');

const itemRow = (item: InboxItem, chosen: Filters, now: number): Content[] => {
  const { title, company, reference, owner_id, agent_name, agent_id, totals, since } = item;
  const [text, tone] = WAITS[item.waits_for];
  return [
    html`<a href="${hrefWith(recordPath(item), item.kind === 'outreach' ? {} : chosen)}" data-item><bdi>${company ?? title}</bdi></a>
<span class="hint">${company !== undefined && company !== title && html`<bdi>${title}</bdi> `}${
      reference !== undefined && html`<span class="sku">${reference}</span>`
    }</span>`,
    badge(text, tone),
    html`${ageOf(since, now)}`,
    sumText(totals),
    html`${ownerLink(owner_id)}<span class="hint">${agentLink(agent_id, agent_name)}</span>`,
    item.assigned_name ?? personText(item.assigned_to),
    dueText(item, now),
  ];
};

const COLUMNS = [
  { head: 'Who and what' },
  { head: 'Waits for' },
  { head: 'Age' },
  { head: 'Sum', isNumber: true },
  { head: 'Promoter and agent' },
  { head: 'Assigned' },
  { head: 'Due' },
];

const EMPTY = html`Nothing waits. <a href="${'/desk?others=1'}">See what waits for buyers and deliveries.</a>`;
const NONE_OF_THESE = html`Nothing matches. <a href="/desk">See everything that waits.</a>`;

type Shown = { page: InboxPage; counts: Counts; chosen: Filters; now: number };

const inboxPage = (you: You, { page, counts, chosen, now }: Shown): Page =>
  deskPage({
    you,
    tab: '/desk',
    title: 'Inbox',
    main: html`${kindFilters(chosen, counts)}${otherFilters(chosen)}
${dataTable('Oldest first', COLUMNS, {
  rows: page.data.map((item) => itemRow(item, chosen, now)),
  empty: Object.keys(chosen).length === 0 ? EMPTY : NONE_OF_THESE,
})}
${nextPage(
  page.next_after === null
    ? undefined
    : hrefWith('/desk', { ...chosen, after: String(page.next_after) }),
  'Newer',
)}
<p class="quiet keys">Keys: <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>r</kbd> reloads, <kbd>/</kbd> searches, <kbd>?</kbd> shows this.</p>`,
  });

/** The record of the inbox after this one, as the filters of the address choose them; undefined if there is no other. */
const nextItem = (items: readonly InboxItem[], id: string): InboxItem | undefined => {
  const place = items.findIndex(({ record_id }) => record_id === id);
  return items[place + 1] ?? items.find(({ record_id }) => record_id !== id);
};

const NEXT_AMONG = 100;

/** Serves `/desk`. */
export const inboxRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { desk } = app;
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/desk',
    acts: {},
    async show({ person: { admission, you }, query }) {
      const now = app.now();
      const chosen = filtersIn(query);
      const input = inboxInput(chosen, { id: admission.caller.id, now });
      const after = query['after'] ?? input.after;
      const listed = await desk.perform(admission, 'listInbox', { input: { ...input, after } });
      if (!listed.ok) return listed;
      const counted = await desk.perform(admission, 'countInbox', { input: {} });
      if (!counted.ok) return counted;
      return done(
        inboxPage(you, { page: listed.value, counts: counted.value.counts, chosen, now }),
      );
    },
  });

  scope.get<{ Querystring: Typed }>('/desk/next', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const { of = '' } = request.query;
    const chosen = filtersIn(request.query);
    const asked = inboxInput(chosen, { id: person.admission.caller.id, now: app.now() });
    const input = { ...asked, limit: NEXT_AMONG };
    const listed = await desk.perform(person.admission, 'listInbox', { input });
    if (!listed.ok) return answerRefusal(request, reply, { app, refusal: listed });
    const next = nextItem(listed.value.data, of);
    return reply.redirect(hrefWith(next ? recordPath(next) : '/desk', chosen), 303);
  });

  scope.get('/desk/counts', async (request, reply) => {
    const person = await signedIn(request, reply, app, { isUse: false });
    if (!person) return reply;
    const counted = await desk.perform(person.admission, 'countInbox', { input: {} });
    if (!counted.ok) return answerRefusal(request, reply, { app, refusal: counted });
    const { counts } = counted.value;
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const texts = Object.entries({ all, ...counts }).map(([name, count]) => [
      name,
      countText(count),
    ]);
    return reply.send(Object.fromEntries(texts));
  });
};
