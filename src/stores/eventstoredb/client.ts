/** Creates the client, and works around faults of version 6.2.1 that would end the process. */
import type { Duplex, Readable } from 'node:stream';
import { EventStoreDBClient } from '@eventstore/db-client';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';

/** A stream of gRPC; `cancel` ends the call, also one that waits for a connection. */
type GrpcStream = Duplex & { cancel(): void };

type StreamMaker = (
  client: unknown,
  name: string,
  create: (grpc: unknown) => GrpcStream,
  cache?: object,
) => () => Promise<GrpcStream>;

type GrpcChannel = {
  getConnectivityState(tryToConnect: boolean): number;
  /** Calls back, synchronously, when the state is no longer `state`. */
  watchConnectivityState(state: number, deadline: number, callback: () => void): void;
};

/** Members that the client's types declare as `protected` or `private`. */
type Inner = {
  GRPCStreamCreator: StreamMaker;
  callArguments(options: { requiresLeader?: boolean }, call: { deadline: number }): unknown[];
  createChannel: () => Promise<GrpcChannel>;
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
const guard = (stream: GrpcStream): GrpcStream => {
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

const READY = 2;
const SHUTDOWN = 4;

/** Calls `onState` for each state of the channel; for READY before any waiting call is sent. */
const watchConnections = (channel: GrpcChannel, onState: (state: number) => void): void => {
  const watch = (): void => {
    const state = channel.getConnectivityState(false);
    onState(state);
    if (state !== SHUTDOWN) channel.watchConnectivityState(state, Infinity, watch);
  };
  watch();
};

/** What a client calls, because it connects again unseen. */
export type ConnectionHooks = {
  /** Called for each change of a connection. */
  onChanged(): void;
  /** Called before each append; when it rejects, nothing is sent. */
  beforeAppend(): Promise<void>;
};

/** Throws the client's error about the URL, which may contain the password. */
export const openClient = (
  url: string,
  { onChanged, beforeAppend }: ConnectionHooks,
): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  const inner = innerOf(client);
  let appends: GrpcStream | undefined;
  const onState = (state: number): void => {
    onChanged();
    if (state !== READY) return;
    // gRPC would send the waiting appends to the new server, which can have another log.
    appends?.destroy(new Error('14 UNAVAILABLE: the connection was replaced'));
    appends?.cancel();
    appends = undefined;
  };
  const createChannel = inner.createChannel;
  inner.createChannel = async () => {
    const channel = await createChannel();
    watchConnections(channel, onState);
    return channel;
  };
  const create = inner.GRPCStreamCreator;
  let previous: Promise<unknown> = Promise.resolve();
  inner.GRPCStreamCreator = (...[grpc, name, open, cache]) => {
    // Only the stream of appends is cached.
    if (!cache) return create(grpc, name, open);
    const take = create(grpc, name, (grpcClient) => (appends = guard(open(grpcClient))), cache);
    return () => {
      // The call that opens the stream would get it one tick after those that find it open, which
      // would send its append last. Each call waits for the one before it.
      const stream = previous.then(beforeAppend).then(take);
      previous = stream.catch(() => {});
      return stream;
    };
  };
  return client;
};

/** A call that the server answers with messages; `cancel` also ends it there. */
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
  const open = (stub: unknown): GrpcStream => {
    const call = inner.callArguments(options, { deadline: Infinity });
    const { makeServerStreamRequest: make } = stub as Stub;
    return make.call(stub, path, serialize, decode, request, ...call) as unknown as GrpcStream;
  };
  const stream = await inner.GRPCStreamCreator(streams.StreamsClient, 'readAll', open)();
  return stream;
};

/** The server's version; 'unknown' if it does not report one. */
export const serverVersion = async (client: EventStoreDBClient): Promise<string> =>
  (await innerOf(client).capabilities).serverVersion;
