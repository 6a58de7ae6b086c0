/** The stand-in's process: serves EventStoreDB's protocol and receives commands by IPC (see README.md). */
import { existsSync } from 'node:fs';
import { argv, env } from 'node:process';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { seedOr } from '../../seed.ts';
import { systemClock } from '#src/system/ids.ts';
import { append, batchAppend, leaderElsewhere } from './appends.ts';
import { openDelivery, PACES } from './delivery.ts';
import { faultQueue } from './faults.ts';
import { read } from './reads.ts';
import { type Command, freshStats, SETTINGS, type State, type Stats } from './state.ts';
import { openStore } from './store.ts';
import { ERRORS, nameOf, streamDeleted } from './wire.ts';

type Deleting = {
  getOptions(): { getStreamIdentifier(): Parameters<typeof nameOf>[0] } | undefined;
};

const STREAMS = 'event_store.client.streams.Streams';
const LEADER = 8;
const FOLLOWER = 6;
const [port = '', file] = argv.slice(2);
/** With several ports, a cluster whose nodes share one store. */
const ports = port.split(',');
const { now } = systemClock();

const paceText = env['STAND_IN_PACE'] ?? SETTINGS.pace;
const pace = PACES.find((one) => one === paceText);
if (!pace) throw new Error(`STAND_IN_PACE is ${paceText}, not one of ${PACES.join(', ')}.`);
const settings = { ...SETTINGS, pace };

const state: State = {
  delivery: openDelivery(() => state.settings.pace, {
    seed: seedOr(1),
    restarted: file !== undefined && existsSync(file),
    held: JSON.parse(env['STAND_IN_HELD'] ?? '[]') as string[],
  }),
  store: openStore(now, file),
  faults: faultQueue(),
  stats: freshStats(),
  settings: { ...settings },
  withheld: [],
  subscriptions: new Set(),
  now,
};

const remove =
  <Reply>(how: 'soft' | 'hard', reply: Reply) =>
  (call: ServerUnaryCall<Deleting, Reply>, answer: sendUnaryData<Reply>): void => {
    const elsewhere = leaderElsewhere(state, call);
    if (elsewhere) return answer(elsewhere);
    const fault = state.faults.next('remove');
    if (fault?.do === 'swallow') return;
    if (fault?.do === 'unavailable') return answer(ERRORS.unavailable);
    const name = nameOf(call.request.getOptions()?.getStreamIdentifier());
    if (!state.store.remove(name, how)) return answer(streamDeleted(name));
    if (fault?.do === 'forget') return;
    state.store.whenCommitted(() => answer(null, reply));
  };

const supported = (_: unknown, answer: sendUnaryData<unknown>): void => {
  const methods = ['read', 'append', 'delete', 'tombstone'];
  if (state.settings.batches) methods.push('batchappend');
  const list = methods.map((name) =>
    new features.SupportedMethod().setMethodName(name).setServiceName(STREAMS.toLowerCase()),
  );
  const reply = new features.SupportedMethods().setMethodsList(list);
  answer(null, reply.setEventStoreServerVersion(state.settings.version));
};

const members = (_: unknown, answer: sendUnaryData<unknown>): void => {
  const list = state.settings.nodes.map((node, index) =>
    new gossip.MemberInfo()
      .setState(index === 0 ? LEADER : FOLLOWER)
      .setIsAlive(true)
      .setTimeStamp('0')
      .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(node)),
  );
  answer(null, new gossip.ClusterInfo().setMembersList(list));
};

const until = async (stat: keyof Stats, { least = 0, most = Infinity }): Promise<void> => {
  while (state.stats[stat] < least || state.stats[stat] > most)
    await new Promise((resolve) => setTimeout(resolve, 1));
};

const execute = (command: Command): Promise<void> | Stats | void => {
  const { store, faults } = state;
  switch (command.name) {
    case 'reset':
      for (const drop of state.subscriptions) drop('end');
      store.reset();
      state.delivery.releaseAll();
      faults.clear();
      state.withheld = [];
      Object.assign(state.stats, freshStats());
      Object.assign(state.settings, settings, { nodes: state.settings.nodes });
      return;
    case 'fault':
      return faults.add(command.on, command.fault, command.times);
    case 'set':
      return void Object.assign(state.settings, command.settings);
    case 'hold':
      return store.hold();
    case 'release':
      return store.release();
    case 'erase':
      return store.erase();
    case 'releaseAnswers':
      for (const answer of state.withheld.splice(0)) answer();
      return;
    case 'holdDelivery':
      return state.delivery.hold(command.connection);
    case 'releaseDelivery':
      return state.delivery.release(command.connection);
    case 'drop':
      for (const drop of state.subscriptions) drop(command.how);
      return;
    case 'write':
      return void store.append(command.stream, 'none', [
        {
          id: 'f'.repeat(32),
          type: 'Foreign',
          json: false,
          data: new Uint8Array(1),
          meta: new Uint8Array(),
        },
      ]);
    case 'flood':
      return store.flood(command.count, command.stream, command.type);
    case 'remove':
      return void store.remove(command.stream, command.how);
    case 'scavenge':
      return store.scavenge();
    case 'stats':
      return { ...state.stats };
    case 'await':
      return until(command.stat, command);
  }
};

// The default limits of EventStoreDB's web server, Kestrel.
const server = new Server({
  'grpc.max_concurrent_streams': 100,
  'grpc.max_receive_message_length': 20 * 1_048_576,
});
server.addService(streamsGrpc.StreamsService, {
  read: read(state),
  append: append(state),
  batchAppend: batchAppend(state),
  delete: remove('soft', new streams.DeleteResp()),
  tombstone: remove('hard', new streams.TombstoneResp()),
});
server.addService(featuresGrpc.ServerFeaturesService, { getSupportedMethods: supported });
server.addService(gossipGrpc.GossipService, {
  read: members,
});

const bind = (port: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
state.settings.nodes = await Promise.all(ports.map(bind));
process.send?.('ready');
process.on('message', ({ id, command }: { id: number; command: Command }) => {
  void Promise.resolve(execute(command)).then((answer) => process.send?.({ id, answer }));
});
// The test has ended.
process.on('disconnect', () => process.exit());
