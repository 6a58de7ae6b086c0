/** Reads and subscriptions. */
import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { leaderElsewhere } from './appends.ts';
import type { SubscribeFault } from './faults.ts';
import type { Drop, State } from './state.ts';
import type { Kept } from './store.ts';
import type { CallError, ReadResp } from './wire.ts';
import {
  caughtUpReply,
  checkpointReply,
  confirmationReply,
  ERRORS,
  eventReply,
  nameOf,
  notFoundReply,
  notLeader,
  streamDeleted,
} from './wire.ts';

type ReadReq = InstanceType<typeof streams.ReadReq>;
type Options = NonNullable<ReturnType<ReadReq['getOptions']>>;
type Call = ServerWritableStream<ReadReq, ReadResp>;

const { FORWARDS } = streams.ReadReq.Options.ReadDirection;
const WINDOW = 32;
// A real server has two queues of 32 events between the log and a live subscriber.
const LIVE_QUEUE_MAX = 64;
/** Here the queue can fill in one turn, so a reader has this much time before it counts as slow. */
const SLOW_MS = 1_000;

const fail = (call: Call, error: CallError): void => void call.emit('error', error);

/** Sends a reply; waits while the reader's buffer is full. Returns false when the call has ended. */
const send = async (call: Call, reply: ReadResp, slow?: () => void): Promise<boolean> => {
  if (call.cancelled || call.destroyed) return false;
  if (call.write(reply)) return true;
  const gone = new AbortController();
  const stop = (): void => gone.abort();
  const timer = slow && setInterval(slow, SLOW_MS);
  for (const end of ['cancelled', 'close', 'error']) call.once(end, stop);
  await once(call, 'drain', { signal: gone.signal }).catch(() => {});
  clearInterval(timer);
  for (const end of ['cancelled', 'close', 'error']) call.off(end, stop);
  return !gone.signal.aborted;
};

/** Forwards from the record at the position, backwards from the one before it. */
const pageOfAll = ({ store }: State, options: Options): readonly Kept[] | undefined => {
  const all = store.committed();
  const from = options.getAll();
  const count = Number(options.getCount());
  const position = from?.getPosition();
  const index = position && store.indexOf(Number(position.getCommitPosition()));
  if (position && index === undefined) return undefined;
  const forwards = options.getReadDirection() === FORWARDS;
  if (forwards) {
    const start = index ?? (from?.hasEnd() ? all.length : 0);
    return all.slice(start, start + count);
  }
  const end = index ?? (from?.hasStart() ? 0 : all.length);
  return all.slice(Math.max(0, end - count), end).toReversed();
};

const pageOfStream = (kept: readonly Kept[], options: Options): readonly Kept[] => {
  const from = options.getStream();
  const count = Number(options.getCount());
  const revision = from?.hasRevision() ? Number(from.getRevision()) : undefined;
  if (options.getReadDirection() === FORWARDS) {
    const start = revision ?? (from?.hasEnd() ? Infinity : 0);
    return kept.filter((record) => record.revision >= start).slice(0, count);
  }
  const end = revision ?? (from?.hasStart() ? 0 : Infinity);
  return kept
    .filter((record) => record.revision <= end)
    .toReversed()
    .slice(0, count);
};

const readOnce = async (state: State, call: Call, options: Options): Promise<void> => {
  let page: readonly Kept[] | undefined;
  if (options.hasAll()) {
    page = pageOfAll(state, options);
    if (!page) return fail(call, ERRORS.noPlaceToRead);
  } else {
    const name = nameOf(options.getStream()?.getStreamIdentifier());
    const found = state.store.stream(name);
    if (found?.tombstone) return fail(call, streamDeleted(name));
    if (!found) {
      call.write(notFoundReply(name));
      call.end();
      return;
    }
    page = pageOfStream(found.kept, options);
  }
  state.stats.recordsRead += page.length;
  for (const record of page) if (!(await send(call, eventReply(record)))) return;
  call.end();
};

const filterOf = (options: Options): ((record: Kept) => boolean) => {
  const filter = options.getFilter();
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  if (!filter || !expression) return () => true;
  const prefixes = expression.getPrefixList();
  const regex = new RegExp(expression.getRegex(), 'u');
  return ({ stream, type }) => {
    const text = filter.hasStreamIdentifier() ? stream : type;
    return prefixes.length > 0
      ? prefixes.some((prefix) => text.startsWith(prefix))
      : regex.test(text);
  };
};

