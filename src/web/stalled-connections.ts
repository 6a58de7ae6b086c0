import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '#contracts/limits.ts';

/** How many times a connection is examined within the wait. */
const CHECKS = 10;

type Stall = { since: number; checkedAt: number };

/**
 * Ends a connection when its client reads no byte of an answer for `waitMs`: it holds one of SOCKETS_MAX, and the
 * answer in memory. Slow readers, long-running handlers and idle streams are not affected.
 *
 * Node reports a connection after a period without progress, and compares with the state at the previous report: its
 * first report may be a whole period late. So the period is a tenth of the wait, and a connection ends at most two
 * periods late.
 */
export const endStalledConnections = (
  server: Server,
  monotonic: () => number,
  waitMs: number = LIMITS.READER_WAIT_MS,
): void => {
  const periodMs = waitMs / CHECKS;
  const stalls = new WeakMap<Socket, Stall>();

  const isStalled = (socket: Socket): boolean => {
    if (socket.writableLength === 0) {
      stalls.delete(socket);
      return false;
    }
    const now = monotonic();
    const stall = stalls.get(socket);
    // Node reports only stalls, so progress shows as a gap.
    const isSame = stall !== undefined && now - stall.checkedAt < 1.5 * periodMs;
    const since = isSame ? stall.since : now - periodMs;
    stalls.set(socket, { since, checkedAt: now });
    return now - since >= waitMs;
  };

  server.setTimeout(periodMs, (socket) => {
    // Between two requests Node sets the timeout of an idle connection.
    const isUnderWay = socket.timeout === server.timeout;
    if (!isUnderWay || isStalled(socket)) socket.destroy();
    // Node reports once, until the connection makes progress.
    else socket.setTimeout(periodMs);
  });
};
