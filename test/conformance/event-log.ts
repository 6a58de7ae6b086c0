/** The definition of the port `EventLog`. Every adapter passes all of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EventLog, Meta, NewEvent, StoredEvent } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { bound, follow, metaAt, positionsOf, printOf, several } from './log-events.ts';
import { conditions } from './event-log-conditions.ts';
import { ownerReads } from './event-log-owners.ts';
import { severalStreams } from './event-log-several.ts';
import { subscriptions } from './event-log-subscribe.ts';

export type LogUnderTest = {
  log: EventLog;
  /** Reopens the log after its process ended properly. Absent if the log does not survive its process. */
  reopen?: () => Promise<EventLog>;
  cleanup(): Promise<void>;
};

const readEverything = async (log: EventLog, limit: number): Promise<StoredEvent[]> => {
  const all: StoredEvent[] = [];
  for (let after = 0; ; ) {
    const page = await log.readAll({ after, limit });
    if (page.length === 0) return all;
    all.push(...page);
    after = page.at(-1)?.position ?? after;
  }
};

const appendRules = (log: () => EventLog): void => {
  test('A new stream begins at revision 0 and is read as it was written', async () => {
    const event = bound('a');
    const result = await log().append('anna-lead_1', NO_STREAM, [event]);
    expect(result).toMatchObject({ outcome: 'appended', revision: 0 });
    const place = { stream: 'anna-lead_1', owner: 'anna', revision: 0 };
    expect(await log().readStream('anna-lead_1')).toMatchObject([{ ...event, ...place }]);
    expect(await log().readStream('anna-lead_2')).toEqual([]);
  });

  test('Appends at a wrong revision and repeated creations conflict and write nothing', async () => {
    await log().append('anna-lead_1', NO_STREAM, several(2));
    for (const expected of [NO_STREAM, 0, 2, 9]) {
      expect(await log().append('anna-lead_1', expected, several(1))).toEqual({
        outcome: 'conflict',
      });
    }
    expect(await log().append('anna-lead_2', 0, several(1))).toEqual({ outcome: 'conflict' });
    expect(await log().readStream('anna-lead_1')).toHaveLength(2);
    expect(await log().readStream('anna-lead_2')).toEqual([]);
  });

  test('The next revision is appended, and a stream is read from any revision on', async () => {
    await log().append('anna-lead_1', NO_STREAM, several(3));
    const next = await log().append('anna-lead_1', 2, several(2));
    expect(next).toMatchObject({ outcome: 'appended', revision: 4 });
    const tail = await log().readStream('anna-lead_1', 3);
    expect(tail.map((event) => event.revision)).toEqual([3, 4]);
    expect(await log().readStream('anna-lead_1', 5)).toEqual([]);
    expect(await log().readStream('anna-lead_1', 3, 1)).toEqual(tail.slice(0, 1));
  });

  test('One of 16 concurrent writers succeeds at each revision', async () => {
    for (const expected of [NO_STREAM, 0, 1]) {
      const racing = Array.from({ length: 16 }, () =>
        log().append('anna-lead_1', expected, several(1)),
      );
      const results = await Promise.all(racing);
      expect(results.filter((result) => result.outcome === 'appended')).toHaveLength(1);
    }
    expect(await log().readStream('anna-lead_1')).toHaveLength(3);
  });

  test('Concurrent appends to one stream are decided in order', async () => {
    const results = await Promise.all([
      log().append('anna-lead_1', NO_STREAM, several(2)),
      log().append('anna-lead_1', 1, several(1)),
      log().append('anna-lead_1', 1, several(1)),
      log().append('anna-lead_1', 2, several(1)),
    ]);
    const outcomes = results.map((result) =>
      result.outcome === 'appended' ? result.revision : null,
    );
    expect(outcomes).toEqual([1, 2, null, 3]);
  });

  test('A repetition with the same ids gets the original answer and changes nothing', async () => {
    const first = several(2);
    const second = several(2);
    const original = await log().append('anna-lead_1', NO_STREAM, first);
    const later = await log().append('anna-lead_1', 1, second);
    await log().append('anna-lead_1', 3, several(1));
    expect(await log().append('anna-lead_1', NO_STREAM, first)).toEqual(original);
    expect(await log().append('anna-lead_1', 1, second)).toEqual(later);
    const [id0, id1] = second.map((event) => event.id);
    const other = [bound('other body', id0), bound('other body', id1)];
    expect(await log().append('anna-lead_1', 1, other)).toEqual(later);
    expect((await log().readStream('anna-lead_1')).map(printOf)).toEqual([
      'f0',
      'f1',
      'f0',
      'f1',
      'f0',
    ]);
  });

  test('The answer has revision and position of the last event', async () => {
    const events = several(3);
    const result = await log().append('anna-lead_1', NO_STREAM, events);
    const last = (await log().readStream('anna-lead_1')).at(-1);
    expect(result).toEqual({ outcome: 'appended', revision: 2, position: last?.position });
    expect(await log().append('anna-lead_1', NO_STREAM, events)).toEqual(result);
    expect(positionsOf(await log().readAll({ after: 0, limit: 9 })).at(-1)).toBe(last?.position);
  });

  test('Two concurrent appends with the same ids are stored once', async () => {
    const events = several(2);
    const [one, two] = await Promise.all([
      log().append('anna-lead_1', NO_STREAM, events),
      log().append('anna-lead_1', NO_STREAM, events),
    ]);
    expect(one).toEqual(two);
    expect(await log().readStream('anna-lead_1')).toHaveLength(2);
  });

  test('An append with some stored ids conflicts, but a prefix of a stored append does not', async () => {
    const [a, b, c] = [bound('a'), bound('b'), bound('c')];
    await log().append('anna-lead_1', NO_STREAM, [a, b]);
    for (const events of [[a, c], [c, b], [b, a], [a, b, c], [b]]) {
      expect(await log().append('anna-lead_1', NO_STREAM, events)).toEqual({ outcome: 'conflict' });
    }
    const prefix = await log().append('anna-lead_1', NO_STREAM, [a]);
    expect(prefix).toMatchObject({ outcome: 'appended', revision: 0 });
    expect(await log().readStream('anna-lead_1')).toHaveLength(2);
  });

  test('All events of an append are stored, or none', async () => {
    const wrong = { ...bound('b'), data: { stream: 1 } };
    const unknown = { ...bound('c'), type: 'LinkDreamt' };
    for (const bad of [wrong, unknown]) {
      const attempt = log().append('anna-lead_1', NO_STREAM, [bound('a'), bad]);
      await expect(attempt).rejects.toBeInstanceOf(TypeError);
    }
    await expect(log().append('anna-lead_1', NO_STREAM, [])).rejects.toBeInstanceOf(TypeError);
    expect(await log().readFold({ after: 0, limit: 1 })).toEqual([]);
    await log().append('anna-lead_1', NO_STREAM, several(50));
    expect(await log().readStream('anna-lead_1')).toHaveLength(50);
  });
};

