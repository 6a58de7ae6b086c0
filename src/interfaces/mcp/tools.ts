import { agentOperations, type OperationId } from '#contracts/index.ts';
import type { ToolOperation } from '#contracts/operation.ts';
import { toolName } from '#contracts/places.ts';
import { allows } from '#contracts/scopes.ts';
import { type Schema, toolSchema } from './schema.ts';
import { untrustedIn } from './untrusted.ts';
import { inToolWords, titleOf, UNTRUSTED_NOTE } from './wording.ts';

/** A tool as tools/list shows it. */
export type ToolEntry = {
  name: string;
  title: string;
  description: string;
  inputSchema: Schema;
  outputSchema: Schema;
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
  /** JSON Pointers of the result's fields with text that others wrote. */
  untrusted: readonly string[];
};

const sentences = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined)
    .map((part) => (/[.!?]$/.test(part) ? part : `${part}.`))
    .join(' ');

const toolOf = (id: OperationId): Tool => {
  const operation: ToolOperation = agentOperations[id];
  const outputSchema = toolSchema(operation.output, 'output');
  const untrusted = untrustedIn(outputSchema);
  const title = titleOf(id);
  const note = untrusted.length > 0 ? UNTRUSTED_NOTE : undefined;
  const { summary, guidance, next } = operation;
  return {
    id,
    operation,
    untrusted,
    entry: {
      name: toolName(operation),
      title,
      description: inToolWords(sentences(summary, guidance, next && `Next: ${next}`, note)),
      inputSchema: toolSchema(operation.input, 'input'),
      outputSchema,
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
