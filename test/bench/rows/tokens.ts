/** T: tokens that the tools cost a language model. */
import { TOKENS_MAX, toolTokens } from '../../support/source/tool-tokens.ts';
import type { Bench } from '../bench.ts';
import { rowOf } from '../table.ts';

const WHAT = {
  average: 'tokens (o200k_base) of a tool that a model sees, on average',
  model: '  of all tools that a model sees',
  wire: '  of tools/list as it is sent',
  connection: '  of the answer of get_connection',
};

export const benchTokens: Bench = async () => {
  const counts = toolTokens();
  return (['average', 'model', 'wire', 'connection'] as const).map((name) =>
    rowOf(
      { id: 'T', what: WHAT[name], value: counts[name], unit: 'count' },
      { of: 'value', atMost: TOKENS_MAX[name] },
    ),
  );
};
