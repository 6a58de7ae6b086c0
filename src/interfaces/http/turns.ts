import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '#contracts/limits.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type Line = { waiting: number; last: IncomingMessage };

/**
 * Handles the requests of one connection one after the other. Node would hand over all requests of a
 * packet at once, and hold each answer until the one before it is taken: 20 kB that ask for a large
 * page 300 times were gigabytes, and a minute in which nobody else was served. RFC 9112 (9.3.2) lets
 * only safe methods be handled together, and few clients pipeline: too few to tell the two apart.
 *
 * While one waits, the connection is read no further. What waits for one that is gone is dropped.
 */
export const inTurn = (handle: Handle): Handle => {
  const lines = new WeakMap<Socket, Line>();

  const join = (request: IncomingMessage): Line => {
    const { socket } = request;
    const known = lines.get(socket);
    if (known) {
      known.last = request;
      return known;
    }
    const line = { waiting: 0, last: request };
    lines.set(socket, line);
    // Node resumes the connection after each request that it has parsed, and for a body.
    socket.on('resume', () => {
      if (line.waiting > 0 && line.last.complete) socket.pause();
    });
    return line;
  };

  return (request, response) => {
    // An answer has the socket from the start, unless there is one before it.
    if (response.socket) {
      handle(request, response);
      return;
    }
    const { socket } = request;
    const line = join(request);
    line.waiting += 1;
    // A packet holds thousands, 2 kB of memory each, and Node does not stop in the middle of one.
    if (line.waiting > LIMITS.PIPELINED_MAX) socket.destroy();
    else socket.pause();
    // In between others have their turn.
    response.once('socket', () =>
      setImmediate(() => {
        if (socket.writable) handle(request, response);
      }),
    );
    // Not before: who has sent all and closed its end would be taken for gone.
    response.once('close', () => {
      line.waiting -= 1;
      if (line.waiting === 0) socket.resume();
    });
  };
};
