import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { Marked, type Tokens } from 'marked';
import { agentCard } from '#src/interfaces/a2a/card.ts';
import { publishedTools } from '#src/interfaces/mcp/documents.ts';
import { deskOpenApi, openApi } from '#src/interfaces/rest/openapi.ts';
import {
  TEMPLATE_ORIGIN,
  TEMPLATE_RATES,
  DOC_PAGES,
  type DocPage,
} from '#src/interfaces/documents/docs.ts';
import { llmsText } from '#src/interfaces/documents/llms.ts';

/** The origin in the published documents; a running service uses its own. */
export const PUBLISHED_ORIGIN = 'https://tributary.example';

/** Code can be wider than the page: the keyboard must reach what scrolls. Narrow screens show a table row by row. */
const pages = new Marked({
  renderer: {
    code: ({ text, lang = '' }) =>
      `<pre tabindex="0"><code class="language-${lang}">${escaped(text)}</code></pre>\n`,
    table({ header, rows }) {
      const inline = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens);
      const head = header.map((cell) => `<th scope="col" role="columnheader">${inline(cell)}</th>`);
      const body = rows.map((cells) =>
        rowOf(
          cells.map(
            (cell, at) =>
              `<td role="cell" data-label="${escaped(header[at]?.text ?? '')}">${inline(cell)}</td>`,
          ),
        ),
      );
      return `<table role="table">
<thead role="rowgroup">${rowOf(head)}</thead>
<tbody role="rowgroup">${body.join('')}</tbody></table>\n`;
    },
  },
});

const rowOf = (cells: readonly string[]): string => `<tr role="row">\n${cells.join('\n')}\n</tr>\n`;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (sign) => ESCAPES[sign] ?? sign);

const renderPage = ({ markdown }: DocPage): string =>
  pages.parse(markdown(TEMPLATE_ORIGIN, TEMPLATE_RATES), { async: false });

/** The verifier of exported histories without its types, for Node, Deno and browsers. */
const verifier = (): string => {
  const source = new URL('../../src/proof/verifier.ts', import.meta.url);
  return stripTypeScriptTypes(readFileSync(source, 'utf8')).replaceAll(/ +$/gm, '');
};

/** The generated files that are committed; a test compares each with the registry. */
export const PUBLISHED: Record<string, () => string> = {
  'openapi.json': () => openApi(PUBLISHED_ORIGIN),
  'desk-openapi.json': () => deskOpenApi(PUBLISHED_ORIGIN),
  'llms.txt': () => llmsText(PUBLISHED_ORIGIN),
  'mcp-tools.json': publishedTools,
  'verifier.js': verifier,
  'agent-card.json': () => `${JSON.stringify(agentCard(PUBLISHED_ORIGIN), null, 2)}\n`,
  ...Object.fromEntries(
    DOC_PAGES.map((page) => [`docs/${page.slug}.html`, () => renderPage(page)]),
  ),
};

if (import.meta.main) {
  mkdirSync(new URL('../../contracts/published/docs', import.meta.url), { recursive: true });
  for (const [name, make] of Object.entries(PUBLISHED))
    writeFileSync(new URL(`../../contracts/published/${name}`, import.meta.url), make());
}