const contents = (log: () => EventLog): void => {
  test('Attribution is read byte for byte as it was written', async () => {
    const meta: Meta = {
      ...metaAt(1_712_345_678_901),
      key: 'key_1',
      scope: 'leads:write',
      correlation: 'ü "quoted" \\ \u2028',
      cause: { stream: 'anna-lead_1', id: 'an id' },
      idem: 'a'.repeat(64),
      fingerprint: 'f',
    };
    await log().append('anna-lead_1', NO_STREAM, [{ ...bound('a'), meta }]);
    const [stored] = await log().readStream('anna-lead_1');
    expect(JSON.stringify(stored?.meta)).toBe(JSON.stringify(meta));
    expect(await log().head()).toMatchObject({ at: meta.at });
  });

  test('Large, unusual and Unicode payloads are read as they were written, but half a surrogate pair as U+FFFD', async () => {
    const texts = [
      '',
      'x'.repeat(900_000),
      'a\u0000b',
      '💶 ß 漢字 e\u0301',
      '\u2028\n\r\t"\'\\',
      '\ud800',
    ];
    const events = texts.map((text) => bound(text));
    await log().append('anna-lead_1', NO_STREAM, events);
    const stored = await log().readStream('anna-lead_1');
    expect(stored.map(printOf)).toEqual(texts.map((text) => text.toWellFormed()));
    const folded = await log().readFold({ after: 0, limit: 100 });
    expect(folded.map((event) => event.data)).toEqual(stored.map((event) => event.data));
  });

  test('An event with a member that its schema does not declare is refused', async () => {
    for (const member of ['"agent":"agt_1"', '"__proto__":{"a":1}']) {
      const data = JSON.parse(`{"stream":"s","fingerprint":"f",${member}}`);
      const attempt = log().append('anna-lead_1', NO_STREAM, [{ ...bound('s'), data }]);
      await expect(attempt).rejects.toThrow(/its schema does not declare (?:agent|__proto__)/);
    }
    expect(await log().readStream('anna-lead_1')).toEqual([]);
  });

  test('An event over the size limit is refused', async () => {
    const attempt = log().append('anna-lead_1', NO_STREAM, [bound('x'.repeat(1_048_577))]);
    await expect(attempt).rejects.toThrow(/bytes/);
  });

  test('A stream name can have further dashes and any letters', async () => {
    const names = [
      'anna-lead_1-2-3',
      'anna-lead_1',
      'ann-a-lead_1',
      'zoë-lead_漢字',
      'o\'b-x"y\\z',
    ];
    for (const name of names) await log().append(name, NO_STREAM, [bound(name)]);
    for (const name of names) expect((await log().readStream(name)).map(printOf)).toEqual([name]);
    const owners = (await log().readAll({ after: 0, limit: 10 })).map((event) => event.owner);
    expect(owners).toEqual(['anna', 'anna', 'ann', 'zoë', "o'b"]);
    for (const name of ['anna', '$sys-x', '-x', 'anna-', 'a\nb-x', '\ud800-x']) {
      await expect(log().append(name, NO_STREAM, several(1))).rejects.toBeInstanceOf(TypeError);
    }
  });
};

