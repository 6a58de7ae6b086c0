/** What a remote log guarantees when its server restarts while it is used. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EventLog, type FoldEvent, NO_STREAM } from '#src/ports/event-log.ts';
import { bound, follow, positionsOf, printOf } from './log-events.ts';

export type ServerUnderTest = {
  open(): Promise<EventLog>;
  /** Stops the server and starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

const WRITERS = 32;
const EACH = 40;

export const restartConformance = (name: string, start: () => Promise<ServerUnderTest>): void => {
  describe(`event log: ${name}, restarted while it is used`, () => {
    let server: ServerUnderTest;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server?.stop());

    test('Every append is stored once, and a subscriber sees each once and in order', async () => {
      const log = await server.open();
      const total = WRITERS * EACH;
      let stored = 0;
      let restarted: Promise<void> | undefined;
      const writer = async (w: number): Promise<void> => {
        for (let n = 0; n < EACH; n += 1) {
          const result = await log.append(`anna-lead_${w}-${n}`, NO_STREAM, [bound(`${w}-${n}`)]);
          expect(result).toMatchObject({ outcome: 'appended', revision: 0 });
          stored += 1;
          if (stored === total / 4) restarted = server.restart();
        }
      };
      const seen: FoldEvent[] = [];
      const following = follow(log, 0, (item) => {
        if (item.kind === 'events') seen.push(...item.events);
        return seen.length >= total;
      });
      await Promise.all(Array.from({ length: WRITERS }, (_, w) => writer(w)));
      await restarted;
      await following;
      const all = await log.readFold({ after: 0, limit: 2 * total });
      expect(all).toHaveLength(total);
      expect(new Set(all.map(printOf)).size).toBe(total);
      expect(positionsOf(seen)).toEqual(positionsOf(all));
      await log.close();
    });

    test('Thousands of appends that are under way when the server stops are all answered', async () => {
      const log = await server.open();
      const { position } = await log.head();
      const appends = Array.from({ length: 2_000 }, (_, n) =>
        log.append(`bo-lead_${n}`, NO_STREAM, [bound(`${n}`)]),
      );
      await appends[0];
      await server.restart();
      for (const result of await Promise.all(appends)) expect(result.outcome).toBe('appended');
      expect(await log.readFold({ after: position, limit: 9_000 })).toHaveLength(2_000);
      await log.close();
    });
  });
};
