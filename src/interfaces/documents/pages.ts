/** Pages of documentation, problems and the start page. */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { html, raw } from 'hono/html';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { BROWSER_TEXT, type PageRates } from '#src/interfaces/rest/docs.ts';
import { searchForm } from '#src/links/product.pages.ts';
import type { App } from '#src/registries/app.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import { COMPRESSED, sendPublic } from '#src/web/documents.ts';
import { notFoundPage } from '#src/web/error-pages.ts';
import { type Page, sendPublicPage, facts } from '#src/web/layout.ts';
import { problemBody } from '#src/web/problem.ts';
import { fillTemplate, DOC_PAGES, type DocPage } from './docs.ts';

const indexPage = (): Page => ({
  title: 'Documentation',
  main: html`<header class="head"><h1>Documentation</h1>
<p class="lede">Generated from the same definitions as the interfaces. Each page is also available as Markdown:
add <code>.md</code> to its address.</p>
<p>${BROWSER_TEXT}</p></header>
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

/** An unused request id, for the example. */
const EXAMPLE_ID = '019a0000-0000-7000-8000-000000000000';

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

export const problemsPage = (): Page => ({
  title: 'Problems',
  main: html`<header class="head"><h1>Problems</h1>
<p class="lede">Every problem that a call can answer. A code is never renamed and never
reused.</p></header>
<table class="problems"><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">Meaning</th></tr></thead><tbody>${PROBLEM_CODES.map(
    (code) => html`<tr><th scope="row"><a href="/problems/${code}"><code>${code}</code></a></th>
<td>${PROBLEMS[code].status}</td><td>${PROBLEMS[code].title}</td></tr>`,
  )}</tbody></table>`,
});

const retryText = (code: ProblemCode): string =>
  PROBLEMS[code].retryable
    ? 'Yes, unchanged and with the same idempotency key'
    : 'No: change the call or its preconditions first';

const exampleOf = (code: ProblemCode, origin: string): string =>
  JSON.stringify(
    problemBody(
      { code, detail: 'What was wrong with this call.' },
      { origin, requestId: EXAMPLE_ID },
    ),
    null,
    2,
  );

export const problemPage = (code: ProblemCode, origin: string): Page => {
  const { status, title, hint, action } = PROBLEMS[code];
  return {
    title,
    main: html`<article><header class="head"><p class="eyebrow"><code>${code}</code></p>
<h1>${title}</h1><p class="lede">${hint}</p>
${facts([
  ['Status', String(status)],
  ['Recovery', html`<code>${action}</code>`],
  ['Send it again?', retryText(code)],
])}</header>
<section aria-labelledby="example"><h2 id="example">Example</h2>
<pre tabindex="0"><code>${exampleOf(code, origin)}</code></pre></section>
<p><a href="/problems">All problems</a> ·
<a href="/problems/${code}.md">This page as Markdown</a></p>
</article>`,
  };
};

/** Returns the page as Markdown, for programs. */
export const problemMarkdown = (code: ProblemCode, origin: string): string => {
  const { status, title, hint, action } = PROBLEMS[code];
  return `# ${title}

\`${code}\`, status ${status}.

${hint}

- Recovery: \`${action}\`
- Send it again? ${retryText(code)}.

\`\`\`json
${exampleOf(code, origin)}
\`\`\`

All problems: ${origin}/problems
`;
};

/** The page at /: explains the service to visitors who arrive without a link. */
export const startPage = (): Page => ({
  title: 'Attributed wholesale promotion',
  main: html`<header class="head"><h1>Many small streams, one river</h1>
<p class="lede">Software agents find wholesale products, share links to them and prepare lists for
buyers, on behalf of a promoter. Buyers review those lists and alone decide to ask for a quotation.
Every call of an agent is recorded.</p></header>
<section aria-labelledby="who"><h2 id="who">Who it is for</h2>
<dl class="people">
<div><dt>Buyers</dt><dd>You were sent a link to a list. Open it, change what you like, and ask for a
quotation, or decline. You need no account.</dd></div>
<div><dt>Promoters</dt><dd>Your agents act under your name, within the scopes that you requested and staff
approved. You see the results of each link and list. <a href="/apply">Apply for access</a>.</dd></div>
<div><dt>Agents</dt><dd>One key works over REST, MCP and A2A. Start with <code>getConnection</code> and the
documentation below.</dd></div>
<div><dt>Staff</dt><dd>You review access, control prices and stock, and answer requests for
quotation.</dd></div>
</dl></section>
<section aria-labelledby="bounds" class="bounds"><h2 id="bounds">What no agent can do here</h2>
<ul>${BOUNDARIES.map(
    ({ statement, instead }) => html`<li>${statement} <span class="quiet">${instead}</span></li>`,
  )}</ul></section>
<section aria-labelledby="look"><h2 id="look">Look around</h2>${searchForm('', { kept: [], writer: writerFor(HOUSE_LOCALE) })}
<ul class="links"><li><a href="/docs">Documentation</a></li>
<li><a href="/api/affiliate/openapi.json">OpenAPI contract</a></li>
<li><a href="/llms.txt">llms.txt, for language models</a></li>
<li><a href="/problems">Problems, and what to do about each</a></li></ul></section>`,
});
