import type { z } from 'zod';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import type { ToolOperation } from '#contracts/operation.ts';
import { toolName } from '#contracts/places.ts';
import type { connection } from '#contracts/access/connection.records.ts';
import { allows } from '#contracts/scopes.ts';
import { connectionForTools, toolConnection } from './connection.ts';
import { type Schema, toolSchema } from './schema.ts';
import { untrustedIn, untrustedNote } from './untrusted.ts';
import { inToolWords, titleOf } from './wording.ts';

/** A tool as tools/list shows it. */
export type ToolEntry = {
  name: string;
  title: string;
  description: string;
  inputSchema: Schema;
  /** Not of a command whose record a query answers, too: it would be repeated. */
  outputSchema?: Schema;
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
};

export type Tool = {
  id: OperationId;
  operation: ToolOperation;
  entry: ToolEntry;
  /** Converts the answer of the operation, where the tool answers less. */
  show?(answer: unknown): object;
  /** JSON Pointers of the result's fields with text that others wrote. */
  untrusted: readonly string[];
};

const sentences = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined)
    .map((part) => (/[.!?]$/.test(part) ? part : `${part}.`))
    .join(' ');

/** Tools that answer less than their operation. */
const VIEWS: Partial<Record<OperationId, { output: z.ZodType; show(answer: unknown): object }>> = {
  getConnection: {
    output: toolConnection,
    show: (answer) => connectionForTools(answer as z.output<typeof connection>),
  },
};

/** What queries answer. */
const QUERIED = new Set(
  Object.values<ToolOperation>(agentOperations)
    .filter(({ kind }) => kind === 'query')
    .map(({ output }) => output),
);

const toolOf = (id: OperationId): Tool => {
  const operation: ToolOperation = agentOperations[id];
  const view = VIEWS[id];
  const output = view?.output ?? operation.output;
  const untrusted = untrustedIn(toolSchema(output, 'output'));
  const title = titleOf(id);
  const { summary, guidance, brief = guidance, next } = operation;
  const isRepeated = operation.kind === 'command' && QUERIED.has(operation.output);
  return {
    id,
    operation,
    ...(view && { show: view.show }),
    untrusted,
    entry: {
      name: toolName(operation),
      title,
      description: inToolWords(
        sentences(summary, brief, next && `Next: ${next}`, untrustedNote(untrusted)),
      ),
      inputSchema: toolSchema(operation.input, 'input'),
      ...(!isRepeated && { outputSchema: toolSchema(output, 'published output') }),
      annotations: {
        title,
        readOnlyHint: operation.kind === 'query',
        destructiveHint: operation.destructive === true,
        // A write has an idempotency key, which is performed once.
        idempotentHint: true,
        openWorldHint: operation.openWorld === true,
      },
    },
  };
};

/** The tools in the order of the registry; get_connection is first. */
export const TOOLS: readonly Tool[] = (Object.keys(agentOperations) as OperationId[]).map(toolOf);

const byName = new Map(TOOLS.map((tool) => [tool.entry.name, tool]));

export const toolNamed = (name: string): Tool | undefined => byName.get(name);

/** The tools that a key with these scopes can call. */
export const toolsFor = (scopes: ReadonlySet<string>): Tool[] =>
  TOOLS.filter(({ operation }) => allows(operation.scope, scopes));
