import { expect, test } from 'vitest';
import { type EventLog, NO_STREAM, StreamAdvanced } from '#src/ports/event-log.ts';
import { several } from './log-events.ts';

/** Appends that require more than the revision of their own stream. */
export const conditions = (log: () => EventLog): void => {
  test('An append that requires other streams to be unchanged checks them, or confirms before it is sent', async () => {
    await log().append('anna-key_1', NO_STREAM, several(2));
    const confirmed: string[] = [];
    const expecting = (key: number, agent = NO_STREAM) => ({
      revision: NO_STREAM,
      unchanged: [
        { stream: 'anna-key_1', revision: key },
        { stream: 'anna-agent_1', revision: agent },
      ],
      confirm: async () => void confirmed.push('asked'),
    });
    expect(await log().append('anna-lead_1', expecting(1), several(1))).toMatchObject({
      outcome: 'appended',
      revision: 0,
    });
    const outdated = log().append('anna-lead_2', expecting(0), several(1));
    const result = await outdated.catch((error: unknown) => error);
    if (confirmed.length > 0) {
      expect(confirmed.length).toBeGreaterThanOrEqual(2);
      return;
    }
    expect(result).toBeInstanceOf(StreamAdvanced);
    expect(await log().readStream('anna-lead_2')).toEqual([]);
    // In the order of the calls, also within one transaction.
    const [, late] = await Promise.allSettled([
      log().append('anna-key_1', 1, several(1)),
      log().append('anna-lead_2', expecting(1), several(1)),
    ]);
    expect(late).toMatchObject({ status: 'rejected', reason: { name: 'StreamAdvanced' } });
  });
};
