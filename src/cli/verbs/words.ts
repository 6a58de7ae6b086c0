/** Words of commands, derived from the ids of their operations. */
import type { DeskOperation } from '#contracts/operation.ts';
import { commandFieldsOf } from './fields.ts';
import { verbOf } from './verb-table.ts';

export type Registry = Readonly<Record<string, DeskOperation>>;

/** Returns the words of an operation's command: `pauseLink` is `link pause`, `listLinks` is `link list`. */
export const commandWordsOf = ({ id }: DeskOperation): string => {
  const [verb = '', ...nouns] = id.replaceAll(/[A-Z]/g, ' $&').toLowerCase().split(' ');
  return verbOf(id).words ?? `${nouns.join('-').replace(/(?<=[^s])s$/, '')} ${verb}`.trim();
};

/** Rewrites a text of the contract for the command line: flags for fields, commands for operations. */
export const localize = (text: string, operation: DeskOperation, registry: Registry): string => {
  const fields = new Map(commandFieldsOf(operation).map(({ name, word }) => [name, word]));
  return text.replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w+\b/g, (name) => {
    const named = registry[name];
    return fields.get(name) ?? (named ? `"${commandWordsOf(named)}"` : name);
  });
};
