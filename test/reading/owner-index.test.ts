/** An owner's newest events by its history, where the history cannot be used or names other events than the log has. */
import { expect, test } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { withOwnerIndex } from '#src/reading/owner-index.ts';
import { NO_STREAM, UnknownEventType } from '#src/ports/event-log.ts';
import { type Row, ReadModelRebuilding, type ReadModels } from '#src/ports/read-model.ts';
import { several } from '../conformance/log-events.ts';

const OWNER = 'anna';

/** A log with events of two owners, read back by the given rows of the history and their progress. */
const logWith = async (rows: readonly object[] | Error, passed = true) => {
  const log = memoryEventLog();
  for (const stream of ['anna-lead_1', 'bert-lead_1', 'anna-lead_2'])
    await log.append(stream, NO_STREAM, several(2));
  const list: ReadModels['list'] = async <R extends Row>() => {
    if (rows instanceof Error) throw rows;
    return rows.map((row, sort) => ({ row: row as R, sort, key: '0' }));
  };
  let reads = 0;
  const counting = {
    ...log,
    readBack(range: Parameters<typeof log.readBack>[0]) {
      reads += 1;
      return log.readBack(range);
    },
  };
  const following = { passed: async () => passed, asOf: () => ({ position: 0, at: null }) };
  const readModels = { get: async () => undefined, list };
  return { log, indexed: withOwnerIndex(counting, { readModels, following }), reads: () => reads };
};

const entry = (position: number, revision: number, stream: string) =>
  [position, revision, 'RequestBound', 1_700_000_000_000, stream] as const;
const FIRST = [entry(1, 0, 'anna-lead_1'), entry(2, 1, 'anna-lead_1')];
const ALL = [...FIRST, entry(5, 0, 'anna-lead_2'), entry(6, 1, 'anna-lead_2')];
const block = (...entries: (readonly (string | number)[])[]) => ({
  block: 0,
  entries: entries.flat(),
});

test.each([
  ['is being filled', new ReadModelRebuilding('filled'), true],
  ['names a stream with an event of a newer version', new UnknownEventType('newer'), true],
  ['does not reach the position in time', [block(...ALL)], false],
  [
    'names a revision that the log does not have',
    [block(...ALL, entry(7, 2, 'anna-lead_2'))],
    true,
  ],
  ['names an event at another position', [block(...FIRST, entry(4, 0, 'anna-lead_2'))], true],
])('The log is read where the history %s', async (_case, rows, passed) => {
  const { log, indexed, reads } = await logWith(rows, passed);
  const query = { upTo: 9, limit: 3, owner: OWNER };
  expect(await indexed.readBack(query)).toEqual(await log.readBack(query));
  expect(reads()).toBe(1);
});

test('The log is not read back where the history names the events that it has', async () => {
  const { log, indexed, reads } = await logWith([block(...ALL)]);
  for (const [upTo, limit] of [
    [6, 9],
    [6, 3],
    [5, 2],
    [4, 1],
  ] as const) {
    const query = { upTo, limit, owner: OWNER };
    expect(await indexed.readBack(query)).toEqual(await log.readBack(query));
  }
  expect(reads()).toBe(0);
});

test('The log is read for owners whose events the history leaves out, and for all owners', async () => {
  const { indexed, reads } = await logWith([]);
  await indexed.readBack({ upTo: 6, limit: 1, owner: 'catalog' });
  expect(await indexed.readBack({ upTo: 6, limit: 1 })).toHaveLength(1);
  expect(reads()).toBe(2);
});