const reads = (log: () => EventLog): void => {
  test('All streams have one rising order, which pages of any size show', async () => {
    const owners = ['anna', 'ann', 'bo'];
    const appends = Array.from({ length: 60 }, (_, n) =>
      log().append(`${owners[n % 3]}-lead_${n}`, NO_STREAM, several(1 + (n % 3))),
    );
    await Promise.all(appends);
    const all = await readEverything(log(), 1_000);
    const positions = positionsOf(all);
    expect(positions).toHaveLength(120);
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
    expect(await log().head()).toMatchObject({ position: positions.at(-1) });
    for (const limit of [1, 7, 119]) expect(await readEverything(log(), limit)).toEqual(all);
    const folded = await log().readFold({ after: 0, limit: 1_000 });
    const same = all.map(({ id: _id, meta, ...event }) => ({ ...event, at: meta.at }));
    expect(folded).toEqual(same);
  });

  test('A cursor is exclusive, and no event follows the head', async () => {
    await log().append('anna-lead_1', NO_STREAM, several(3));
    const [first, second, third] = positionsOf(await log().readAll({ after: 0, limit: 10 }));
    const after = first ?? 0;
    expect(positionsOf(await log().readAll({ after, limit: 10 }))).toEqual([second, third]);
    expect(positionsOf(await log().readAll({ after, limit: 1 }))).toEqual([second]);
    expect(positionsOf(await log().readFold({ after, limit: 1 }))).toEqual([second]);
    expect(await log().readAll({ after: third ?? 0, limit: 10 })).toEqual([]);
    expect(await log().readFold({ after: third ?? 0, limit: 10 })).toEqual([]);
  });

  test('A cursor can be any number', async () => {
    for (const n of [1, 2, 3]) await log().append(`anna-lead_${n}`, NO_STREAM, several(2));
    const all = await log().readAll({ after: 0, limit: 10 });
    const { position: head } = await log().head();
    for (const after of [...positionsOf(all).flatMap((at) => [at - 1, at + 1]), head + 100]) {
      const later = all.filter(({ position }) => position > after);
      expect(await log().readAll({ after, limit: 10 })).toEqual(later);
      expect(await log().readOwner('anna', { after, limit: 10 })).toEqual(later);
    }
  });

  test('readAll returns only events of the given types', async () => {
    const claim = { code: 'c', link_id: 'l', owner_id: 'anna' };
    const other: NewEvent = { ...bound(''), type: 'CodeClaimed', data: claim };
    await log().append('anna-lead_1', NO_STREAM, [bound('a'), other, bound('b')]);
    const claimed = await log().readAll({
      after: 0,
      limit: 1,
      types: ['CodeClaimed', 'LinkCreated'],
    });
    expect(claimed.map((event) => event.type)).toEqual(['CodeClaimed']);
    const rest = await log().readAll({ after: 0, limit: 9, types: ['RequestBound'] });
    expect(rest.map(printOf)).toEqual(['a', 'b']);
    expect(await log().readAll({ after: 0, limit: 9, types: [] })).toEqual([]);
  });

  test('An empty log returns no events', async () => {
    expect(await log().readAll({ after: 0, limit: 9 })).toEqual([]);
    expect(await log().readFold({ after: 0, limit: 9 })).toEqual([]);
    expect(await log().readBack({ upTo: 9, limit: 9 })).toEqual([]);
  });
};

