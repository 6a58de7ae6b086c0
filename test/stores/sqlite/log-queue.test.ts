/** The limit of bytes in the queue counts an append exactly while it waits. */
import { afterAll, expect, test } from 'vitest';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { type EventLog, type NewEvent, NO_STREAM } from '#src/ports/event-log.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('sqlite-log-queue-');
afterAll(removeAll);

/** Space for one append at a time. */
const large = (): NewEvent => bound('x'.repeat(1_500));
const QUEUE = { queueBytesMax: 3_000 };

let streams = 0;
const append = (log: EventLog) => {
  streams += 1;
  return log.append(`a-l_${streams}`, NO_STREAM, [large()]);
};
const overloads = async (log: EventLog): Promise<number> => {
  const appends = Array.from({ length: 10 }, () => append(log));
  const refused = (await Promise.allSettled(appends)).filter(({ status }) => status === 'rejected');
  for (const one of refused)
    expect(one).toMatchObject({ reason: { reason: 'overloaded', applied: 'no' } });
  return refused.length;
};

test('A written append frees its space in the queue', async () => {
  const log = sqliteEventLog({ directory: fresh(), ...QUEUE });
  for (let i = 0; i < 4; i++) expect(await append(log)).toMatchObject({ outcome: 'appended' });
  expect(await overloads(log)).toBe(9);
  expect(await append(log)).toMatchObject({ outcome: 'appended' });
  await log.close();
});

test('An append that is queued again, because it may repeat one under way, counts again', async () => {
  const log = sqliteEventLog({ directory: fresh(), queueBytesMax: 2 * QUEUE.queueBytesMax });
  const before = await overloads(log);
  for (let i = 0; i < 4; i++) {
    const event = large();
    const same = () => log.append(`a-m_${i}`, NO_STREAM, [event]);
    const [first, again] = await Promise.all([same(), same()]);
    expect(first.outcome).toBe('appended');
    expect(again).toEqual(first);
  }
  expect(await overloads(log)).toBe(before);
  await log.close();
});
