/** Receivers of outreach on loopback sockets, whose answers and faults a test defines. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createRawServer } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { vi } from 'vitest';

export type Received = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  servername?: string;
};

type Answer = (received: Received, response: ServerResponse) => void;

const open = new Set<{ server: Server; sockets: Set<Socket> }>();

const track = async (server: Server, host: string): Promise<number> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  open.add({ server, sockets });
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** Ends every receiver of the test file; for afterEach. */
export const endReceivers = async (): Promise<void> => {
  const ends = [...open].map(async ({ server, sockets }) => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  open.clear();
  await Promise.all(ends);
};

const read = async (request: IncomingMessage): Promise<Received> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { servername } = request.socket as Socket & { servername?: string };
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: request.headers as Record<string, string>,
    body: Buffer.concat(chunks).toString('utf8'),
    ...(servername && { servername }),
  };
};

/** Starts a receiver that answers 204 by default, and records the requests. */
export const receiver = async (
  options: { answer?: Answer; host?: string; tls?: { key: string; cert: string } } = {},
) => {
  const {
    answer = (_received, response) => response.writeHead(204).end(),
    host = '127.0.0.1',
    tls,
  } = options;
  const received: Received[] = [];
  const state = { answer };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const answerNext = async (): Promise<void> => {
      const complete = await read(request);
      received.push(complete);
      state.answer(complete, response);
    };
    // A request whose sender disconnected is not recorded.
    answerNext().catch(() => {});
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const port = await track(server, host);
  return {
    port,
    host: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    received,
    connections: () => connections,
    answers: (next: Answer) => {
      state.answer = next;
    },
  };
};

/** Starts a TCP server; `behave` gets each socket and its first bytes. */
export const rawReceiver = async (behave: (socket: Socket, first: string) => unknown) => {
  const heard: string[] = [];
  const server = createRawServer((socket) => {
    socket.once('data', (data) => {
      heard.push(data.toString('latin1'));
      behave(socket, data.toString('latin1'));
    });
  });
  const port = await track(server, '127.0.0.1');
  return { port, host: `127.0.0.1:${port}`, heard };
};

const TURNS = 50;

/**
 * Starts a TCP server that sends `answer`, which is incomplete. The time limit of the next guarded request ends once
 * the client can have read it, however slow the machine is.
 */
export const stallingReceiver = async (answer = '') => {
  const limit = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal);
  return rawReceiver(async (socket) => {
    socket.write(answer);
    for (let n = 0; n < TURNS; n += 1) await turn();
    limit.abort();
  });
};
