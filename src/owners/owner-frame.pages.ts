/** What the pages of a promoter have in common: their navigation, the period they are about, and how they read. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { ownerSpace } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { DeskOperationId, DeskOperations } from '#contracts/registries/desk.ts';
import { mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import type { App } from '#src/registries/app.ts';
import { csvLine } from '#src/shared/cells.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import { done, isRefusal, type Outcome, refuse } from '#src/shared/outcome.ts';
import { DAY_MS } from '#src/shared/time.ts';
import type { Html, Page, You } from '#src/web/layout.ts';
import { type FormState, filters, hrefWith, outcomeNotice } from '#src/web/parts.ts';
import { answerRefusal, type SignedIn, signedIn, type Typed } from '#src/web/person-admission.ts';

export const writer = writerFor(HOUSE_LOCALE);

type Input<Id extends DeskOperationId> = DeskOperations[Id]['input']['_zod']['input'];
export type Answer<Id extends DeskOperationId> = DeskOperations[Id]['output']['_zod']['output'];

/** Performs operations for one person. */
export const reader =
  ({ desk }: Pick<App, 'desk'>, { admission }: Pick<SignedIn, 'admission'>) =>
  <Id extends DeskOperationId>(id: Id, input: Input<Id>): Promise<Outcome<Answer<Id>>> =>
    desk.perform(admission, id, { input }) as Promise<Outcome<Answer<Id>>>;

export type Read = ReturnType<typeof reader>;

type Values<Reads> = {
  [Name in keyof Reads]: Reads[Name] extends Promise<Outcome<infer Value>> ? Value : never;
};

/** What all reads of a page answer; otherwise the first refusal. */
export const all = async <Reads extends Record<string, Promise<Outcome<unknown>>>>(
  reads: Reads,
): Promise<Outcome<Values<Reads>>> => {
  const outcomes = await Promise.all(
    Object.entries(reads).map(async ([name, read]) => [name, await read] as const),
  );
  const values: Record<string, unknown> = {};
  for (const [name, outcome] of outcomes) {
    if (isRefusal(outcome)) return outcome;
    values[name] = outcome.value;
  }
  return done(values as Values<Reads>);
};

/** The roles whose pages these are. What each may read and do, its operations say. */
const READERS = ['owner', 'staff', 'auditor'];
const NOT_YOURS = refuse('role_missing', 'This page is for owners, staff and auditors.');

/** The promoter that the address of a page names; a refusal for people who act for others. */
export const ownerOfPage = (
  { admission, you }: SignedIn,
  { owner = '' }: Typed,
): Outcome<string> => {
  if (!you.roles.some((role) => READERS.includes(role))) return NOT_YOURS;
  const parsed = ownerSpace.safeParse(owner);
  return parsed.success && mayActFor(admission, parsed.data) ? done(parsed.data) : NO_OWNER;
};

const TABS = [
  ['', 'Overview'],
  ['/links', 'Links'],
  ['/campaigns', 'Campaigns'],
  ['/lists', 'Lists'],
  ['/rfqs', 'RFQs'],
  ['/leads', 'Leads'],
  ['/agents', 'Agents'],
  ['/approvals', 'Approvals'],
  ['/profile', 'Profile and people'],
] as const;
export type Tab = (typeof TABS)[number][0];

/** Whether a person decides for promoters; staff and auditors read. */
export const mayAct = ({ roles }: You): boolean => roles.includes('owner');

export const homeOf = (owner: string): string => `/o/${owner}`;

type Framed = {
  you: You;
  owner: string;
  tab: Tab;
  title: string;
  /** Stands before the title: where the page belongs. */
  above?: Html;
  form?: FormState;
  main: Html;
};

const otherOwners = ({ owners }: You, owner: string): Html | '' =>
  owners.length < 2
    ? ''
    : html`<nav class="others" aria-label="Your promoters">${owners.map((each) =>
        each === owner
          ? html`<strong>${each}</strong> `
          : html`<a href="${homeOf(each)}">${each}</a> `,
      )}</nav>`;

/** A page of a promoter, with the way to the others. */
export const ownerPage = ({ you, owner, tab, title, above, form, main }: Framed): Page => ({
  title: `${title} · ${owner}`,
  you,
  isWide: true,
  script: 'copy.js',
  main: html`${otherOwners(you, owner)}<nav class="tabs" aria-label="${owner}">${TABS.map(
    ([path, name]) =>
      html`<a href="${homeOf(owner)}${path}"${path === tab ? html` aria-current="page"` : ''}>${name}</a>\n`,
  )}</nav>
<header class="head"><p class="eyebrow">${above ?? owner}</p><h1>${title}</h1></header>
${form && outcomeNotice(form)}${main}`,
});

export type Period = {
  /** First and last day. */
  from: string;
  to: string;
  /** In words. */
  text: string;
  /** The chosen link; undefined for days of a link elsewhere. */
  name: string | undefined;
};

