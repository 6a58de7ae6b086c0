import type { Example } from '#contracts/operation.ts';
import type { NeededScope } from '#contracts/scopes.ts';

/** A table's cell: a bar would end it, a line break the row. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((row) => `| ${row.map(cell).join(' | ')} |`)
    .join('\n');

export const code = (text: string): string => `\`${text}\``;

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

export const json = (value: unknown): string => fence('json', JSON.stringify(value, null, 2));

export const http = (request: string): string => fence('http', request);

export const scopeText = (needed: NeededScope): string =>
  needed === null ? 'any valid key' : [needed].flat().map(code).join(' or ');

/** Ids are made by the service: those of an example belong to the example before it. */
export const afterText = ({ after }: Pick<Example, 'after'>): string =>
  after === undefined ? '' : ` (call ${after} first, and put in what it answered)`;

/** What a page says of a field, as its JSON Schema has it. */
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

const aboutOf = ({ description, default: instead }: Field): string =>
  [description, instead === undefined ? undefined : `Default: ${JSON.stringify(instead)}`]
    .filter((text) => text !== undefined)
    .join('. ');

/** Of a field: its whole name, its type, whether it is needed where it stands, what it is. */
export type FieldRow = readonly [name: string, type: string, needed: string, about: string];

/** The fields of an input and, below each, those inside it: `line_items[].sku`. */
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
  return rows.length === 0 ? 'No fields.' : table(['Field', 'Type', 'Needed', ''], rows);
};
