import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { html, raw } from 'hono/html';
import type { App } from '#src/registries/app.ts';
import type { PageRates } from '#src/interfaces/rest/docs.ts';
import { fillTemplate } from './doc-template.ts';
import { DOC_PAGES, type DocPage } from './docs.ts';
import { notFoundPage } from '#src/web/error-pages.ts';
import { COMPRESSED, sendPublic } from '#src/web/documents.ts';
import { type Page, sendPublicPage } from '#src/web/layout.ts';

const indexPage = (): Page => ({
  title: 'Documentation',
  main: html`<header class="head"><h1>Documentation</h1>
<p class="lede">Generated from the same definitions as the interfaces. Each page is also available as Markdown:
add <code>.md</code> to its address.</p></header>
<ul class="links">${DOC_PAGES.map(
    ({ slug, title, about }) => html`<li><a href="/docs/${slug}">${title}</a>: ${about}</li>`,
  )}
<li><a href="/problems">Problems</a>: every error code and what to do about it</li>
<li><a href="/api/affiliate/openapi.json">OpenAPI 3.1</a>: the contract of the seven operations</li></ul>`,
});

type Rendered = { text: string; body: string };

const PUBLISHED_PAGES = new URL('../../../contracts/published/docs/', import.meta.url);

/** Returns a function that renders each page once per origin. */
const createRenderer = (rates: PageRates) => {
  const pages = new Map<string, Rendered>();
  const render = (page: DocPage, origin: string): Rendered => {
    const html = readFileSync(new URL(`${page.slug}.html`, PUBLISHED_PAGES), 'utf8');
    return { text: page.markdown(origin, rates), body: fillTemplate(html, origin, rates) };
  };
  return (page: DocPage, origin: string): Rendered => {
    const name = `${page.slug} ${origin}`;
    const rendered = pages.get(name) ?? render(page, origin);
    pages.set(name, rendered);
    return rendered;
  };
};

/** Serves the documentation as HTML and as Markdown. */
export const docRoutes = (scope: FastifyInstance, { origin, limits }: App): void => {
  const render = createRenderer(limits);

  scope.get('/docs', COMPRESSED, (_request, reply) => sendPublicPage(reply, indexPage()));

  scope.get<{ Params: { page: string } }>('/docs/:page', COMPRESSED, (request, reply) => {
    const [, slug = '', suffix] = /^(.*?)(\.md)?$/.exec(request.params.page) ?? [];
    const page = DOC_PAGES.find((one) => one.slug === slug);
    if (!page) return notFoundPage(reply, 'This documentation page does not exist.');
    reply.header('vary', 'accept');
    const { text, body } = render(page, origin());
    const wantsText = request.headers.accept?.includes('text/markdown') === true;
    if (suffix !== undefined || wantsText)
      return sendPublic(reply, 'text/markdown; charset=utf-8', `${text}\n`);
    return sendPublicPage(reply, {
      title: page.title,
      // Made from constants and settings, without data of any owner: nothing needs escaping.
      main: html`<article class="doc">${raw(body)}<p><a href="/docs">All pages</a> ·
<a href="/docs/${slug}.md">This page as Markdown</a></p></article>`,
    });
  });
};
