/** A proxy in front of a server that can be cut silently, and repaired. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';

type Link = {
  readonly port: number;
  /** Stops all bytes; connections stay open. */
  cut(): void;
  mend(): void;
  close(): void;
};

export const linkTo = async (port: number): Promise<Link> => {
  const ends = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    const remote = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, remote],
      [remote, client],
    ] as const) {
      ends.add(from);
      from.on('data', (data: Buffer) => void to.write(data));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        ends.delete(from);
        to.destroy();
      });
      if (isCut) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const end of ends) end.pause();
    },
    mend() {
      isCut = false;
      for (const end of ends) end.resume();
    },
    close() {
      server.close();
      for (const end of ends) end.destroy();
    },
  };
};
