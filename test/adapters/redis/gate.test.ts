import { describe, expect, test } from 'vitest';
import { gate } from '#src/adapters/redis/gate.ts';

/** A server that answers when it is told to. */
const server = (isTalking = false) => {
  const waiting: (() => void)[] = [];
  let sent = 0;
  let bytes = 0;
  let answerProbe = (): void => {};
  const lane = gate({
    waitMs: 20,
    waitMsMax: 60,
    probe: () => new Promise<void>((answer) => (answerProbe = answer)),
    // Parts of a large answer have come in at each look.
    bytes: () => (isTalking ? (bytes += 1) : bytes),
  });
  const ask = (): Promise<string> =>
    lane.ask(() => {
      sent += 1;
      return new Promise((answer) => waiting.push(() => answer('well')));
    });
  return {
    ask,
    sent: () => sent,
    answerLast: () => waiting.pop()?.(),
    probed: () => answerProbe(),
  };
};

const SILENT = 'no answer within 20 ms';

describe('a lane of questions', () => {
  test('fails together when nothing comes, and sends no more until the server is back', async () => {
    const { ask, sent, probed, answerLast } = server();
    const questions = await Promise.allSettled([ask(), ask(), ask()]);
    expect(questions.map((one) => (one as { reason: Error }).reason.message)).toEqual([
      SILENT,
      SILENT,
      SILENT,
    ]);
    for (let i = 0; i < 100; i++) await expect(ask()).rejects.toThrow('gives no answers');
    expect(sent()).toBe(3);
    for (let i = 0; i < 3; i++) answerLast();
    probed();
    // The probe's answer is heard in the next turns.
    let again = ask();
    while (sent() === 3) {
      await again.catch(() => {});
      again = ask();
    }
    answerLast();
    expect(await again).toBe('well');
  });

  test('does not take its own business for the silence of the server', async () => {
    const { ask, answerLast } = server();
    const question = ask();
    const busyUntil = performance.now() + 200;
    while (performance.now() < busyUntil);
    // Several turns, so that it has looked before the answer comes.
    for (let i = 0; i < 3; i++) await new Promise((turn) => setImmediate(turn));
    answerLast();
    expect(await question).toBe('well');
  });

  test('goes on while something comes, and lets nobody wait too long', async () => {
    const { ask, sent, answerLast } = server(true);
    const [slowest, first] = [ask(), ask()];
    const slow = slowest.catch((error: Error) => error.message);
    // Answers come, though not to the first: its lane is open all the while.
    answerLast();
    expect(await first).toBe('well');
    let isOver = false;
    void slow.finally(() => (isOver = true));
    let asked = 2;
    while (!isOver) {
      const next = ask();
      asked += 1;
      answerLast();
      await Promise.race([next, slow]);
      await new Promise((turn) => setImmediate(turn));
    }
    expect(await slow).toBe('no answer within 60 ms');
    expect(sent()).toBe(asked);
  });
});
