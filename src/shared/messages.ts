/** The texts of buyers' pages and letters, by language. A text that a language lacks does not compile. */
import { de } from './messages/de.ts';
import { en } from './messages/en.ts';

type English = typeof en;
export type MessageKey = keyof English;

type Plural = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** What a file of texts has. */
export type Messages = {
  readonly [Key in MessageKey]: English[Key] extends string ? string : Plural;
};

/** One file of texts for each language. */
export const LANGUAGES = { en, de } as const satisfies Record<string, Messages>;

/** The language in which texts are written for a locale. */
export const languageOf = (locale: string): keyof typeof LANGUAGES =>
  /^de(?:-|$)/i.test(locale) ? 'de' : 'en';

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The values of a text, by name; `count` is a number, which the text shows as its language writes it. */
export type ValuesOf<Key extends MessageKey, Value = string> = English[Key] extends string
  ? Record<NamesIn<English[Key]>, Value>
  : English[Key] extends { other: infer Text extends string }
    ? { count: number } & Record<Exclude<NamesIn<Text>, 'count'>, Value>
    : never;

/** The values can be left out if the text has none. */
export type ValuesIf<Key extends MessageKey, Value = string> = [
  keyof ValuesOf<Key, Value>,
] extends [never]
  ? []
  : [values: ValuesOf<Key, Value>];

const VALUE = /\{([a-z_]+)\}/;

/** A text as its parts: texts at even places, names of values at odd ones. */
export const messageParts = (
  messages: Messages,
  key: MessageKey,
  { count, rules }: { count: number | undefined; rules: Intl.PluralRules },
): string[] => {
  const message: string | Plural = messages[key];
  if (typeof message === 'string') return message.split(VALUE);
  if (count === undefined) throw new Error(`${key} needs a count`);
  return (message[rules.select(count)] ?? message.other).split(VALUE);
};
