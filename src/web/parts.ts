/** The parts of which pages of people are made: tables, timelines, filters, and forms of acts. */
import { html } from 'hono/html';
import { momentText } from '#src/shared/money.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#src/shared/time.ts';
import {
  describedBy,
  type Faults,
  field,
  type Html,
  invalid,
  NO_FAULTS,
  notice,
  type You,
} from './layout.ts';
import { formFields, type Typed } from './person-admission.ts';

export type Content = Html | string;

/** A column; `isNumber` aligns its cells at the end. The first column names its row. */
type Column = { head: string; isNumber?: boolean };

/** A table, whose rows are cards on a phone. Without rows it is `empty`, which says what would be here. */
export const dataTable = (
  caption: string,
  columns: readonly Column[],
  { rows, empty, foot }: { rows: readonly (readonly Content[])[]; empty: Content; foot?: Html },
): Html => {
  if (rows.length === 0) return html`<p class="lede">${empty}</p>`;
  const numeric = (index: number): Html | '' =>
    columns[index]?.isNumber ? html` class="num"` : '';
  const cellOf = (value: Content, index: number): Html =>
    index === 0
      ? html`<th scope="row">${value}</th>`
      : html`<td${numeric(index)} data-label="${columns[index]?.head ?? ''}">${value}</td>`;
  return html`<table class="rows"><caption>${caption}</caption>
<thead><tr>${columns.map(({ head }, index) => html`<th scope="col"${numeric(index)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cellOf)}</tr>\n`)}</tbody>${foot}</table>`;
};

/** A time for people and for programs. */
export const timeOf = (at: string): Html => html`<time datetime="${at}">${momentText(at)}</time>`;

/** How long ago a time was, in one unit. */
export const ageText = (at: string, now: number): string => {
  const age = Math.max(0, now - Date.parse(at));
  if (age < HOUR_MS) return `${Math.floor(age / MINUTE_MS)} min`;
  return age < 2 * DAY_MS ? `${Math.floor(age / HOUR_MS)} h` : `${Math.floor(age / DAY_MS)} days`;
};

/** An age whose tooltip has the time. */
export const ageOf = (at: string, now: number): Html =>
  html`<time datetime="${at}" title="${momentText(at)}">${ageText(at, now)}</time>`;

/** The type of an event in words: `HandoffListRevisedByBuyer` is `List revised by buyer`. */
export const eventWords = (type: string): string => {
  const [first = '', ...rest] = type
    .replace(/^Handoff(?:List)?/, 'List')
    .replace(/^Outbound/, 'Outreach')
    .replace(/^Rfq/, 'Request')
    .replaceAll(/(?<!^)[A-Z]/g, ' $&')
    .split(' ');
  return [first, ...rest.map((word) => word.toLowerCase())]
    .join(' ')
    .replaceAll(/\brfq\b/g, 'request');
};

/** What happened, in order: when, what, and by whom. */
export const happened = (entries: readonly { at: string; what: Content; who?: Content }[]): Html =>
  html`<ol class="timeline">${entries.map(
    ({ at, what, who }) =>
      html`<li><p>${what}</p><p class="quiet">${timeOf(at)}${who && html` · ${who}`}</p></li>\n`,
  )}</ol>`;

type FilterLink = { text: string; href: string; isCurrent: boolean; count?: Html };

/** Links that choose what a list shows. */
export const filters = (label: string, links: readonly FilterLink[]): Html =>
  html`<nav class="filters" aria-label="${label}">${links.map(
    ({ text, href, isCurrent, count }) =>
      html`<a href="${href}"${isCurrent ? html` aria-current="true"` : ''}>${text}${count && html` ${count}`}</a>\n`,
  )}</nav>`;