const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
const lastDays = (today: number, days: number) => ({
  from: dateOf(today - days + 1),
  to: dateOf(today),
});

export const dayText = (date: string): string => writer.day(Date.parse(date));

const PERIODS: Readonly<Record<string, (today: number) => Omit<Period, 'name'>>> = {
  '7d': (today) => ({ ...lastDays(today, 7), text: 'the last 7 days' }),
  '30d': (today) => ({ ...lastDays(today, 30), text: 'the last 30 days' }),
  '90d': (today) => ({ ...lastDays(today, 90), text: 'the last 90 days' }),
  month: (today) => ({
    from: `${dateOf(today).slice(0, 7)}-01`,
    to: dateOf(today),
    text: 'this month so far',
  }),
  'last-month': (today) => {
    const end = Date.parse(`${dateOf(today).slice(0, 7)}-01`) / DAY_MS - 1;
    return { from: `${dateOf(end).slice(0, 7)}-01`, to: dateOf(end), text: 'last month' };
  },
};
const PERIOD_NAMES: Readonly<Record<string, string>> = {
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
};
const DEFAULT_PERIOD = '30d';
const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

/** The period that the address of a page names: by the name of a link, or by its days. */
export const periodOf = ({ period = '', from = '', to = from }: Typed, now: number): Period => {
  if (isDate(from) && isDate(to) && from <= to) {
    const text = from === to ? dayText(from) : `${dayText(from)} to ${dayText(to)}`;
    return { from, to, text, name: undefined };
  }
  const name = Object.hasOwn(PERIODS, period) ? period : DEFAULT_PERIOD;
  const make = PERIODS[name] as (today: number) => Omit<Period, 'name'>;
  return { ...make(Math.floor(now / DAY_MS)), name };
};

/** What keeps the period in links to other pages. */
export const periodQuery = ({ name, from, to }: Period): Typed => {
  if (name === undefined) return { from, to };
  return name === DEFAULT_PERIOD ? {} : { period: name };
};

/** The same for lists of records, which without a period show all. */
export const recordsQuery = ({ name, from, to }: Period): Typed =>
  name === undefined ? { from, to } : { period: name };

/** Links that choose the period. */
export const periodLinks = (path: string, { name }: Period): Html =>
  filters(
    'Period',
    Object.entries(PERIOD_NAMES).map(([each, text]) => ({
      text,
      href: hrefWith(path, { period: each === DEFAULT_PERIOD ? undefined : each }),
      isCurrent: each === name,
    })),
  );

export const daysOf = ({ from, to }: Period) => ({ from, to });

/** Most rows of a file; a list of more is read with the command line. */
const FILE_ROWS_MAX = 10_000;

type Rows = readonly (readonly (string | number | null | undefined)[])[];

/** All rows of a list that is read in pages, up to those of a file. */
export const everyRow = async <Row>(
  page: (
    before: number | undefined,
  ) => Promise<Outcome<{ data: Row[]; next_before: number | null }>>,
): Promise<Outcome<Row[]>> => {
  const rows: Row[] = [];
  let before: number | undefined;
  do {
    const outcome = await page(before);
    if (isRefusal(outcome)) return outcome;
    rows.push(...outcome.value.data);
    before = outcome.value.next_before ?? undefined;
  } while (before !== undefined && rows.length < FILE_ROWS_MAX);
  return done(rows);
};

export const FULL_PAGE = { limit: LIMITS.PAGE_ROWS_MAX } as const;

export type OwnerFile = {
  /** The route, which ends in `.csv`. */
  path: string;
  head: readonly string[];
  rows(read: Read, owner: string, query: Typed): Promise<Outcome<Rows>>;
};

const BYTE_ORDER_MARK = '\ufeff';

/** Serves the rows of a page of a promoter as CSV, which Excel and others open with their accents. */
export const serveFile = (
  scope: FastifyInstance,
  app: App,
  { path, head, rows }: OwnerFile,
): void => {
  scope.get<{ Params: Typed; Querystring: Typed }>(path, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const owner = ownerOfPage(person, request.params);
    const made = isRefusal(owner)
      ? owner
      : await rows(reader(app, person), owner.value, request.query);
    if (isRefusal(made)) return answerRefusal(request, reply, { app, refusal: made });
    const name = path.slice(path.lastIndexOf('/') + 1);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${request.params['owner']}-${name}"`)
      .send(BYTE_ORDER_MARK + [head, ...made.value].map(csvLine).join(''));
  });
};

/** The link to the file of a page. */
export const fileLink = (path: string, query: Typed = {}): Html =>
  html`<p class="files"><a href="${hrefWith(`${path}.csv`, query)}">Download as CSV</a></p>`;

/** A text to copy, with a button where there is script. */
export const copied = (text: string): Html =>
  html`<span class="copied"><code>${text}</code> <button type="button" class="second" data-copy="${text}" hidden>Copy</button></span>`;
