/** Parts of documents in Markdown. */
import type { Example } from '#contracts/operation.ts';
import type { NeededScope } from '#contracts/scopes.ts';

/** Escapes a table cell: a bar would end the cell, and a line break the row. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((row) => `| ${row.map(cell).join(' | ')} |`)
    .join('\n');

export const code = (text: string): string => `\`${text}\``;

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

export const json = (value: unknown): string => fence('json', JSON.stringify(value, null, 2));

export const http = (request: string): string => fence('http', request);

export const typescript = (source: string): string => fence('ts', source.trim());

export const mermaid = (lines: readonly string[]): string => fence('mermaid', lines.join('\n'));

export const scopeText = (needed: NeededScope): string =>
  needed === null ? 'any valid key' : [needed].flat().map(code).join(' or ');

/** Tells the reader of an example which call to make before: the service chooses the ids that the example needs. */
export const afterText = ({ after }: Pick<Example, 'after'>): string =>
  after === undefined ? '' : ` (call ${after} first, and put in what it answered)`;

/** The part of a field's JSON Schema that a page shows. */
export type Field = {
  type?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Field[];
  items?: Field;
  description?: string;
  default?: unknown;
} & Fields;

export type Fields = { properties?: Record<string, Field>; required?: string[] };

const typeOf = ({ type, format, const: only, enum: choices, anyOf, items }: Field): string => {
  if (only !== undefined) return JSON.stringify(only);
  if (choices) return choices.map((choice) => JSON.stringify(choice)).join(' or ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (type === 'array' && items) return `list of ${typeOf(items)}`;
  return format !== undefined && type === 'string' ? `string (${format})` : (type ?? 'any');
};

const aboutOf = ({ description, default: byDefault }: Field): string =>
  [description, byDefault === undefined ? undefined : `Default: ${JSON.stringify(byDefault)}`]
    .filter((text) => text !== undefined)
    .join('. ');

/** A field with its full name; `needed` is 'yes' if its object requires it. */
export type FieldRow = readonly [name: string, type: string, needed: string, about: string];

/** Lists the fields of an input, each followed by the fields inside it: `line_items[].sku`. */
export const fieldRows = ({ properties = {}, required = [] }: Fields, within = ''): FieldRow[] =>
  Object.entries(properties).flatMap(([name, field]) => {
    const path = within + name;
    const needed = required.includes(name) ? 'yes' : '';
    return [
      [path, typeOf(field), needed, aboutOf(field)] as const,
      ...fieldRows(field, `${path}.`),
      ...fieldRows(field.items ?? {}, `${path}[].`),
    ];
  });

export const fieldsTable = (fields: Fields): string => {
  const rows = fieldRows(fields).map(([name, ...rest]) => [code(name), ...rest]);
  return rows.length === 0 ? 'No fields.' : table(['Field', 'Type', 'Needed', 'Meaning'], rows);
};
