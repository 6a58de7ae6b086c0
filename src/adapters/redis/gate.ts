/**
 * A lane of questions to one server. Redis answers in order, so when nothing comes back while the
 * oldest question is late, all are late: they fail together and at once, later ones fail without
 * being sent, and a probe finds out when the server is back. So no request waits for a stalled
 * server, and nothing queues up before it. A server that is merely busy goes on being asked.
 */
import { setTimeout as pause } from 'node:timers/promises';

export type Gate = {
  /** Fails after about `waitMs` of silence, or at once while the server gives no answers. */
  ask<T>(send: () => Promise<T>): Promise<T>;
  close(): void;
};

export type GateOptions = {
  /** So long may the server say nothing at all. */
  waitMs: number;
  /** So long may a question wait while the server says something, to others perhaps. */
  waitMsMax: number;
  /** Settles with the server's next answer, or fails when there can be none. */
  probe(): Promise<unknown>;
  /** Bytes that came in so far; an answer may be large, or unread while this process is busy. */
  bytes(): number;
};

type Question = { since: number; fail(error: Error): void };

const PROBE_MS = 25;

export const gate = ({ waitMs, waitMsMax, probe, bytes }: GateOptions): Gate => {
  const open = new Set<Question>();
  let timer: NodeJS.Timeout | undefined;
  let heardAt = 0;
  let bytesThen = 0;
  let isShut = false;
  let isClosed = false;
  let dueAt = 0;
  let lateMs = 0;

  // Without the time that this process was too busy to send or to look: the server is not to blame.
  const now = (): number => performance.now() - lateMs;

  const failOlderThan = (ms: number): void => {
    const limit = now() - ms;
    for (const question of open) {
      if (question.since > limit) break;
      open.delete(question);
      question.fail(new Error(`no answer within ${Math.max(ms, waitMs)} ms`));
    }
  };

  const shut = async (): Promise<void> => {
    isShut = true;
    failOlderThan(0);
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
    lateMs += Math.max(0, performance.now() - dueAt);
    const [oldest] = open;
    if (!oldest) return;
    const silent = now() - Math.max(oldest.since, heardAt);
    const bytesNow = bytes();
    const hasMoved = bytesNow !== bytesThen;
    bytesThen = bytesNow;
    if (silent >= waitMsMax || (silent >= waitMs && !hasMoved)) void shut();
    else {
      failOlderThan(waitMsMax);
      watch();
    }
  };

  // Answers may lie unread when this process itself was busy: they are read before it is judged.
  const watch = (): void => {
    if (timer) return;
    dueAt = performance.now() + waitMs / 2;
    timer = setTimeout(() => setImmediate(look), waitMs / 2);
  };

  return {
    ask: (send) =>
      new Promise((resolve, reject) => {
        if (isShut) {
          reject(new Error('the server gives no answers'));
          return;
        }
        const question = { since: now(), fail: reject };
        open.add(question);
        watch();
        send()
          .finally(() => {
            heardAt = now();
            open.delete(question);
          })
          .then(resolve, reject);
      }),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
