import { html } from 'hono/html';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import type { Page } from '#src/web/layout.ts';
import { searchForm } from '#src/links/product-page.pages.ts';

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
<section aria-labelledby="look"><h2 id="look">Look around</h2>${searchForm('')}
<ul class="links"><li><a href="/docs">Documentation</a></li>
<li><a href="/api/affiliate/openapi.json">OpenAPI contract</a></li>
<li><a href="/llms.txt">llms.txt, for language models</a></li>
<li><a href="/problems">Problems, and what to do about each</a></li></ul></section>`,
});
