import { afterText, fieldsTable, json, scopeText } from '#src/interfaces/documents/markdown.ts';
import { MCP_PATH } from './documents.ts';
import { type Tool, TOOLS } from './tools.ts';
import { VERSIONS } from './wire.ts';
import { INSTRUCTIONS, inToolWords } from './wording.ts';

/** Content of mcp-tools.json: every tool as tools/list shows it to a key with all scopes. */
export const publishedTools = (): string =>
  `${JSON.stringify({ tools: TOOLS.map(({ entry }) => entry) }, undefined, 2)}\n`;

const hintsOf = ({ entry: { annotations } }: Tool): string =>
  [
    annotations.readOnlyHint ? 'reads only' : 'writes',
    ...(annotations.destructiveHint ? ['takes something away'] : []),
    'safe to repeat',
    ...(annotations.openWorldHint ? ['reaches beyond this service once people approve'] : []),
  ].join(', ');

const toolSection = (tool: Tool): string[] => {
  const { entry, operation } = tool;
  return [
    `## ${entry.name}`,
    entry.description,
    `Needs ${scopeText(operation.scope)}; ${hintsOf(tool)}.`,
    fieldsTable(entry.inputSchema),
    ...operation.examples.flatMap((example) => [
      `Example, ${inToolWords(example.name)}${inToolWords(afterText(example))}:`,
      json({ name: entry.name, arguments: example.input }),
    ]),
  ];
};

/** The page about the tools as Markdown: how to connect, then every tool. */
export const toolsMarkdown = (origin: string): string =>
  `${[
    '# MCP tools',
    `Endpoint: \`POST ${origin}${MCP_PATH}\`, streamable HTTP, JSON answers, no sessions. Versions: ` +
      `${VERSIONS.join(', ')}. Send \`Authorization: Bearer <API_KEY>\`.`,
    INSTRUCTIONS,
    'A refusal that a model can act on is a result with `isError` and the problem as JSON text; one that ' +
      'it cannot is a JSON-RPC error whose `data` is the same problem. `tools/list` shows what the scopes ' +
      'of the key open. A result has at most 32 KiB; `_meta.truncated` says what was left out.',
    'The examples work as they stand on a service with the demo story (`make run`), except where one says ' +
      'what to put in.',
    ...TOOLS.flatMap(toolSection),
  ].join('\n\n')}\n`;
