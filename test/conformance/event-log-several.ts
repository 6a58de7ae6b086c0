import { expect, test } from 'vitest';
import type { Append, EventLog, Expected } from '#src/ports/event-log.ts';
import { NO_STREAM, StreamAdvanced } from '#src/ports/event-log.ts';
import { bound, positionsOf, printOf, several } from './log-events.ts';

const STREAMS = ['claims-lead_1', 'anna-request_1', 'anna-lead_1'] as const;

/** Appends to new streams, in the order of STREAMS. */
const creations = (expected: Expected = NO_STREAM): Append[] =>
  STREAMS.map((stream, n) => ({ stream, expected, events: several(n + 1) }));

/** Appends to several streams by one call. */
export const severalStreams = (log: () => EventLog): void => {
  const lengths = async (): Promise<number[]> => {
    const streams = await Promise.all(STREAMS.map((stream) => log().readStream(stream)));
    return streams.map(({ length }) => length);
  };

  test('Appends to several streams are written in their order and answered with the last one', async () => {
    const result = await log().appendAll(creations());
    const all = await log().readAll({ after: 0, limit: 9 });
    expect(all.map(({ stream }) => stream)).toEqual(
      STREAMS.flatMap((stream, n) => new Array<string>(n + 1).fill(stream)),
    );
    expect(all.map(({ revision }) => revision)).toEqual([0, 0, 1, 0, 1, 2]);
    const position = positionsOf(all).at(-1);
    expect(result).toEqual({ outcome: 'appended', revision: 2, position });
    const next = STREAMS.map((stream, n) => ({ stream, expected: n, events: several(1) }));
    expect(await log().appendAll(next)).toMatchObject({ outcome: 'appended', revision: 3 });
    expect(await lengths()).toEqual([2, 3, 4]);
  });

  test('A conflict on the first of several streams writes nothing', async () => {
    await log().append(STREAMS[0], NO_STREAM, several(1));
    expect(await log().appendAll(creations())).toEqual({ outcome: 'conflict' });
    expect(await lengths()).toEqual([1, 0, 0]);
  });

  test('A conflict on a later stream writes nothing after it, and says whether it wrote something before', async () => {
    await log().append(STREAMS[1], NO_STREAM, several(1));
    const result = await log().appendAll(creations());
    if (result.outcome !== 'conflict') throw new Error('the append conflicts with none');
    expect(await lengths()).toEqual([result.isPartial ? 1 : 0, 1, 0]);
  });

  test('One of two concurrent calls with a stream in common is written whole, and the other not at all', async () => {
    const claim = (lead: string): Append[] =>
      ['claims-lead_1', lead].map((stream) => ({
        stream,
        expected: NO_STREAM,
        events: several(1),
      }));
    const results = await Promise.all([
      log().appendAll(claim('anna-lead_1')),
      log().appendAll(claim('bo-lead_1')),
    ]);
    expect(results).toMatchObject([{ outcome: 'appended' }, { outcome: 'conflict' }]);
    expect(await log().readStream('claims-lead_1')).toHaveLength(1);
    expect(await log().readStream('bo-lead_1')).toEqual([]);
  });

  test('A repetition of a call with several streams gets the original answer and changes nothing', async () => {
    const appends = creations();
    const original = await log().appendAll(appends);
    await log().append(STREAMS[0], 0, several(1));
    expect(await log().appendAll(appends)).toEqual(original);
    const twice = creations().map((append) => ({ ...append, stream: `${append.stream}-2` }));
    const [one, two] = await Promise.all([log().appendAll(twice), log().appendAll(twice)]);
    expect(one).toEqual(two);
    expect(await lengths()).toEqual([2, 2, 3]);
  });

  test('A call that stopped after any of its appends is completed by its repetition, and doubles nothing', async () => {
    for (const [count, name] of ['none', 'one', 'two'].entries()) {
      const appends = creations().map((append) => ({
        ...append,
        stream: `${append.stream}${name}`,
      }));
      const stopping = appends.map((append, n) => ({
        ...append,
        expected: {
          revision: NO_STREAM,
          unchanged: [],
          // A log on a server calls it right before each append; an embedded log stops nowhere.
          confirm: () => (n < count ? Promise.resolve() : Promise.reject(new Error('stopped'))),
        },
      }));
      const stopped = await log()
        .appendAll(stopping)
        .catch((error: unknown) => error);
      const streams = () => Promise.all(appends.map(({ stream }) => log().readStream(stream)));
      const before = (await streams()).map(({ length }) => length);
      const isServer = stopped instanceof Error;
      expect(before).toEqual([1, 2, 3].map((length, n) => (isServer && n >= count ? 0 : length)));
      expect(await log().appendAll(appends)).toMatchObject({ outcome: 'appended', revision: 2 });
      expect((await streams()).map((events) => events.map(printOf))).toEqual([
        ['f0'],
        ['f0', 'f1'],
        ['f0', 'f1', 'f2'],
      ]);
    }
  });

  test('A call for several streams of which one is stored already writes the others', async () => {
    const appends = creations();
    const [first] = appends;
    if (first) await log().append(first.stream, first.expected, first.events);
    expect(await log().appendAll(appends)).toMatchObject({ outcome: 'appended', revision: 2 });
    expect(await lengths()).toEqual([1, 2, 3]);
  });

  test('A condition of a later append that does not hold keeps an embedded log from writing any', async () => {
    await log().append('anna-key_1', NO_STREAM, several(2));
    let isServer = false;
    const expected = {
      revision: NO_STREAM,
      unchanged: [{ stream: 'anna-key_1', revision: 0 }],
      confirm: async () => void (isServer = true),
    };
    const [first, ...others] = creations();
    if (!first) throw new Error('there are no appends');
    const conditional = others.map((append) => ({ ...append, expected }));
    const result = await log()
      .appendAll([first, ...conditional])
      .catch((error: unknown) => error);
    if (isServer) return;
    expect(result).toBeInstanceOf(StreamAdvanced);
    expect(await lengths()).toEqual([0, 0, 0]);
  });

  test('An invalid append, a stream that is named twice, or an empty list is refused, and nothing is written', async () => {
    const [first, second, third] = creations();
    if (!first || !second || !third) throw new Error('there are no appends');
    const wrong = { ...third, events: [{ ...bound('a'), type: 'LinkDreamt' }] };
    for (const appends of [
      [first, second, wrong],
      [first, { ...second, stream: first.stream }],
      [],
    ])
      await expect(log().appendAll(appends)).rejects.toBeInstanceOf(TypeError);
    expect(await log().readFold({ after: 0, limit: 1 })).toEqual([]);
  });
};
