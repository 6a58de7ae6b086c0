import { expect, test } from 'vitest';
import type { EventLog } from '#src/ports/event-log.ts';
import { eventTextOf, NO_STREAM } from '#src/ports/event-log.ts';
import { bound, positionsOf, printOf, several } from './log-events.ts';

/** Reads of the events of one owner. */
export const ownerReads = (log: () => EventLog): void => {
  test('readOwner returns only events of the owner, up to a position inclusively', async () => {
    for (let n = 0; n < 12; n += 1) {
      await log().append(`${['ab', 'abc', 'ABC'][n % 3]}-lead_${n}`, NO_STREAM, [bound(`${n}`)]);
    }
    const own = await log().readOwner('ab', { after: 0, limit: 99 });
    expect(own.map(printOf)).toEqual(['0', '3', '6', '9']);
    const [first, , third] = positionsOf(own);
    const some = await log().readOwner('ab', { after: first ?? 0, limit: 99, upTo: third ?? 0 });
    expect(some.map(printOf)).toEqual(['3', '6']);
    const one = await log().readOwner('ab', { after: first ?? 0, limit: 1 });
    expect(one.map(printOf)).toEqual(['3']);
    expect(await log().readOwner('nobody', { after: 0, limit: 9 })).toEqual([]);
  });

  test('readOwnerFold returns the events of readOwner without attribution', async () => {
    for (let n = 0; n < 12; n += 1) {
      await log().append(`${['ab', 'abc'][n % 2]}-lead_${n}`, NO_STREAM, several(2));
    }
    const [first = 0, , third = 0] = positionsOf(
      await log().readOwner('ab', { after: 0, limit: 9 }),
    );
    for (const range of [
      { after: 0, limit: 99 },
      { after: first, limit: 3 },
      { after: first, limit: 99, upTo: third },
      { after: third, limit: 99, upTo: first },
    ]) {
      const own = await log().readOwner('ab', range);
      const same = own.map(({ id: _id, meta, ...event }) => ({ ...event, at: meta.at }));
      expect(await log().readOwnerFold('ab', range)).toEqual(same);
    }
    expect(await log().readOwnerFold('nobody', { after: 0, limit: 9 })).toEqual([]);
  });

  test('readOwnerText returns the events of readOwner with data and attribution as JSON', async () => {
    for (let n = 0; n < 6; n += 1)
      await log().append(`${['ab', 'abc'][n % 2]}-lead_${n}`, NO_STREAM, several(2));
    const [first = 0, , third = 0] = positionsOf(
      await log().readOwner('ab', { after: 0, limit: 9 }),
    );
    for (const range of [
      { after: 0, limit: 99 },
      { after: first, limit: 2 },
      { after: first, limit: 99, upTo: third },
    ])
      expect(await log().readOwnerText('ab', range)).toEqual(
        (await log().readOwner('ab', range)).map(eventTextOf),
      );
  });

  test('readBack returns the newest events of all or of one owner before any position', async () => {
    for (let n = 0; n < 9; n += 1) {
      await log().append(`${['ab', 'abc', 'ABC'][n % 3]}-lead_${n}`, NO_STREAM, several(2));
    }
    const all = await log().readAll({ after: 0, limit: 99 });
    const { position: head } = await log().head();
    const [first = 0, , , middle = 0] = positionsOf(all);
    const bounds = [first, middle, head].flatMap((at) => [at - 1, at, at + 1]);
    for (const upTo of [0, 1, ...bounds, 2 * head]) {
      const before = all.filter(({ position }) => position <= upTo);
      const own = before.filter(({ owner }) => owner === 'ab');
      for (const limit of [3, 99]) {
        expect(await log().readBack({ upTo, limit })).toEqual(before.slice(-limit));
        expect(await log().readBack({ upTo, limit, owner: 'ab' })).toEqual(own.slice(-limit));
      }
    }
    expect(await log().readBack({ upTo: head, limit: 0 })).toEqual([]);
    expect(await log().readBack({ upTo: head, limit: 9, owner: 'nobody' })).toEqual([]);
  });

  test('readOwner returns the events of an owner across a long log page by page', async () => {
    for (let n = 0; n < 30; n += 1) {
      const filler = log().append(`busy-lead_${n}`, NO_STREAM, several(400));
      await Promise.all([filler, log().append(`rare-lead_${n}`, NO_STREAM, [bound(`${n}`)])]);
    }
    const seen: unknown[] = [];
    for (let after = 0; ; ) {
      const page = await log().readOwner('rare', { after, limit: 7 });
      if (page.length === 0) break;
      seen.push(...page.map(printOf));
      after = page.at(-1)?.position ?? after;
    }
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => `${n}`));
    const { position: upTo } = await log().head();
    const back = await log().readBack({ upTo, limit: 20, owner: 'rare' });
    expect(back.map(printOf)).toEqual(seen.slice(-20));
  });
};
