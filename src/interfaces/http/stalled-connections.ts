import type { Server } from 'node:http';
import { LIMITS } from '#contracts/limits.ts';

/**
 * Ends a connection when its client reads no byte of an answer for LIMITS.READER_WAIT_MS: it holds one of
 * SOCKETS_MAX, and the answer in memory. Slow readers, long-running handlers and idle streams are not affected.
 */
export const endStalledConnections = (server: Server): void => {
  server.setTimeout(LIMITS.READER_WAIT_MS, (socket) => {
    // Between two requests Node sets the timeout of an idle connection.
    const isUnderWay = socket.timeout === server.timeout;
    if (!isUnderWay || socket.writableLength > 0) socket.destroy();
  });
};
