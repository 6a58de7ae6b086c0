/** A real SMTP server that keeps what it receives. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

type Received = { from: string; to: string[]; raw: string; isSecure: boolean };

const servers: SMTPServer[] = [];

/**
 * Starts a server on a free port of this machine, without TLS unless `options` ask for it. `onReceived` is called with the
 * number of the message, from 1, before the server accepts it. `drop` ends all connections.
 */
export const mailServer = async (
  options: SMTPServerOptions = {},
  onReceived?: (n: number, drop: () => void) => Error | void,
) => {
  const received: Received[] = [];
  const drop = (): void => {
    for (const connection of server.connections) connection._socket.destroy();
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        const to = rcptTo.map(({ address }) => address);
        const raw = Buffer.concat(chunks).toString();
        received.push({ from, to, raw, isSecure: session.secure });
        // An answer to a connection that `onReceived` has dropped goes nowhere.
        done(onReceived?.(received.length, drop) ?? null);
      });
    },
    ...options,
  });
  // A client that refuses the certificate is an error of the server's socket, too.
  server.on('error', () => undefined);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return { port, received, url: `smtp://127.0.0.1:${port}`, drop };
};

/** Ends every server of this file. */
export const endMailServers = async (): Promise<void> => {
  for (const server of servers.splice(0))
    await new Promise<void>((resolve) => server.close(resolve));
};
