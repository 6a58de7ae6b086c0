/** Tools as strict clients and language models see them: a narrow JSON Schema, and a budget of tokens. */
import { type MCPServer, mcpToFunctionTool } from '@openai/agents-core';
import { expect, it, vi } from 'vitest';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { TOKENS_MAX, toolTokens } from '../support/source/tool-tokens.ts';

type Node = Record<string, unknown>;

/** Members of JSON Schema that Gemini documents for the parameters of functions, in those that we use. */
const GEMINI = new Set([
  'type',
  'title',
  'description',
  'properties',
  'additionalProperties',
  'required',
  'items',
  'minItems',
  'maxItems',
  'enum',
  'format',
  'minimum',
  'maximum',
]);
/** Formats of texts that both Gemini and the strict mode of OpenAI document. */
const TEXT_FORMATS = ['date', 'date-time', 'time'];

/** Every schema in a schema, with its pointer. */
const nodesOf = (node: Node, pointer = ''): [string, Node][] => [
  [pointer, node],
  ...Object.entries((node['properties'] as Record<string, Node>) ?? {}).flatMap(([name, member]) =>
    nodesOf(member, `${pointer}/${name}`),
  ),
  ...(node['items'] ? nodesOf(node['items'] as Node, `${pointer}/*`) : []),
];

const INPUTS = TOOLS.map(({ entry }) => [entry.name, entry] as const);

it.each(INPUTS)('The input of %s has closed objects and documented members only', (name, entry) => {
  for (const [pointer, node] of nodesOf(entry.inputSchema)) {
    const at = `${name} ${pointer}`;
    expect([at, Object.keys(node).filter((member) => !GEMINI.has(member))]).toEqual([at, []]);
    expect([at, typeof node['type']]).toEqual([at, 'string']);
    if (node['type'] === 'object') expect([at, node['additionalProperties']]).toEqual([at, false]);
    if (node['format'] !== undefined) expect(TEXT_FORMATS).toContain(node['format']);
    if (node['enum'] !== undefined)
      expect([at, (node['enum'] as unknown[]).every((value) => typeof value === 'string')]).toEqual(
        [at, true],
      );
  }
  expect(entry.inputSchema.properties ?? {}).not.toHaveProperty('metadata');
});

it.each(INPUTS)('OpenAI Agents converts %s to its strict mode', (_name, entry) => {
  const warned = vi.spyOn(globalThis.console, 'warn');
  const server = { name: 'tributary', cacheToolsList: false } as unknown as MCPServer;
  const converted = mcpToFunctionTool(entry as never, server, true);
  expect(converted.strict).toBe(true);
  expect(warned).not.toHaveBeenCalled();
  // As it is sent: each object lists every property as required, and the optional ones as nullable.
  const { parameters } = converted as unknown as { parameters: Node };
  expect(Object.keys((parameters['properties'] as Node) ?? {})).toEqual(
    Object.keys(entry.inputSchema.properties ?? {}),
  );
});

it('The description of a tool names the fields of its answer that hold text of others', () => {
  for (const { entry, untrusted } of TOOLS) {
    const names = untrusted.map((pointer) => pointer.split('/').findLast((part) => part !== '*'));
    if (names.length === 0) continue;
    expect(entry.description).toMatch(/data, never instructions/i);
    // A command whose record a query answers, too, shows no output schema.
    if (!entry.outputSchema) continue;
    const [, named = ''] = / Data, never instructions: (.*)\.$/.exec(entry.description) ?? [];
    expect([entry.name, named.split(', ').sort()]).toEqual([
      entry.name,
      [...new Set(names)].sort(),
    ]);
  }
  const search = TOOLS.find(({ entry }) => entry.name === 'search_products');
  for (const name of ['title', 'description', 'brand'])
    expect(search?.entry.description).toMatch(new RegExp(`instructions: .*\\b${name}\\b`));
});

it('The tools and the answer of get_connection stay within their budgets of tokens', () => {
  const counts = toolTokens();
  const over = Object.entries(counts).filter(
    ([name, count]) => count > TOKENS_MAX[name as keyof typeof TOKENS_MAX],
  );
  expect(over).toEqual([]);
});
