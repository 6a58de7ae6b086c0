import { writeFileSync } from 'node:fs';
import { agentCard } from '#src/interfaces/a2a/card.ts';
import { publishedTools } from '#src/interfaces/mcp/docs.ts';
import { deskOpenApi, openApi } from '#src/interfaces/rest/openapi.ts';
import { llmsText } from '#src/interfaces/text/llms.ts';

/** The origin in the published documents; a running service uses its own. */
export const PUBLISHED_ORIGIN = 'https://tributary.example';

/** The generated files that are committed; a test compares each with the registry. */
export const PUBLISHED: Record<string, () => string> = {
  'openapi.json': () => openApi(PUBLISHED_ORIGIN),
  'desk-openapi.json': () => deskOpenApi(PUBLISHED_ORIGIN),
  'llms.txt': () => llmsText(PUBLISHED_ORIGIN),
  'mcp-tools.json': publishedTools,
  'agent-card.json': () => `${JSON.stringify(agentCard(PUBLISHED_ORIGIN), null, 2)}\n`,
};

if (import.meta.main) {
  for (const [name, make] of Object.entries(PUBLISHED))
    writeFileSync(new URL(`../../contracts/published/${name}`, import.meta.url), make());
}
