import type { Server } from 'node:http';
import { LIMITS } from '#contracts/limits.ts';

/**
 * Ends a connection of whose answer no byte was taken for a while: each holds one of SOCKETS_MAX, and
 * its answer in memory. Who reads slowly is left in peace, and so is a handler that takes its time,
 * as one that verifies a long log does, or a stream that has nothing to tell.
 */
export const endUntaken = (server: Server): void => {
  server.setTimeout(LIMITS.READER_WAIT_MS, (socket) => {
    // Between two requests Node has set the time of an idle connection.
    const isUnderWay = socket.timeout === server.timeout;
    if (!isUnderWay || socket.writableLength > 0) socket.destroy();
  });
};
