import { expect, test, vi } from 'vitest';
import { Subscribers } from '#src/stores/event-codec.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

test('A subscriber whose queue is full reads the missing events from the log', async () => {
  const stored: FoldEvent[] = [];
  const page = vi.fn((after: number, limit: number) => stored.slice(after, after + limit));
  const subscribers = new Subscribers({ head: () => stored.length, page }, 3);
  const { signal } = new AbortController();
  const items = subscribers.subscribe({ after: 0, signal })[Symbol.asyncIterator]();
  const append = (): void => {
    const event = { position: stored.length + 1 } as FoldEvent;
    stored.push(event);
    subscribers.push([event]);
  };
  const nextItem = async () => (await items.next()).value;
  expect(await nextItem()).toEqual({ kind: 'caughtUp', position: 0 });
  for (let i = 0; i < 3; i++) append();
  expect(await nextItem()).toEqual({ kind: 'events', events: stored });
  expect(await nextItem()).toEqual({ kind: 'checkpoint', position: 3 });
  expect(page).not.toHaveBeenCalled();
  for (let i = 0; i < 10; i++) append();
  expect(await nextItem()).toEqual({ kind: 'events', events: stored.slice(3) });
  expect(page).toHaveBeenCalledExactlyOnceWith(3, expect.any(Number));
  expect(await nextItem()).toEqual({ kind: 'checkpoint', position: 13 });
  expect(await nextItem()).toEqual({ kind: 'caughtUp', position: 13 });
});
