/** Acts on the appends of a log, for tests of what happens before, between and after them. */
import { vi } from 'vitest';
import type { Append, AppendResult, EventLog } from '#src/ports/event-log.ts';

type Act = (appends: readonly Append[], write: EventLog['appendAll']) => Promise<AppendResult>;

/** Passes every append of the log, also of one stream, to `act` until it is restored. */
export const interceptAppends = (log: EventLog, act: Act): { restore(): void } => {
  const { appendAll } = log;
  const mocks = [
    vi
      .spyOn(log, 'append')
      .mockImplementation((stream, expected, events) =>
        act([{ stream, expected, events }], appendAll),
      ),
    vi.spyOn(log, 'appendAll').mockImplementation((appends) => act(appends, appendAll)),
  ];
  return { restore: () => mocks.forEach((mock) => mock.mockRestore()) };
};

/** Whether one of the appends begins with an event of this type. */
export const includesType = (appends: readonly Append[], type: string): boolean =>
  appends.some(({ events }) => events[0]?.type === type);
