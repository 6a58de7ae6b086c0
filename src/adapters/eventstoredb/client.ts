/** Creates the client, and works around faults of version 6.2.1 that would end the process. */
import type { Duplex, Readable } from 'node:stream';
import { EventStoreDBClient } from '@eventstore/db-client';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';

type StreamMaker = (
  client: unknown,
  name: string,
  create: (grpc: unknown) => Duplex,
  cache?: object,
) => () => Promise<Duplex>;

/** Members that the client's types declare as `protected`. */
type Inner = {
  GRPCStreamCreator: StreamMaker;
  callArguments(options: { requiresLeader?: boolean }, call: { deadline: number }): unknown[];
  readonly capabilities: Promise<{ serverVersion: string }>;
};

const innerOf = (client: EventStoreDBClient): Inner => client as unknown as Inner;

/**
 * Guards the stream of appends against three faults of the client:
 * - A reply that no append awaits throws inside the client. Such replies are normal: an error of one
 *   stream makes the client forget the appends of every stream, and their replies still arrive.
 * - A write that awaits a drain when the connection breaks is an unhandled rejection. So no write
 *   waits; the caller limits the number of appends under way.
 * - When the server ends the stream normally, appends on it never settle. Destroying it with an error
 *   makes the client reject them and open another stream.
 */
const guard = (stream: Duplex): Duplex => {
  const answers = stream.listeners('data') as ((reply: unknown) => void)[];
  stream.removeAllListeners('data');
  stream.on('data', (reply: unknown) => {
    for (const answer of answers) {
      try {
        answer(reply);
      } catch {
        // The append of this reply is being repeated, which determines its outcome.
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

/** Throws the client's error about the URL, which may contain the password. */
export const openClient = (url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  const inner = innerOf(client);
  const create = inner.GRPCStreamCreator;
  let previous: Promise<unknown> = Promise.resolve();
  inner.GRPCStreamCreator = (...[grpc, name, open, cache]) => {
    // Only the stream of appends is cached.
    if (!cache) return create(grpc, name, open);
    const take = create(grpc, name, (grpcClient) => guard(open(grpcClient)), cache);
    return () => {
      // The call that opens the stream would get it one tick after those that find it open, which
      // would send its append last. Each call waits for the one before it.
      const stream = previous.then(take);
      previous = stream.catch(() => {});
      return stream;
    };
  };
  return client;
};

/** A call that the server answers with messages; `cancel` ends it there, too. */
export type ServerStream = Readable & { cancel(): void };

type Stub = { makeServerStreamRequest(...call: unknown[]): ServerStream };

/**
 * Calls the server's `Read`. The client's own methods would decode every message completely; here
 * `decode` receives its bytes. It must return no null, which would end the stream.
 */
export const openRead = async (
  client: EventStoreDBClient,
  request: { serializeBinary(): Uint8Array },
  { decode, ...options }: { decode(bytes: Buffer): unknown; requiresLeader?: boolean },
): Promise<ServerStream> => {
  const inner = innerOf(client);
  const { path } = streams.StreamsService.read;
  const serialize = () => Buffer.from(request.serializeBinary());
  const open = (stub: unknown): Duplex => {
    const call = inner.callArguments(options, { deadline: Infinity });
    const { makeServerStreamRequest: make } = stub as Stub;
    return make.call(stub, path, serialize, decode, request, ...call) as unknown as Duplex;
  };
  const stream = await inner.GRPCStreamCreator(streams.StreamsClient, 'readAll', open)();
  return stream as unknown as ServerStream;
};

/** The server's version; 'unknown' if it does not report one. */
export const serverVersion = async (client: EventStoreDBClient): Promise<string> =>
  (await innerOf(client).capabilities).serverVersion;
