/** The shapes of stored events as JSON Schema, and which change of one keeps every stored event readable. */
import { z } from 'zod';
import { EVENTS, versionOf } from '#contracts/registries/events.ts';

export type Shape = { readonly [key: string]: unknown };
export type Shapes = Readonly<Record<string, Shape & { readonly v: number }>>;

/** The shapes of all events of today, by type, with the version of each. */
export const eventShapes = (
  events: Readonly<Record<string, z.ZodType>> = EVENTS,
  version: (type: string) => number = versionOf,
): Shapes =>
  Object.fromEntries(
    Object.entries(events).map(([type, schema]) => {
      const { $schema: _, ...shape } = z.toJSONSchema(schema);
      return [type, { v: version(type), ...shape }];
    }),
  );

const isObject = (value: unknown): value is Shape => typeof value === 'object' && value !== null;

/**
 * Leaves out of `now` the optional fields that `before` does not have. What is left equals `before` if, and only if, the
 * change is additive: whatever was stored is still read, with the same meaning.
 */
const withoutAdded = (now: unknown, before: unknown): unknown => {
  if (Array.isArray(now) && Array.isArray(before))
    return now.map((item, index) => withoutAdded(item, before[index]));
  if (!isObject(now) || !isObject(before)) return now;
  return Object.fromEntries(
    Object.entries(now).map(([key, value]) => {
      const known = before[key];
      return key === 'properties' && isObject(value) && isObject(known)
        ? [key, keptFields(value, known)]
        : [key, withoutAdded(value, known)];
    }),
  );
};

/** The fields that the earlier shape has, too. A new one that is required shows as a name more in `required`. */
const keptFields = (now: Shape, before: Shape): Shape =>
  Object.fromEntries(
    Object.entries(now)
      .filter(([field]) => Object.hasOwn(before, field))
      .map(([field, shape]) => [field, withoutAdded(shape, before[field])]),
  );

/**
 * The types of `before` as they are now, without what was added to them. A type with a newer version counts as kept, because
 * its data is converted when it is read.
 */
export const keptShapes = (now: Shapes, before: Shapes): Shape =>
  Object.fromEntries(
    Object.entries(before).flatMap(([type, shape]) => {
      const current = now[type];
      if (!current) return [];
      return [[type, current.v > shape.v ? shape : withoutAdded(current, shape)]];
    }),
  );
