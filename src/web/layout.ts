/** The frame of every page: layout, assets and headers. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { type House, sellerOf, termsOf } from '#src/shared/house.ts';
import { languageOf, type MessageKey, type ValuesIf } from '#src/shared/messages.ts';
import { HOUSE_LOCALE, regionalLocale, type Writer, writerFor } from '#src/shared/money.ts';
import { present } from '#src/shared/json.ts';
import { rolesText } from '#src/shared/roles.ts';
import { sendPublic } from './documents.ts';

type Asset = { type: string; body: Buffer; digest: string };

const ASSETS_AT = new URL('./assets/', import.meta.url);
/** Prebuilt, as its package serves it to pages without a bundler. */
const WEBAUTHN = '../../../node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js';

const assetOf = (type: string, body: Buffer): Asset => ({
  type,
  body,
  digest: hash('sha256', body, 'hex').slice(0, 12),
});

const read = (name: string): Buffer => readFileSync(new URL(name, ASSETS_AT));

const load = (type: string, ...names: string[]): Asset =>
  assetOf(type, Buffer.concat(names.map(read)));

/** Written by `make publish`, for Node and Deno; a page has it as a script, which exports nothing. */
const VERIFIER = read('../../../contracts/published/verifier.js').toString();
const SCRIPT = 'text/javascript; charset=utf-8';
const VERIFY = Buffer.concat([
  Buffer.from(VERIFIER.replaceAll(/^export /gm, '')),
  read('verify.js'),
]);

/** Style sheets and scripts, read once at the start. The first sheet orders the layers. */
export const ASSETS = {
  'tributary.css': load(
    'text/css; charset=utf-8',
    'base.css',
    'parts.css',
    'forms.css',
    'pages.css',
    'desk.css',
    'owner.css',
    'buyer.css',
    'print.css',
  ),
  'mark.svg': load('image/svg+xml; charset=utf-8', 'mark.svg'),
  'copy.js': load(SCRIPT, 'copy.js'),
  'desk.js': load(SCRIPT, 'desk.js'),
  'passkey.js': load(SCRIPT, WEBAUTHN, 'passkey.js'),
  'review.js': load(SCRIPT, 'review.js'),
  'verifier.js': assetOf(SCRIPT, Buffer.from(VERIFIER)),
  'verify.js': assetOf(SCRIPT, VERIFY),
} as const;

type AssetName = keyof typeof ASSETS;

const SVG = 'image/svg+xml; charset=utf-8';

/** Pictures of products for feeds without their own, one for each category of the demo. */
export const PICTURES = Object.fromEntries(
  ['bath', 'candles', 'garden', 'kitchen', 'seasonal', 'stationery', 'textiles', 'toys'].map(
    (name) => [`products/${name}.svg`, load(SVG, `products/${name}.svg`)],
  ),
);

/** The path of one of these pictures, if the URL is that of one on whatever address of this service; otherwise undefined. */
export const ownPicture = (url: string): string | undefined => {
  const path = URL.parse(url)?.pathname ?? '';
  return path.replace('/assets/', '') in PICTURES ? path : undefined;
};

/** Path with a hash of the content, so that browsers may cache it without limit. */
const assetHref = (name: AssetName): string => `/assets/${name}?v=${ASSETS[name].digest}`;

/** Markup with all values escaped. */
export type Html = ReturnType<typeof html>;

/** A text as markup: values keep theirs, and what `**` encloses is strong. */
export const rich = <Key extends MessageKey>(
  writer: Writer,
  key: Key,
  ...[values]: ValuesIf<Key, string | Html>
): Html => {
  const byName: Readonly<Record<string, string | number | Html>> = values ?? {};
  const { count } = byName;
  const runs: (string | Html)[][] = [[]];
  for (const [index, part] of writer
    .parts(key, typeof count === 'number' ? count : undefined)
    .entries()) {
    const value = byName[part] ?? '';
    const shown = typeof value === 'number' ? writer.count(value) : value;
    const [first = '', ...rest] = index % 2 === 0 ? part.split('**') : [shown];
    runs.at(-1)?.push(first);
    runs.push(...rest.map((text) => [text]));
  }
  return html`${runs.map((run, index) =>
    index % 2 === 0 ? html`${run}` : html`<strong>${run}</strong>`,
  )}`;
};

