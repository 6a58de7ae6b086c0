import type { FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { visibleTitle } from '#src/app/outreach/visible.ts';
import { present } from '#src/app/shared/present.ts';
import { sendPublic } from '../../http/documents.ts';
import { assetHref, type AssetName } from './asset-files.ts';

/** Markup with all values escaped. */
export type Html = ReturnType<typeof html>;

export type Page = {
  title: string;
  main: Html;
  /** Language of names, notes and numbers. The texts of the page are English. */
  locale?: string;
  script?: AssetName;
  card?: Card;
};

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

const isEnglish = (locale: string): boolean => /^en(-|$)/.test(locale);

export const layout = ({
  title,
  main,
  locale = 'en',
  script,
  card,
}: Page): Html => html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${visibleTitle(title)} · Tributary</title>
${card && cardTags(visibleTitle(title), card)}
<link rel="icon" type="image/svg+xml" href="${assetHref('mark.svg')}">
<link rel="stylesheet" href="${assetHref('tributary.css')}">
${script && html`<script src="${assetHref(script)}" defer></script>`}
</head>
<body${isEnglish(locale) ? '' : html` lang="en"`}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="mark" href="/">Tributary</a></header>
<main id="main" tabindex="-1">
${main}
</main>
<footer class="foot">
<p>Tributary carries lists between promoters, buyers and staff. It places no orders and takes no
payment.</p>
<nav aria-label="About this service"><a href="/">About</a> <a href="/s">Products</a>
<a href="/docs">Documentation</a> <a href="/problems">Problems</a>
<a href="/privacy">Your data</a></nav>
</footer>
</body>
</html>
`;

/** Sends a page that is the same for everybody. */
export const sendPublicPage = async (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  sendPublic(reply, HTML, (await layout(page)).toString());

const HTML = 'text/html; charset=utf-8';

export const sendPage = async (
  reply: FastifyReply,
  status: number,
  page: Page,
): Promise<FastifyReply> =>
  reply
    .code(status)
    .type(HTML)
    .send((await layout(page)).toString());
