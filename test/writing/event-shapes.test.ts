/** Stored events are permanent: the shapes of each released version are still those of today, apart from optional additions. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventShapes, keptShapes, type Shapes } from '../support/source/event-shapes.ts';
import { ROOT } from '../support/source/tree.ts';

const RELEASED = globSync('test/golden/upgrade/events-*.json', { cwd: ROOT }).toSorted();

describe('The stored events of a released version', () => {
  it('The stored events of the first version are kept', () => {
    expect(RELEASED.map((file) => basename(file))).toContain('events-1.0.0.json');
  });

  it.each(RELEASED)(
    'The stored events of a released version have kept every type, field and value: %s',
    (file) => {
      const before = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Shapes;
      expect(Object.keys(before).length).toBeGreaterThan(100);
      expect(keptShapes(eventShapes(), before)).toEqual(before);
    },
  );
});

describe('A change of a stored event', () => {
  const fields = {
    id: z.string(),
    note: z.string().optional(),
    state: z.enum(['open', 'won']),
    lines: z.array(z.object({ quantity: z.number() })),
    price: z.union([z.number(), z.object({ amount: z.number() })]),
  };
  const shapes = (over: object, type = 'Sold', v = 1) =>
    eventShapes({ [type]: z.object({ ...fields, ...over }) }, () => v);
  const { id: _, ...withoutId } = fields;

  it('A change of a stored event may be a new version of its type', () => {
    const before = shapes({});
    expect(keptShapes(shapes({ id: z.number() }, 'Sold', 2), before)).toEqual(before);
  });

  it.each<[string, Shapes]>([
    ['a type', { ...shapes({}), ...shapes({}, 'Bought') }],
    ['an optional field', shapes({ tax: z.number().optional() })],
    [
      'an optional field of an item',
      shapes({ lines: z.array(z.object({ quantity: z.number(), unit: z.string().optional() })) }),
    ],
  ])('A change of a stored event may add %s', (_change, now) => {
    expect(keptShapes(now, shapes({}))).toEqual(shapes({}));
  });

  it.each<[string, Shapes]>([
    ['another name of the type', shapes({}, 'Ordered')],
    ['another name of a field', eventShapes({ Sold: z.object({ ...withoutId, key: fields.id }) })],
    ['a new field that is required', shapes({ tax: z.number() })],
    ['an optional field that is required', shapes({ note: z.string() })],
    ['a required field that is optional', shapes({ id: z.string().optional() })],
    ['another kind of value', shapes({ id: z.number() })],
    ['another value of an enum', shapes({ state: z.enum(['open', 'won', 'lost']) })],
    [
      'another kind of value in an item',
      shapes({ lines: z.array(z.object({ quantity: z.string() })) }),
    ],
    ['another alternative of a union', shapes({ price: z.union([z.number(), z.string()]) })],
  ])('A change of a stored event is refused if it has %s', (_change, now) => {
    expect(keptShapes(now, shapes({}))).not.toEqual(shapes({}));
  });
});