export type Page = {
  title: string;
  main: Html;
  /** Language of names, notes and numbers, and of the texts of the page where they exist in it. */
  locale?: string;
  script?: AssetName;
  card?: Card;
  /** Who is signed in. */
  you?: You;
  /** Whether it uses the width of the window: for tables, and for what people work with. */
  isWide?: boolean;
  /** Where the links of the header lead to: with a list in the address they keep it. `list`: the page of the list. */
  nav?: { list?: string; href?(path: string): string };
};

/** A person as the header of their pages names them. `csrf` is in each of their forms. */
export type You = {
  name: string;
  roles: readonly string[];
  owners: readonly string[];
  csrf: string;
};

/** The search of those who work on records. What is searched can be a mailbox, so it is in no address. */
const searchForm = ({ roles, csrf }: You): Html | '' =>
  SEARCHERS.some((role) => roles.includes(role))
    ? html`<form method="post" action="/desk/search" role="search" class="find"><input type="hidden" name="csrf" value="${csrf}">
<label class="unseen" for="q">Search</label><input id="q" name="text" type="search" maxlength="254" autocomplete="off" placeholder="Reference, company, SKU"><button type="submit" class="second">Search</button></form>`
    : '';
const SEARCHERS = ['staff', 'privacy'];

const accountNav = (you: You): Html => html`<nav class="you" aria-label="You">
<a href="/home">Home</a> ${you.roles.includes('staff') && html`<a href="/desk">Inbox</a> `}<a href="/me">${you.name}</a> <span class="quiet">${rolesText(you)}</span>
${searchForm(you)}<form method="post" action="/signout"><input type="hidden" name="csrf" value="${you.csrf}"><button type="submit" class="second">Sign out</button></form>
</nav>`;

/** The ways of visitors and buyers. */
const shopNav = (
  { list, href = (path) => path }: NonNullable<Page['nav']>,
  { say }: Writer,
): Html => html`<nav class="shop" aria-label="${say('nav')}"><a href="${href('/s')}">${say('frame_products')}</a>
<a href="${href('/c')}">${say('categories')}</a> <a href="${list ?? href('/list')}">${say('nav_list')}</a></nav>`;

/** How the page looks where its address is shared. */
type Card = {
  description: string;
  /** The address that is shared, which credits the promoter. */
  url: string;
  image: string | undefined;
};

const CARD_CHARS = 200;

/** Open Graph and Twitter tags. Twitter reads the Open Graph tags for what its own do not say. */
const cardTags = (title: string, { description, url, image }: Card): Html => {
  const text =
    description.length > CARD_CHARS ? `${description.slice(0, CARD_CHARS - 1)}…` : description;
  const tags = { title, description: text, type: 'website', site_name: 'Tributary', url, image };
  return html`<meta name="description" content="${text}">
${Object.entries(present(tags)).map(
  ([name, content]) => html`<meta property="og:${name}" content="${content}">\n`,
)}<meta name="twitter:card" content="${image ? 'summary_large_image' : 'summary'}">
<meta name="twitter:title" content="${title}">
<meta name="twitter:description" content="${text}">
${image && html`<meta name="twitter:image" content="${image}">`}`;
};

/** Who sells: on the pages of people who are signed in, only on paper. */
const seller = (house: House, writer: Writer, isSignedIn: boolean): Html => {
  const terms = termsOf(house, writer);
  return html`<div class="house${isSignedIn ? ' paper' : ''}">${terms !== '' && html`<p>${terms}</p>`}
<p>${sellerOf(house, writer)}</p></div>`;
};

const foot = (
  writer: Writer,
  house: House | undefined,
  isSignedIn: boolean,
): Html => html`<footer class="foot">
${house && seller(house, writer, isSignedIn)}
<p>${writer.say('frame_purpose')}</p>
<nav aria-label="${writer.say('frame_about_nav')}"><a href="/">${writer.say('frame_about')}</a> <a href="/s">${writer.say('frame_products')}</a>
<a href="/docs">${writer.say('frame_docs')}</a> <a href="/problems">${writer.say('frame_problems')}</a>
<a href="/privacy">${writer.say('frame_privacy')}</a></nav>
</footer>`;

