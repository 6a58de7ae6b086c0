/** Words of commands, derived from the ids of their operations. */
import type { DeskOperation } from '#contracts/operation.ts';
import type { CommandField } from './fields.ts';
import { verbOf } from './verb-table.ts';

export type Registry = Readonly<Record<string, DeskOperation>>;

/** Returns the words of an operation's command: `pauseLink` is `link pause`, `listLinks` is `link list`. */
export const commandWordsOf = ({ id }: DeskOperation): string => {
  const [verb = '', ...nouns] = id.replaceAll(/[A-Z]/g, ' $&').toLowerCase().split(' ');
  return verbOf(id).words ?? `${nouns.join('-').replace(/(?<=[^s])s$/, '')} ${verb}`.trim();
};

/** Makes a function that rewrites texts of the contract: flags for fields, commands for operations. */
export const localizer =
  (fields: readonly CommandField[], registry: Registry) =>
  (text: string): string =>
    text.replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w+\b/g, (name) => {
      const named = registry[name];
      const field = fields.find((one) => one.name === name);
      return field?.word ?? (named ? `"${commandWordsOf(named)}"` : name);
    });
