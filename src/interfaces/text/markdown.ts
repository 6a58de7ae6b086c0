import type { NeededScope } from '#contracts/scopes.ts';

/** A table's cell: a bar would end it, a line break the row. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((row) => `| ${row.map(cell).join(' | ')} |`)
    .join('\n');

export const code = (text: string): string => `\`${text}\``;

export const json = (value: unknown): string =>
  `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

export const scopeText = (needed: NeededScope): string =>
  needed === null ? 'any valid key' : [needed].flat().map(code).join(' or ');

type Field = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Field[];
  items?: Field;
  description?: string;
  default?: unknown;
};

type Fields = { properties?: Record<string, Field>; required?: string[] };

const typeOf = ({ type, const: only, enum: choices, anyOf, items }: Field): string => {
  if (only !== undefined) return JSON.stringify(only);
  if (choices) return choices.map((choice) => JSON.stringify(choice)).join(' or ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  return type === 'array' && items ? `list of ${typeOf(items)}` : (type ?? 'any');
};

/** The fields of an input, as its JSON Schema has them. */
export const fieldsTable = ({ properties = {}, required = [] }: Fields): string => {
  const rows = Object.entries(properties).map(([name, field]) => [
    code(name),
    typeOf(field),
    required.includes(name) ? 'yes' : '',
    [
      field.description,
      field.default === undefined ? undefined : `Default: ${JSON.stringify(field.default)}`,
    ]
      .filter((text) => text !== undefined)
      .join('. '),
  ]);
  return rows.length === 0 ? 'No fields.' : table(['Field', 'Type', 'Needed', ''], rows);
};
