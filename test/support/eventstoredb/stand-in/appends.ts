/** Appends: in batches over one stream, or one call each. */
import type {
  ClientReadableStream,
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
} from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendFault } from './faults.ts';
import type { State } from './state.ts';
import type { Expected, Proposed } from './store.ts';
import type { BatchAppendReq, BatchAppendResp, CallError, Status } from './wire.ts';
import {
  appendReply,
  batchReply,
  DENIED,
  ERRORS,
  expectedOf,
  isUuid,
  nameOf,
  NO_UUID,
  notLeader,
  proposedOf,
  streamDeleted,
  TIMED_OUT,
  TOO_LARGE,
  untyped,
  tooLarge,
} from './wire.ts';

type BatchCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;
type Options = NonNullable<ReturnType<BatchAppendReq['getOptions']>>;
type Pending = { options: Options; events: Proposed[]; bytes: number };
type Request = {
  correlation: ReturnType<BatchAppendReq['getCorrelationId']>;
  stream: string;
  expected: Expected;
};

const bytesOf = ({ data, meta, type }: Proposed): number =>
  data.length + meta.length + 2 * type.length;

/** The error for a call that requires the leader on a port that is not the leader's. */
export const leaderElsewhere = (
  state: State,
  call: { getHost(): string; metadata: { get(name: string): unknown[] } },
): CallError | undefined => {
  const { leader } = state.settings;
  if (leader === null || call.getHost().endsWith(`:${leader}`)) return undefined;
  return call.metadata.get('requires-leader').length > 0 ? notLeader(leader) : undefined;
};

const fail = (call: BatchCall | ClientReadableStream<unknown>, error: CallError): void => {
  call.emit('error', error);
};

/** Applies a fault that replaces the answer. Returns true if there was one. */
const applyFault = (
  state: State,
  call: BatchCall,
  fault: AppendFault | undefined,
  written: boolean,
): boolean => {
  switch (fault?.do) {
    case 'swallow':
      return !written;
    case 'forget':
      return written;
    case 'end':
      if (fault.written === written) call.end();
      return fault.written === written;
    case 'break':
      if (fault.written === written) fail(call, ERRORS.unavailable);
      return fault.written === written;
    case 'die':
      if (fault.written === written) process.kill(process.pid, 'SIGKILL');
      return fault.written === written;
    case 'notLeader':
      if (!written) fail(call, notLeader(fault.port));
      return !written;
    default:
      return false;
  }
};

/** The error of an append that is refused before it is written. */
const refusal = (state: State, fault: AppendFault | undefined, pending: Pending) => {
  const deadline = pending.options.getDeadline()?.toDate().getTime() ?? Infinity;
  if (deadline <= state.now() + state.settings.skewMs) return TIMED_OUT();
  if (pending.bytes > state.settings.appendBytesMax)
    return TOO_LARGE(state.settings.appendBytesMax);
  if (!pending.events.every(({ id }) => isUuid(id))) return NO_UUID();
  if (fault?.do === 'tell') return untyped(fault.text);
  if (fault?.do === 'deny') return DENIED();
  if (fault?.do === 'timeout' && !fault.written) return TIMED_OUT();
  return undefined;
};

const finish = (state: State, call: BatchCall, request: Request, pending: Pending): void => {
  const { store, stats, settings } = state;
  stats.appends += 1;
  const elsewhere = leaderElsewhere(state, call);
  if (elsewhere) return fail(call, elsewhere);
  const fault = state.faults.next('append');
  if (applyFault(state, call, fault, false)) return;
  const send = (answer: Parameters<typeof batchReply>[1]): void => {
    const reply = batchReply(request, answer);
    const write = (): void => void call.write(reply);
    if (fault?.do === 'withhold') state.withheld.push(write);
    else write();
    if (fault?.do === 'duplicate') write();
  };
  const refused: Status | undefined = refusal(state, fault, pending);
  if (refused) return send(refused);
  if (fault?.do === 'wrong') return send({ kind: 'wrong', current: 7 });
  const decision = store.append(request.stream, request.expected, pending.events);
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    send(TIMED_OUT());
  }, settings.writeTimeoutMs).unref();
  if (decision.kind === 'dropped') return;
  const answer = (): void => {
    clearTimeout(late);
    if (isLate) return;
    if (applyFault(state, call, fault, true)) return;
    if (fault?.do === 'timeout') return send(TIMED_OUT());
    if (fault?.do === 'noPosition' && 'position' in decision)
      return send({ ...decision, position: undefined });
    send(decision);
  };
  if (decision.kind === 'written') store.whenCommitted(answer);
  else answer();
};

export const batchAppend = (state: State) => (call: BatchCall) => {
  state.stats.batchStreams += 1;
  const elsewhere = leaderElsewhere(state, call);
  if (elsewhere) return fail(call, elsewhere);
  const pending = new Map<string, Pending>();
  call.on('data', (message: BatchAppendReq) => {
    const correlation = message.getCorrelationId();
    const key = correlation?.getString() ?? '';
    const options = message.getOptions();
    const parts = pending.get(key) ?? (options && { options, events: [], bytes: 0 });
    if (!parts) return;
    pending.set(key, parts);
    for (const event of message.getProposedMessagesList().map(proposedOf)) {
      parts.events.push(event);
      parts.bytes += bytesOf(event);
    }
    if (!message.getIsFinal()) return;
    pending.delete(key);
    const stream = nameOf(parts.options.getStreamIdentifier());
    finish(state, call, { correlation, stream, expected: expectedOf(parts.options) }, parts);
  });
  call.on('end', () => call.end());
  call.on('error', () => {});
};

type AppendReq = InstanceType<typeof streams.AppendReq>;
type AppendResp = InstanceType<typeof streams.AppendResp>;

export const append =
  (state: State) =>
  (call: ServerReadableStream<AppendReq, AppendResp>, reply: sendUnaryData<AppendResp>): void => {
    const elsewhere = leaderElsewhere(state, call);
    if (elsewhere) return reply(elsewhere);
    const events: Proposed[] = [];
    let options: ReturnType<AppendReq['getOptions']>;
    call.on('data', (message: AppendReq) => {
      options ??= message.getOptions();
      const proposed = message.getProposedMessage();
      if (proposed) events.push(proposedOf(proposed));
    });
    call.on('error', () => {});
    call.on('end', () => {
      state.stats.classicAppends += 1;
      if (!options) return reply(ERRORS.noOptions);
      if (!events.every(({ id }) => isUuid(id))) return reply(ERRORS.noUuid);
      const { appendBytesMax, writeTimeoutMs } = state.settings;
      const bytes = events.reduce((sum, event) => sum + bytesOf(event), 0);
      if (bytes > appendBytesMax) return reply(tooLarge(appendBytesMax));
      const stream = nameOf(options.getStreamIdentifier());
      const decision = state.store.append(stream, expectedOf(options), events);
      if (decision.kind === 'deleted') return reply(streamDeleted(stream));
      let isLate = false;
      const late = setTimeout(() => {
        isLate = true;
        reply(ERRORS.timedOut);
      }, writeTimeoutMs).unref();
      if (decision.kind === 'dropped') return;
      const answer = (): void => {
        clearTimeout(late);
        if (isLate) return;
        reply(null, appendReply(decision));
      };
      if (decision.kind === 'written') state.store.whenCommitted(answer);
      else answer();
    });
  };