const endings = (under: () => LogUnderTest): void => {
  test('`close` ends subscriptions and refuses later calls, and a second close does nothing', async () => {
    const { log } = under();
    const reader = follow(log, 0, (item) => {
      if (item.kind === 'caughtUp') setImmediate(() => void log.close());
      return false;
    });
    expect((await reader).items.at(-1)?.kind).toBe('caughtUp');
    await log.close();
    const attempt = log.append('anna-lead_1', NO_STREAM, several(1));
    await expect(attempt).rejects.toMatchObject({ reason: 'closed', applied: 'no' });
    await expect(log.readAll({ after: 0, limit: 1 })).rejects.toBeInstanceOf(LogUnavailable);
    expect((await follow(log, 0, () => true)).items).toEqual([]);
  });

  test('An append before close is answered', async () => {
    const { log } = under();
    const appends = Array.from({ length: 1_000 }, (_, n) =>
      log.append(`anna-l_${n}`, NO_STREAM, several(1)),
    );
    const closed = log.close();
    const results = await Promise.all(appends);
    expect(results.every((result) => result.outcome === 'appended')).toBe(true);
    await closed;
  });

  test('A reopened log is the same log and continues at its head', async (context) => {
    const { log, reopen } = under();
    if (!reopen) return context.skip('nothing outlives the process');
    for (let n = 0; n < 30; n += 1) await log.append(`anna-lead_${n}`, NO_STREAM, several(2));
    const all = await log.readAll({ after: 0, limit: 99 });
    const resume = all[40]?.position ?? 0;
    await log.close();
    const again = await reopen();
    expect(again.id).toBe(log.id);
    expect(await again.readAll({ after: 0, limit: 99 })).toEqual(all);
    const { events } = await follow(again, resume, (item) => item.kind === 'caughtUp');
    expect(positionsOf(events)).toEqual(positionsOf(all.slice(41)));
    expect(await again.append('anna-lead_7', NO_STREAM, several(1))).toEqual({
      outcome: 'conflict',
    });
    const next = await again.append('anna-lead_7', 1, several(1));
    expect(next).toMatchObject({ outcome: 'appended', revision: 2 });
    await again.close();
  });
};

export const eventLogConformance = (
  name: string,
  make: () => Promise<LogUnderTest>,
  more: (log: () => EventLog) => void = () => {},
): void => {
  describe(`event log: ${name}`, () => {
    let under: LogUnderTest;
    beforeEach(async () => {
      under = await make();
    });
    afterEach(() => under.cleanup());
    const log = (): EventLog => under.log;
    describe('append', () => {
      appendRules(log);
    });
    describe('contents', () => {
      contents(log);
    });
    describe('several streams', () => {
      severalStreams(log);
    });
    describe('reads', () => {
      reads(log);
      ownerReads(log);
    });
    describe('subscribe', () => {
      conditions(log);
      subscriptions(log);
    });
    describe('close and reopen', () => {
      endings(() => under);
    });
    more(log);
  });
};
