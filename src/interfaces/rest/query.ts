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
): Record<string, unknown> => {
  const input: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query)) {
    const values = (Array.isArray(value) ? value : [value]) as string[];
    const kind = kinds.get(name);
    const [first = ''] = values;
    if (kind === 'array') input[name] = values.flatMap((text) => text.split(',')).filter(Boolean);
    else if (values.length > 1) input[name] = values;
    else if (kind === 'integer' && /^-?\d{1,15}$/.test(first)) input[name] = Number(first);
    else input[name] = first;
  }
  return input;
};
