/** Appends to several streams on a server, which writes one after the other: what a kill between them leaves. */
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import { several } from '../../conformance/log-events.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import { directories } from '../../support/processes/directories.ts';

const { server, log: open } = onStandIn();
const temporary = directories('tributary-several-streams-');
afterAll(temporary.removeAll);

describe('Appends to several streams', () => {
  const claimed = (): Append[] =>
    ['claims-lead_1', 'anna-request_1', 'anna-lead_1'].map((stream) => ({
      stream,
      expected: NO_STREAM,
      events: several(1),
    }));

  test('Appends to several streams cost one round trip each, and no read', async () => {
    const log = await open();
    const { appends, reads } = await server().stats();
    await log.appendAll(claimed());
    expect(await server().stats()).toMatchObject({ appends: appends + 3, reads });
  });

  test.each([0, 1, 2].flatMap((after) => [false, true].map((written) => ({ after, written }))))(
    'Appends to several streams are completed by another process after the server was killed at append $after (written: $written)',
    async ({ after, written }) => {
      const durable = await standIn({ file: join(temporary.fresh(), 'log.jsonl') });
      // The repetition waits for the dead server for a third of an attempt.
      const log = await open({ appendRepeatMs: 100, attemptMs: 6_000 }, { url: durable.url });
      const appends = claimed();
      // An answer that comes twice is no fault.
      if (after > 0)
        await durable.tell({
          name: 'fault',
          on: 'append',
          fault: { do: 'duplicate' },
          times: after,
        });
      await durable.tell({ name: 'fault', on: 'append', fault: { do: 'die', written } });
      await expect(log.appendAll(appends)).rejects.toMatchObject({ applied: 'unknown' });
      await durable.gone();
      await durable.restart();
      const other = await open({}, { url: durable.url });
      const lengths = async () => {
        const streams = await Promise.all(appends.map(({ stream }) => other.readStream(stream)));
        return streams.map(({ length }) => length);
      };
      const stored = after + (written ? 1 : 0);
      expect(await lengths()).toEqual([0, 1, 2].map((n) => (n < stored ? 1 : 0)));
      expect(await other.appendAll(appends)).toMatchObject({ outcome: 'appended', revision: 0 });
      expect(await lengths()).toEqual([1, 1, 1]);
    },
  );

  test('Appends to several streams have an unknown outcome when a later one is refused, because earlier ones are written', async () => {
    const log = await open({ appendRepeatMs: 100 });
    await server().tell({ name: 'fault', on: 'append', fault: { do: 'duplicate' } });
    await server().tell({ name: 'fault', on: 'append', fault: { do: 'wrong' }, times: 10_000 });
    await expect(log.appendAll(claimed())).rejects.toMatchObject({
      reason: 'fault',
      applied: 'unknown',
    });
    expect(await log.readStream('claims-lead_1')).toHaveLength(1);
  });
});
