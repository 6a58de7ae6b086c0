import { describe, expect, test } from 'vitest';
import { CircuitBreaker } from '#src/stores/redis/connect.ts';

/** A server that answers on command. */
const server = (isTalking = false) => {
  const waiting: (() => void)[] = [];
  let sent = 0;
  let bytes = 0;
  let answerProbe = (): void => {};
  const breaker = new CircuitBreaker({
    silenceMsMax: 20,
    waitMsMax: 60,
    probe: () => new Promise<void>((answer) => (answerProbe = answer)),
    // With `isTalking`, bytes of a large answer arrive before each check.
    bytes: () => (isTalking ? (bytes += 1) : bytes),
  });
  const ask = (): Promise<string> =>
    breaker.call(() => {
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

describe('CircuitBreaker', () => {
  test('All pending calls fail after silence, and none is sent until the server answers a probe', async () => {
    const { ask, sent, probed, answerLast } = server();
    const calls = await Promise.allSettled([ask(), ask(), ask()]);
    expect(calls.map((one) => (one as { reason: Error }).reason.message)).toEqual([
      SILENT,
      SILENT,
      SILENT,
    ]);
    for (let i = 0; i < 100; i++) await expect(ask()).rejects.toThrow('does not answer');
    expect(sent()).toBe(3);
    for (let i = 0; i < 3; i++) answerLast();
    probed();
    // The probe's answer arrives in one of the next turns.
    let again = ask();
    while (sent() === 3) {
      await again.catch(() => {});
      again = ask();
    }
    answerLast();
    expect(await again).toBe('well');
  });

  test('Time in which this process was busy does not count as silence of the server', async () => {
    const { ask, answerLast } = server();
    const call = ask();
    const busyUntil = performance.now() + 200;
    while (performance.now() < busyUntil);
    // Several turns, so that the check runs before the answer arrives.
    for (let i = 0; i < 3; i++) await new Promise((turn) => setImmediate(turn));
    answerLast();
    expect(await call).toBe('well');
  });

  test('Calls continue while the server answers something, and each has a longest wait', async () => {
    const { ask, sent, answerLast } = server(true);
    const [slowest, first] = [ask(), ask()];
    const slow = slowest.catch((error: Error) => error.message);
    // The server answers, but never the first call.
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
