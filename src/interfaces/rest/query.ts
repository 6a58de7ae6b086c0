import { z } from 'zod';
import type { Operation } from '#contracts/operation.ts';

type Kind = 'integer' | 'array' | 'string';

/** What each field of a query is, so that its text can be read: decided once, from the schema. */
export const kindsOf = (operation: Pick<Operation, 'input'>): Map<string, Kind> => {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input' });
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const type = typeof schema === 'object' ? schema.type : undefined;
      return [name, type === 'integer' || type === 'array' ? type : 'string'] as const;
    }),
  );
};

/**
 * A query as the flat input. Text is read by the field's own type and nothing else: what does not
 * read stays text, and the schema refuses it by name.
 */
export const readQuery = (
  kinds: ReadonlyMap<string, Kind>,
  query: Record<string, unknown>,
): Record<string, unknown> =>
  // Not by assignment: a parameter named __proto__ would go unseen.
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, readValue(kinds.get(name), value)]),
  );

const readValue = (kind: Kind | undefined, value: unknown): unknown => {
  const values = (Array.isArray(value) ? value : [value]) as string[];
  const [first = ''] = values;
  if (kind === 'array') return values.flatMap((text) => text.split(',')).filter(Boolean);
  if (values.length > 1) return values;
  return kind === 'integer' && /^-?\d{1,15}$/.test(first) ? Number(first) : first;
};
