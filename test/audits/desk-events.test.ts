/** What the desk reads of a log whose positions are byte offsets. */
import { beforeEach, expect, test } from 'vitest';
import type { DeskCall } from '#src/shared/call.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskInput } from '#src/calls/desk-handler.ts';
import { readEvents } from '#src/audits/read-events.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { onStandIn } from '../support/eventstoredb/eventstoredb-logs.ts';
import { bound } from '../conformance/log-events.ts';

const { log: open } = onStandIn();

type Asked = Partial<DeskInput<'readEvents'>>;
const NO_CREDENTIALS = { key: () => undefined, deskToken: () => undefined };
let read: (query: Asked) => Promise<{ prints: unknown[]; more: boolean; positions: number[] }>;

beforeEach(async () => {
  const log = await open();
  const call = { caller: {} } as DeskCall;
  read = async (query) => {
    const input = { after: 0, limit: 100, ...query };
    const outcome = await readEvents(
      { log, credentials: NO_CREDENTIALS } as unknown as Deps,
      input,
      call,
    );
    if (!outcome.ok) throw new Error(outcome.code);
    const { data, more } = outcome.value;
    const prints = data.map((event) => event.data['fingerprint']);
    return { prints, more, positions: data.map(({ position }) => position) };
  };
  for (let n = 0; n < 12; n += 1)
    await log.append(`${n % 2 ? 'anna' : 'bo'}-lead_${n % 4}`, n < 4 ? NO_STREAM : (n >> 2) - 1, [
      bound(`${n}`),
    ]);
});

test('readEvents with `last` returns that many of the newest events of the log, an owner or a stream', async () => {
  expect((await read({ last: 3 })).prints).toEqual(['9', '10', '11']);
  expect((await read({ last: 3, owner_id: 'bo' })).prints).toEqual(['6', '8', '10']);
  expect((await read({ last: 2, stream: 'anna-lead_1' })).prints).toEqual(['5', '9']);
  expect((await read({ last: 99 })).prints).toHaveLength(12);
});

test('readEvents with `last` stays within `after` and `up_to`, and returns pages', async () => {
  const { positions } = await read({});
  const [after = 0, up_to = 0] = [positions[6], positions[8]];
  for (const place of [{}, { owner_id: 'bo' }, { stream: 'bo-lead_0' }]) {
    const { prints } = await read({ ...place, after, up_to });
    expect((await read({ ...place, after, up_to, last: 9 })).prints).toEqual(prints);
    expect((await read({ ...place, up_to, last: 1 })).prints).toEqual(['8']);
  }
  expect(await read({ last: 5, limit: 2 })).toMatchObject({ prints: ['7', '8'], more: true });
});

test('readEvents returns nothing after `up_to` and reports no more events', async () => {
  const { positions } = await read({});
  const up_to = positions[2] ?? 0;
  expect(await read({ up_to })).toMatchObject({ prints: ['0', '1', '2'], more: false });
});
