import { z } from 'zod';
import type { Operation } from '#contracts/operation.ts';

type Kind = 'integer' | 'boolean' | 'array' | 'string';

/** Type of each query field, read from the schema once. */
export const kindsOf = (operation: Pick<Operation, 'input'>): Map<string, Kind> => {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input' });
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const type = typeof schema === 'object' ? schema.type : undefined;
      const isRead = type === 'integer' || type === 'boolean' || type === 'array';
      return [name, isRead ? type : 'string'] as const;
    }),
  );
};

/** Converts a query to the input. A text that cannot be read as the field's type stays text, which the schema refuses. */
export const readQuery = (
  kinds: ReadonlyMap<string, Kind>,
  query: Record<string, unknown>,
): Record<string, unknown> =>
  // Object.fromEntries instead of assignment, which would drop a parameter named __proto__.
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, readValue(kinds.get(name), value)]),
  );

const readValue = (kind: Kind | undefined, value: unknown): unknown => {
  const values = (Array.isArray(value) ? value : [value]) as string[];
  const [first = ''] = values;
  if (kind === 'array') return values.flatMap((text) => text.split(',')).filter(Boolean);
  if (values.length > 1) return values;
  if (kind === 'boolean' && /^(?:true|false)$/.test(first)) return first === 'true';
  return kind === 'integer' && /^-?\d{1,15}$/.test(first) ? Number(first) : first;
};