/** The address of the same page with other parameters; undefined removes one. */
export const hrefWith = (
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string => {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(kept as [string, string][]).toString();
  return text === '' ? path : `${path}?${text}`;
};

type Find = {
  /** What is searched, for those who do not see the page. */
  what: string;
  label: string;
  field: readonly [name: string, value: string];
  maxlength: number;
  beside?: Html;
};

/** The search over what a page lists; the rest of the address is chosen anew. */
export const findForm = (
  path: string,
  { what, label, field: [name, value], maxlength, beside }: Find,
): Html => html`<form method="get" action="${path}" class="find" role="search" aria-label="${what}">
<label class="unseen" for="${name}">${label}</label>
<input id="${name}" name="${name}" type="search" maxlength="${maxlength}" autocomplete="off" placeholder="${label}" value="${value}">
<button type="submit" class="second">Find</button>${beside}</form>`;

/** The link to the next page of a long list. */
export const nextPage = (href: string | undefined, text = 'Next page'): Html | '' =>
  href === undefined
    ? ''
    : html`<nav class="pager" aria-label="Pages"><span></span><a rel="next" href="${href}">${text}</a></nav>`;

/** A word on the state of something. */
export const badge = (text: string, tone: 'calm' | 'warn' | 'bad' | 'good' = 'calm'): Html =>
  html`<span class="badge ${tone}">${text}</span>`;

/** What a page shows of a form that was sent before. */
export type FormState = {
  /** The act whose form is shown as it was sent. */
  act?: string | undefined;
  typed: Typed;
  /** By the id of a field. */
  faults: Faults;
  /** The idempotency key to send again: with it, a form whose outcome is unknown has one effect. */
  key?: string;
  /** What was done. */
  said?: string;
  /** What was refused, with the faults of its fields. */
  refused?: { title: string; detail: string; faults: (readonly [id: string, text: string])[] };
};

export const NO_FORM: FormState = { typed: {}, faults: NO_FAULTS };

type ActField = {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string;
  required?: boolean;
  maxlength?: number;
  rows?: number;
  type?: 'text' | 'date' | 'datetime-local' | 'number' | 'email';
  /** Makes it a choice: value and label of each. */
  options?: readonly (readonly [value: string, label: string])[];
};

/** The field of an act that needs a reason. */
export const REASON: ActField = { name: 'reason', label: 'Reason', required: true };

export type ActForm = {
  /** The last segment of the form's address, and a key of the page's acts. */
  name: string;
  title: string;
  /** Said before the fields. */
  text?: Content;
  fields?: readonly ActField[];
  /** Own markup after the fields. */
  body?: Html | '';
  /** What the person does not enter. */
  hidden?: Readonly<Record<string, string>>;
  button: string;
  isDangerous?: boolean;
  /** Open before anything was sent. */
  isOpen?: boolean;
};

/** The id of an act's field on its page. */
export const fieldId = (act: string, name: string): string => `${act}-${name}`;

const choice = (act: string, one: ActField, value: string, fault: string | undefined): Html => {
  const { name, label, hint, options = [] } = one;
  const id = fieldId(act, name);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return html`<div class="field${fault ? ' wrong' : ''}"><label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${fault && html`<p class="fault" id="${id}-fault">${fault}</p>`}
<select id="${id}" name="${name}"${describedBy(described)}${invalid(fault)}>${options.map(
    ([each, text]) =>
      html`<option value="${each}"${each === value ? html` selected` : ''}>${text}</option>`,
  )}</select></div>`;
};

const LINE_CHARS = 500;

const actField = (act: string, one: ActField, state: FormState): Html => {
  const value = typedIn(state, act, one.name) ?? one.value ?? '';
  const id = fieldId(act, one.name);
  if (one.options) return choice(act, one, value, state.faults.get(id));
  const { options: _none, ...plain } = one;
  return field({
    maxlength: LINE_CHARS,
    required: false,
    autocomplete: 'off',
    ...plain,
    id,
    value,
    faults: state.faults,
  });
};

/** What was typed into a field of an act, if its form was sent. */
export const typedIn = (
  { act, typed }: Pick<FormState, 'act' | 'typed'>,
  name: string,
  of: string,
): string | undefined => (act === name ? typed[of] : undefined);

/** The form of an act of the page at `at`, which opens and closes without script. */
export const actForm = (
  you: You,
  { path, query = '', state }: { path: string; query?: string; state: FormState },
  { name, title, text, fields = [], body = '', hidden = {}, button, ...how }: ActForm,
): Html => {
  const isSent = state.act === name;
  return html`<details class="act"${isSent || how.isOpen ? html` open` : ''}><summary>${title}</summary>
<form method="post" action="${path}/${name}${query}" novalidate>${formFields(you, isSent ? state.key : undefined)}
<input type="hidden" name="act" value="${name}">${Object.entries(hidden).map(
    ([each, value]) => html`<input type="hidden" name="${each}" value="${value}">`,
  )}
${text && html`<p>${text}</p>`}${fields.map((one) => actField(name, one, state))}${body}
<button type="submit"${how.isDangerous ? html` class="danger"` : ''}>${button}</button></form></details>\n`;
};

/** What became of the form that was sent before. */
export const outcomeNotice = ({ said, refused }: FormState): Html | '' => {
  if (said !== undefined) return notice('good', html`<p role="status">${said}</p>`);
  return refused === undefined
    ? ''
    : html`<div class="notice bad" role="alert" id="faults" tabindex="-1" autofocus>
<h2>${refused.title}</h2><p>${refused.detail}</p>
${
  refused.faults.length > 0 &&
  html`<ul>${refused.faults.map(([id, text]) => html`<li><a href="#${id}">${text}</a></li>`)}</ul>`
}</div>`;
};
