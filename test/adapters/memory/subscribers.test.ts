import { expect, test, vi } from 'vitest';
import { subscribers } from '#src/adapters/subscribers.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

test('a subscriber that does not take is kept no more than so many events for', async () => {
  const stored: FoldEvent[] = [];
  const page = vi.fn((after: number, limit: number) => stored.slice(after, after + limit));
  const { subscribe, push } = subscribers({ head: () => stored.length, page }, 3);
  const { signal } = new AbortController();
  const items = subscribe({ after: 0, signal })[Symbol.asyncIterator]();
  const append = (): void => {
    const event = { position: stored.length + 1 } as FoldEvent;
    stored.push(event);
    push([event]);
  };
  const taken = async () => (await items.next()).value;
  expect(await taken()).toEqual({ kind: 'caughtUp', position: 0 });
  for (let i = 0; i < 3; i++) append();
  expect(await taken()).toEqual({ kind: 'events', events: stored });
  expect(await taken()).toEqual({ kind: 'checkpoint', position: 3 });
  expect(page).not.toHaveBeenCalled();
  for (let i = 0; i < 10; i++) append();
  expect(await taken()).toEqual({ kind: 'events', events: stored.slice(3) });
  expect(page).toHaveBeenCalledExactlyOnceWith(3, expect.any(Number));
  expect(await taken()).toEqual({ kind: 'checkpoint', position: 13 });
  expect(await taken()).toEqual({ kind: 'caughtUp', position: 13 });
});
