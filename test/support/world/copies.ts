/** Many records at little cost: copies of the events of one that was made as every other is. */
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import type { TestApp } from './app.ts';
import { settled } from './browsing.ts';

const AT_ONCE = 500;
/** Digits of ids: neither a look-alike nor a vowel. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const NUMBER_CHARS = 4;

/** A number as the last characters of an id. */
const numbered = (number: number): string =>
  Array.from({ length: NUMBER_CHARS }, (_, at) => DIGITS[(number >> (5 * at)) & 31])
    .toReversed()
    .join('');

/**
 * Appends `count` copies of the events of `stream`, each as a record of its own. `change`: edits the JSON of a copy, in which the
 * id has been replaced.
 */
export const appendCopies = async (
  app: TestApp,
  { stream, count }: { stream: string; count: number },
  change: (json: string, number: number) => string = (json) => json,
): Promise<void> => {
  const { log, ids } = app.service.deps;
  const events = await log.readStream(stream);
  const id = stream.slice(stream.lastIndexOf('_') + 1);
  const copy = (number: number): Append => {
    const other = id.slice(0, -NUMBER_CHARS) + numbered(number);
    const named = (text: string): string => change(text.replaceAll(id, other), number);
    return {
      stream: named(stream),
      expected: NO_STREAM,
      events: events.map(({ type, data, meta: { idem: _own, ...meta } }) => ({
        id: ids.uuid(),
        type,
        data: JSON.parse(named(JSON.stringify(data))) as object,
        meta: { ...(JSON.parse(named(JSON.stringify(meta))) as typeof meta), request: ids.uuid() },
      })),
    };
  };
  const copies = Array.from({ length: count }, (_, number) => copy(number));
  for (let from = 0; from < count; from += AT_ONCE)
    await log.appendAll(copies.slice(from, from + AT_ONCE));
  await settled(app);
};
