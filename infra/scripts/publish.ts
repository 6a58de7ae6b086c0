import { mkdirSync, writeFileSync } from 'node:fs';
import { marked } from 'marked';
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

const renderPage = ({ markdown }: DocPage): string =>
  marked.parse(markdown(TEMPLATE_ORIGIN, TEMPLATE_RATES), { async: false });

/** The generated files that are committed; a test compares each with the registry. */
export const PUBLISHED: Record<string, () => string> = {
  'openapi.json': () => openApi(PUBLISHED_ORIGIN),
  'desk-openapi.json': () => deskOpenApi(PUBLISHED_ORIGIN),
  'llms.txt': () => llmsText(PUBLISHED_ORIGIN),
  'mcp-tools.json': publishedTools,
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
