/** One client of the server, mended where version 6.2.1 would take the process down with it. */
import type { Duplex } from 'node:stream';
import { EventStoreDBClient } from '@eventstore/db-client';

type StreamMaker = (
  client: unknown,
  name: string,
  create: (grpc: unknown) => Duplex,
  cache?: object,
) => () => Promise<Duplex>;

/** `protected` in the client's types, and there on every instance. */
type Inner = {
  GRPCStreamCreator: StreamMaker;
  readonly capabilities: Promise<{ serverVersion: string }>;
};

const innerOf = (client: EventStoreDBClient): Inner => client as unknown as Inner;

/**
 * The stream that carries all appends, without three ways to lose a process or an answer:
 * - A reply that nobody waits for any more throws inside the client. There are such: an error of
 *   one stream forgets the appends of every other (C4), and their replies still come.
 * - A write that waits for room when the connection breaks is an unhandled rejection. So no write
 *   waits; how many may be under way is bounded before they come here.
 * - A server that ends it in order leaves the appends on it, and all later ones, without an answer
 *   (C2). An error lets the client tell them and open another.
 */
const guarded = (stream: Duplex): Duplex => {
  const answers = stream.listeners('data') as ((reply: unknown) => void)[];
  stream.removeAllListeners('data');
  stream.on('data', (reply: unknown) => {
    for (const answer of answers) {
      try {
        answer(reply);
      } catch {
        // The append it belongs to is being repeated, and finds out.
      }
    }
  });
  const write = stream.write.bind(stream) as (message: unknown) => boolean;
  stream.write = (message: unknown) => {
    write(message);
    return true;
  };
  stream.on('end', () => stream.destroy(new Error('14 UNAVAILABLE: the server ended the appends')));
  return stream;
};

/** Throws what the client says of the URL, which may quote its password. */
export const openClient = (url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  const inner = innerOf(client);
  const make = inner.GRPCStreamCreator;
  let before: Promise<unknown> = Promise.resolve();
  // Only the stream of appends is kept from one call to the next.
  inner.GRPCStreamCreator = (grpc, name, create, cache) => {
    if (!cache) return make(grpc, name, create);
    const take = make(grpc, name, (grpcClient) => guarded(create(grpcClient)), cache);
    return () => {
      // Who opens the stream gets it a tick after those who find it open, and would come last.
      const mine = before.then(take);
      before = mine.catch(() => {});
      return mine;
    };
  };
  return client;
};

/** As the server tells it; 'unknown' where it does not. */
export const serverVersion = async (client: EventStoreDBClient): Promise<string> =>
  (await innerOf(client).capabilities).serverVersion;
