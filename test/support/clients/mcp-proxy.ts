import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type KeyProxy = { url: string; close(): Promise<void> };

/** Starts a proxy that adds a key to each request, for clients that cannot send one. */
export const keyProxy = async (target: string, key: string): Promise<KeyProxy> => {
  const server: Server = createServer((incoming, outgoing) => {
    const headers: IncomingHttpHeaders = {
      ...incoming.headers,
      authorization: `Bearer ${key}`,
    };
    const { hostname, port } = new URL(target);
    const onward = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