const layout = (
  { title, main, locale = 'en', script, card, you, isWide = false, nav = {} }: Page,
  { house }: { house: House | undefined },
  writer = writerFor(regionalLocale(locale)),
): Html => html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Tributary</title>
${card && cardTags(title, card)}
<link rel="icon" type="image/svg+xml" href="${assetHref('mark.svg')}">
<link rel="stylesheet" href="${assetHref('tributary.css')}">
${script && html`<script src="${assetHref(script)}" defer></script>`}
</head>
<body${isWide ? html` class="wide"` : ''}${locale.split('-')[0] === languageOf(locale) ? '' : html` lang="${languageOf(locale)}"`}>
<a class="skip" href="#main">${writer.say('frame_skip')}</a>
<header class="top"><a class="mark" href="/">Tributary</a>${you ? accountNav(you) : shopNav(nav, writer)}</header>
<main id="main" tabindex="-1">
${main}
</main>
${foot(writer, house, you !== undefined)}
</body>
</html>
`;

declare module 'fastify' {
  interface FastifyInstance {
    /** Who sells; undefined if no setting says it. */
    house: House | undefined;
  }
}

/** Sends a page that is the same for everybody. */
export const sendPublicPage = async (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  sendPublic(reply, HTML, (await layout(page, reply.server)).toString());

const HTML = 'text/html; charset=utf-8';

export const sendPage = async (
  reply: FastifyReply,
  status: number,
  page: Page,
): Promise<FastifyReply> =>
  reply
    .code(status)
    .type(HTML)
    .send((await layout(page, reply.server)).toString());

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
  /** Where the page has several fields of this name. Default: the name. */
  id?: string;
  label: string;
  type?: 'text' | 'email' | 'tel' | 'date' | 'datetime-local' | 'number';
  value: string | undefined;
  autocomplete: string;
  maxlength: number;
  required?: boolean;
  /** Number of visible lines, for a field of more than one. */
  rows?: number;
  hint?: string;
  faults: Faults;
  /** Of the page; English by default. */
  writer?: Writer;
};

export const field = (options: FieldOptions): Html => {
  const { name, id = name, label, hint, required = false, faults } = options;
  const { say } = options.writer ?? writerFor(HOUSE_LOCALE);
  const fault = faults.get(id);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return html`<div class="field${fault ? ' wrong' : ''}">
<label for="${id}">${label}${required ? '' : html` <span class="quiet">${say('field_optional')}</span>`}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${fault && html`<p class="fault" id="${id}-fault">${fault}</p>`}
${control(options, html`${required ? html` required` : ''}${describedBy(described)}${invalid(fault)}`)}
</div>`;
};

const MAILBOX_CHARS = 254;

/** The field of somebody's own mailbox, to which a link is mailed. */
export const mailboxField = ({ value, faults }: Pick<FieldOptions, 'value' | 'faults'>): Html =>
  field({
    name: 'mailbox',
    label: 'E-mail address',
    type: 'email',
    value,
    autocomplete: 'email',
    maxlength: MAILBOX_CHARS,
    required: true,
    faults,
  });

const control = (options: FieldOptions, state: Html): Html => {
  const { name, id = name, type = 'text', value = '', maxlength, autocomplete, rows } = options;
  const common = html`id="${id}" name="${name}" maxlength="${maxlength}"
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
export const pager = (
  page: number,
  pages: number,
  href: (page: number) => string,
  { say, count }: Writer = writerFor(HOUSE_LOCALE),
): Html | '' =>
  pages <= 1
    ? ''
    : html`<nav class="pager" aria-label="${say('pages')}">
${page > 1 ? html`<a rel="prev" href="${href(page - 1)}">${say('previous')}</a>` : html`<span></span>`}
<span>${say('page_of', { page: count(page), pages: count(pages) })}</span>
${page < pages ? html`<a rel="next" href="${href(page + 1)}">${say('next')}</a>` : html`<span></span>`}
</nav>`;

const policyWith = (imageOrigins: readonly string[]): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    ["img-src 'self'", ...imageOrigins].join(' '),
    "script-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Headers of every answer of the portal, also of pictures and redirects. Pages may show pictures of `imageOrigins`. */
export const portalHeaders = (imageOrigins: readonly string[]) => ({
  'content-security-policy': policyWith(imageOrigins),
  'referrer-policy': 'strict-origin-when-cross-origin',
});

/** Headers that keep a review link, which is a credential, out of referrers, indexes and shared caches. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
} as const;

export const LINK_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
} as const;

/** Headers of pages whose address contains an attribution token. */
export const ATTRIBUTED_PAGE = {
  'cache-control': 'private, max-age=60',
  'x-robots-tag': 'noindex',
} as const;

/** Headers of pages that are the same for everybody. */
export const PUBLIC_PAGE = { 'cache-control': 'public, max-age=60' } as const;
