/** What `audit history --follow` asks the desk, and prints. */
import { expect, test, vi } from 'vitest';
import type { Desk } from '#src/cli/transport.ts';
import { followActs } from '#src/cli/verbs.ts';

const act = (position: number) => ({ position, at: '2026-11-20T10:00:00.000Z', outcome: 'done' });
const asOf = { position: 4, at: null };

/** Follows acme after position 4; event 9 is the newest at the third look, and SIGINT arrives at the fifth. */
const follow = async (calls: string[]): Promise<void> => {
  let looks = 0;
  const answers: Record<string, () => object> = {
    listHistory() {
      looks += 1;
      if (looks === 5) process.emit('SIGINT');
      return { data: [{ position: looks < 3 ? 4 : 9 }] };
    },
    auditHistory: () => ({ data: [act(9), act(7)], next_before: null, as_of: asOf }),
  };
  const call = async (id: string, request: { from?: string }) => {
    calls.push([id, request.from ?? []].flat().join(' '));
    return answers[id]?.() as never;
  };
  const desk = { server: { url: '', pid: 1, instance: 'test' }, call } as Desk;
  const answer = { data: [], next_before: null, as_of: asOf };
  await followActs(desk, { owner_id: 'acme' }, { answer, options: { json: true } });
};

test('`audit history --follow` asks for acts only after the owner has a new event, prints the oldest first, and ends', async () => {
  const calls: string[] = [];
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await follow(calls);
  const lines = printed.mock.calls.map(
    ([line]) => JSON.parse(String(line)) as { position: number },
  );
  printed.mockRestore();
  const look = 'listHistory';
  expect(calls).toEqual([look, look, look, 'auditHistory 4', look, look]);
  expect(lines.map(({ position }) => position)).toEqual([7, 9]);
});
