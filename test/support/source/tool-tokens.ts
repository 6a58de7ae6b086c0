/** Counts of tokens of what tools cost a language model, by the encoding o200k_base (gpt-tokenizer). */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { connectionExample } from '#contracts/examples/records.ts';
import { connection } from '#contracts/access/records.ts';
import { connectionForTools, TOOLS, type ToolEntry } from '#src/interfaces/mcp/tools.ts';

/** The most that each count may be. */
export const TOKENS_MAX = { average: 420, model: 7_500, wire: 14_000, connection: 700 };

const tokensOf = (value: unknown): number => countTokens(JSON.stringify(value));

/** What frameworks show a model of a tool. */
const shownOf = ({ name, description, inputSchema }: ToolEntry): object => ({
  name,
  description,
  inputSchema,
});

/**
 * `model` and `average`: name, description and input of the tools, as a model sees them; `wire`: the whole tools/list;
 * `connection`: the answer of get_connection.
 */
export const toolTokens = (): Record<keyof typeof TOKENS_MAX, number> => {
  const entries = TOOLS.map(({ entry }) => entry);
  const model = entries.reduce((sum, entry) => sum + tokensOf(shownOf(entry)), 0);
  return {
    average: model / entries.length,
    model,
    wire: tokensOf({ tools: entries }),
    connection: tokensOf(connectionForTools(connection.parse(connectionExample))),
  };
};
