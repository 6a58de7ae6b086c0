/**
 * A lane of questions to one server. Redis answers in order, so when the oldest question is late
 * all are: they fail together and at once, later ones fail without being sent, and a probe finds out
 * when the server is back. So no request waits for a stalled server, and nothing queues up before it.
 */
import { setTimeout as pause } from 'node:timers/promises';

export type Gate = {
  /** Fails after about `waitMs`, or at once while the server gives no answers. */
  ask<T>(send: () => Promise<T>): Promise<T>;
  close(): void;
};

type Question = { since: number; fail(error: Error): void };

const PROBE_MS = 25;

export const gate = (waitMs: number, probe: () => Promise<unknown>): Gate => {
  const open = new Set<Question>();
  let timer: NodeJS.Timeout | undefined;
  let isShut = false;
  let isClosed = false;

  const shut = async (): Promise<void> => {
    isShut = true;
    const error = new Error(`no answer within ${waitMs} ms`);
    for (const question of open) question.fail(error);
    open.clear();
    while (!isClosed) {
      try {
        await probe();
        break;
      } catch {
        await pause(PROBE_MS, undefined, { ref: false });
      }
    }
    isShut = false;
  };

  const look = (): void => {
    timer = undefined;
    const [oldest] = open;
    if (!oldest) return;
    const left = oldest.since + waitMs - performance.now();
    if (left > 0) watch(left);
    else void shut();
  };

  // Answers may lie unread when this process itself was busy: they are read before it is judged.
  const watch = (ms: number): void => {
    timer ??= setTimeout(() => setImmediate(look), ms);
  };

  return {
    ask: (send) =>
      new Promise((resolve, reject) => {
        if (isShut) {
          reject(new Error('the server gives no answers'));
          return;
        }
        const question = { since: performance.now(), fail: reject };
        open.add(question);
        watch(waitMs);
        send()
          .finally(() => open.delete(question))
          .then(resolve, reject);
      }),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
