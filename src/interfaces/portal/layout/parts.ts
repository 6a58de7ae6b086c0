import { html } from 'hono/html';
import type { Html } from './layout.ts';

/** Faults by field name, which is also the field's id on the page. */
export type Faults = ReadonlyMap<string, string>;

export const NO_FAULTS: Faults = new Map();

export const notice = (tone: 'calm' | 'warn' | 'good', body: Html): Html =>
  html`<div class="notice ${tone}">${body}</div>`;

/** Summary of the faults, each with a link to its field. */
export const faultSummary = (heading: string, faults: Faults): Html | '' =>
  faults.size === 0
    ? ''
    : html`<div class="notice bad" role="alert" id="faults" tabindex="-1" autofocus>
<h2>${heading}</h2>
<ul>${[...faults].map(([name, message]) => html`<li><a href="#${name}">${message}</a></li>`)}</ul>
</div>`;

export type FieldOptions = {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'tel';
  value: string | undefined;
  autocomplete: string;
  maxlength: number;
  required?: boolean;
  /** Number of visible lines, for a field of more than one. */
  rows?: number;
  hint?: string;
  faults: Faults;
};

export const field = (options: FieldOptions): Html => {
  const { name, label, hint, required = false, faults } = options;
  const fault = faults.get(name);
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  return html`<div class="field${fault ? ' wrong' : ''}">
<label for="${name}">${label}${required ? '' : html` <span class="quiet">(optional)</span>`}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${fault && html`<p class="fault" id="${name}-fault">${fault}</p>`}
${control(options, html`${required ? html` required` : ''}${describedBy(described)}${invalid(fault)}`)}
</div>`;
};

const control = (options: FieldOptions, state: Html): Html => {
  const { name, type = 'text', value = '', maxlength, autocomplete, rows } = options;
  const common = html`id="${name}" name="${name}" maxlength="${maxlength}"
 autocomplete="${autocomplete}"${state}`;
  return rows === undefined
    ? html`<input ${common} type="${type}" value="${value}">`
    : html`<textarea ${common} rows="${rows}">${value}</textarea>`;
};

/** A checkbox with its label; `id` is unique on the page. */
export const tick = ({
  id,
  name,
  value,
  label,
  isTicked = false,
}: Record<'id' | 'name' | 'value' | 'label', string> & { isTicked?: boolean }): Html =>
  html`<div class="tick"><input type="checkbox" id="${id}" name="${name}" value="${value}"${isTicked ? html` checked` : ''}>
<label for="${id}">${label}</label></div>`;

export const describedBy = (ids: string): Html | '' =>
  ids === '' ? '' : html` aria-describedby="${ids}"`;

export const invalid = (fault: string | undefined): Html | '' =>
  fault === undefined ? '' : html` aria-invalid="true"`;

/** A list of names and values. */
export const facts = (entries: readonly (readonly [string, string | Html])[]): Html =>
  html`<dl class="facts">${entries.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;

/** Links to other pages; `href` makes the address of a page from its number. */
export const pager = (page: number, pages: number, href: (page: number) => string): Html | '' =>
  pages <= 1
    ? ''
    : html`<nav class="pager" aria-label="Pages">
${page > 1 ? html`<a rel="prev" href="${href(page - 1)}">Previous</a>` : html`<span></span>`}
<span>Page ${page} of ${pages}</span>
${page < pages ? html`<a rel="next" href="${href(page + 1)}">Next</a>` : html`<span></span>`}
</nav>`;

export const plural = (count: number, one: string, many: string): string =>
  count === 1 ? one : many;