const subscribe = async (
  state: State,
  call: Call,
  { options, fault }: { options: Options; fault: SubscribeFault | undefined },
): Promise<void> => {
  const { store, stats } = state;
  const passes = filterOf(options);
  const every = WINDOW * (options.getFilter()?.getCheckpointintervalmultiplier() ?? 0);
  let considered = 0;
  let queue: { item: Kept | { commit: number }; due: number }[] = [];
  const lane = state.delivery.lane(String(call.metadata.get('connection-name')[0] ?? ''));
  let live = false;
  let silent = false;
  let wake: (() => void) | undefined;

  const drop = (how: Drop): void => {
    if (how === 'silence') silent = true;
    else if (how === 'end') call.end();
    else if (how === 'slow') fail(call, ERRORS.tooSlow);
    else fail(call, ERRORS[how]);
  };
  const follow = (fresh: readonly Kept[]): void => {
    if (!live || silent) return;
    const due = lane.due();
    for (const record of fresh) {
      considered += 1;
      if (passes(record)) queue.push({ item: record, due });
      else if (every > 0 && considered % every === 0)
        queue.push({ item: { commit: record.position }, due });
    }
    wake?.();
  };
  const slow = (): void => {
    const now = performance.now();
    if (!live || queue.filter(({ due }) => due <= now).length <= LIVE_QUEUE_MAX) return;
    stats.cuts += 1;
    queue = [];
    live = false;
    drop('slow');
  };
  const leave = (): void => {
    if (!store.followers.delete(follow)) return;
    state.subscriptions.delete(drop);
    stats.subscriptionsNow -= 1;
    live = false;
    wake?.();
  };
  stats.subscriptions += 1;
  stats.subscriptionsNow += 1;
  store.followers.add(follow);
  state.subscriptions.add(drop);
  for (const end of ['cancelled', 'close', 'error', 'finish']) call.on(end, leave);

  const position = options.getAll()?.getPosition();
  let next = 0;
  if (position) {
    const index = store.indexOf(Number(position.getCommitPosition()));
    if (index === undefined) return fail(call, ERRORS.noPlace);
    // A real server skips this record even when it is not the one at the position.
    next = fault?.do === 'inclusive' ? index : index + 1;
  } else if (options.getAll()?.hasEnd()) next = store.committed().length;

  let left = fault?.do === 'break' ? fault.after : Infinity;
  const reply = async (message: ReadResp): Promise<boolean> => {
    if (message.hasEvent() && (left -= 1) < 0) drop('unavailable');
    return silent || (left >= 0 && send(call, message, slow));
  };
  if (!(await reply(confirmationReply('subscription')))) return;
  if (fault?.do === 'absurd') await reply(checkpointReply(2 ** 60, true));
  await lane.open(lane.due());
  while (next < store.committed().length) {
    await lane.open(0);
    const window = store.committed().slice(next, next + WINDOW);
    next += window.length;
    const matches = window.filter(passes);
    for (const record of matches) if (!(await reply(eventReply(record)))) return;
    considered += window.length;
    if (every === 0 || considered < every) continue;
    considered %= every;
    const at = (matches.at(-1) ?? window[0])?.position ?? 0;
    if (!(await reply(checkpointReply(at, matches.length > 0)))) return;
  }
  live = store.followers.has(follow);
  if (!(await reply(caughtUpReply()))) return;
  while (live || queue.length > 0) {
    if (queue[0]) await lane.open(queue[0].due);
    const item = queue.shift()?.item;
    if (!item) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
      continue;
    }
    const message = 'commit' in item ? checkpointReply(item.commit, false) : eventReply(item);
    if (!(await reply(message))) return;
  }
};

export const read = (state: State) => (call: Call) => {
  const options = call.request.getOptions();
  if (!options) return fail(call, ERRORS.noOptions);
  call.on('error', () => {});
  const elsewhere = leaderElsewhere(state, call);
  if (elsewhere) return fail(call, elsewhere);
  if (options.hasAll() && !state.settings.all) return fail(call, ERRORS.denied);
  if (options.hasSubscription()) {
    const fault = state.faults.next('subscribe');
    if (fault?.do === 'unavailable' || fault?.do === 'noPlace') return fail(call, ERRORS[fault.do]);
    if (fault?.do === 'silent') {
      state.stats.subscriptions += 1;
      return;
    }
    void subscribe(state, call, { options, fault });
    return;
  }
  const { stats } = state;
  stats.reads += 1;
  stats.readsNow += 1;
  stats.readsMost = Math.max(stats.readsMost, stats.readsNow);
  let hasEnded = false;
  const leave = (): void => {
    if (!hasEnded) stats.readsNow -= 1;
    hasEnded = true;
  };
  for (const end of ['cancelled', 'close', 'error', 'finish']) call.on(end, leave);
  const fault = state.faults.next('read');
  const isHistory = options.hasAll() && options.getReadDirection() === FORWARDS;
  if (isHistory && Number(options.getCount()) > 1 && !state.settings.history) return;
  if (fault?.do === 'swallow') return;
  if (fault?.do === 'unavailable') return fail(call, ERRORS.unavailable);
  if (fault?.do === 'deny') return fail(call, ERRORS.denied);
  if (fault?.do === 'notLeader') return fail(call, notLeader(fault.port));
  // A server answers concurrent reads in any order: every second one is delayed by a turn.
  if (stats.reads % 2 === 0) void readOnce(state, call, options);
  else setImmediate(() => void readOnce(state, call, options));
};
