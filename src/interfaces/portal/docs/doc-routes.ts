import type { FastifyInstance } from 'fastify';
import { html, raw } from 'hono/html';
import { marked } from 'marked';
import type { App } from '#src/app/app.ts';
import type { Rates } from '#contracts/limits.ts';
import { DOC_PAGES, type DocPage } from '#src/interfaces/text/docs.ts';
import { notFoundPage } from '../layout/error-pages.ts';
import { PUBLIC_PAGE } from '../layout/headers.ts';
import { type Page, sendPage } from '../layout/layout.ts';

const indexPage = (): Page => ({
  title: 'Documentation',
  main: html`<header class="head"><h1>Documentation</h1>
<p class="lede">Made from the same definitions as the interfaces themselves. Each page is there as Markdown,
too: put <code>.md</code> behind its address.</p></header>
<ul class="links">${DOC_PAGES.map(
    ({ slug, title, about }) => html`<li><a href="/docs/${slug}">${title}</a>: ${about}</li>`,
  )}
<li><a href="/problems">Problems</a>: every error code with its way forward</li>
<li><a href="/api/affiliate/openapi.json">OpenAPI 3.1</a>: the contract of the seven operations</li></ul>`,
});

type Made = { text: string; body: string };

/** Each page once: its Markdown is written from every schema it tells of. */
const maker = (rates: Rates) => {
  const pages = new Map<string, Promise<Made>>();
  const make = async (page: DocPage, origin: string): Promise<Made> => {
    const text = page.markdown(origin, rates);
    return { text, body: await marked.parse(text) };
  };
  return (page: DocPage, origin: string): Promise<Made> => {
    const name = `${page.slug} ${origin}`;
    const known = pages.get(name) ?? make(page, origin);
    pages.set(name, known);
    return known;
  };
};

/** Pages of documentation, for people and, as Markdown, for programs. */
export const docRoutes = (scope: FastifyInstance, { origin, limits }: App): void => {
  const made = maker(limits);

  scope.get('/docs', (_request, reply) => sendPage(reply.headers(PUBLIC_PAGE), 200, indexPage()));

  scope.get<{ Params: { page: string } }>('/docs/:page', async (request, reply) => {
    const [, slug = '', suffix] = /^(.*?)(\.md)?$/.exec(request.params.page) ?? [];
    const page = DOC_PAGES.find((one) => one.slug === slug);
    if (!page) return notFoundPage(reply, 'There is no such page of documentation.');
    reply.headers(PUBLIC_PAGE).header('vary', 'accept');
    const { text, body } = await made(page, origin());
    const wantsText = request.headers.accept?.includes('text/markdown') === true;
    if (suffix !== undefined || wantsText)
      return reply.type('text/markdown; charset=utf-8').send(`${text}\n`);
    return sendPage(reply, 200, {
      title: page.title,
      // Our own constants, and nothing of a tenant: no value here needs escaping once more.
      main: html`<article class="doc">${raw(body)}<p><a href="/docs">All pages</a> ·
<a href="/docs/${slug}.md">This page as Markdown</a></p></article>`,
    });
  });
};
