import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '#contracts/limits.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type Queue = { waiting: number; last: IncomingMessage };

/**
 * Handles the requests of one connection one after another. Node emits all requests of a packet at once and buffers
 * each answer until the client has read the one before: 300 pipelined requests for a large page in 20 kB would take
 * gigabytes and block all other clients. RFC 9112 (9.3.2) allows concurrent handling of safe methods only, and few
 * clients pipeline.
 *
 * The connection is not read while a request waits. Requests that wait on a closed connection are dropped.
 */
export const oneAtATime = (handle: Handle): Handle => {
  const queues = new WeakMap<Socket, Queue>();

  const enqueue = (request: IncomingMessage): Queue => {
    const { socket } = request;
    const existing = queues.get(socket);
    if (existing) {
      existing.last = request;
      return existing;
    }
    const queue = { waiting: 0, last: request };
    queues.set(socket, queue);
    // Node resumes the connection after each parsed request, and to read a body.
    socket.on('resume', () => {
      if (queue.waiting > 0 && queue.last.complete) socket.pause();
    });
    return queue;
  };

  return (request, response) => {
    // A response has no socket while an earlier one of the connection is not finished.
    if (response.socket) {
      handle(request, response);
      return;
    }
    const { socket } = request;
    const queue = enqueue(request);
    queue.waiting += 1;
    // One packet may hold thousands of requests, at 2 kB of memory each, and Node parses all of it.
    if (queue.waiting > LIMITS.PIPELINED_MAX) socket.destroy();
    else socket.pause();
    // Lets other connections be served in between.
    response.once('socket', () =>
      setImmediate(() => {
        if (socket.writable) handle(request, response);
      }),
    );
    // Not earlier: a client that has closed its sending side still waits for answers.
    response.once('close', () => {
      queue.waiting -= 1;
      if (queue.waiting === 0) socket.resume();
    });
  };
};
