/** Encodes and decodes messages of the protocol with the client's generated stubs. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, status as codes } from '@grpc/grpc-js';
import { type Decision, type Expected, type Kept, type Proposed, TOMBSTONE } from './store.ts';

type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>;
type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>;
type AppendResp = InstanceType<typeof streams.AppendResp>;
type ReadResp = InstanceType<typeof streams.ReadResp>;
type UUID = InstanceType<typeof shared.UUID>;
type StreamIdentifier = InstanceType<typeof shared.StreamIdentifier>;
type Status = InstanceType<typeof status.Status>;
type Packable = { serializeBinary(): Uint8Array };

const TICKS_PER_MS = 10_000n;
/** The largest revision, which a tombstone has. */
const LAST_REVISION = '9223372036854775807';

export const nameOf = (identifier: StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();

const identifierOf = (name: string): StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(name).toString('base64'));

export const expectedOf = (options: {
  hasNoStream(): boolean;
  hasAny(): boolean;
  hasStreamExists(): boolean;
  getStreamPosition?(): string;
  getRevision?(): string;
}): Expected => {
  if (options.hasNoStream()) return 'none';
  if (options.hasAny()) return 'any';
  if (options.hasStreamExists()) return 'exists';
  return Number(options.getStreamPosition?.() ?? options.getRevision?.());
};

/** The forms of a UUID that the server reads. */
export const isUuid = (id: string): boolean =>
  /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.test(id);

export const proposedOf = (
  message: InstanceType<typeof streams.BatchAppendReq.ProposedMessage>,
): Proposed => ({
  id: message.getId()?.getString() ?? '',
  type: message.getMetadataMap().get('type') ?? '',
  json: message.getMetadataMap().get('content-type') === 'application/json',
  data: message.getData_asU8(),
  meta: message.getCustomMetadata_asU8(),
});

/** An Any, without depending on its package: the empty field 3 of a Status. */
const emptyAny = () => status.Status.deserializeBinary(Uint8Array.of(0x1a, 0)).getDetails();

const failure = (message: string, name: string, packed: Packable): Status => {
  const details = emptyAny();
  details?.pack(packed.serializeBinary(), name);
  return new status.Status().setMessage(message).setDetails(details);
};
const named = (name: string, packed: Packable): Status =>
  failure(name, `event_store.client.${name}`, packed);

/** Errors of one append on the batch path. */
export const TIMED_OUT = (): Status => named('Timeout', new shared.Timeout());
export const DENIED = (): Status => named('AccessDenied', new shared.AccessDenied());
export const NO_UUID = (): Status =>
  named('BadRequest', new shared.BadRequest().setMessage('Invalid event id.'));
export const TOO_LARGE = (most: number): Status =>
  named('MaximumAppendSizeExceeded', new shared.MaximumAppendSizeExceeded().setMaxappendsize(most));
/** An error without a type: an empty Any. */
export const untyped = (message: string): Status =>
  failure(message, 'google.protobuf.Empty', new shared.Empty());

const wrongVersion = (expected: Expected, current: number): Status => {
  const wrong = new shared.WrongExpectedVersion();
  if (current >= 0) wrong.setCurrentStreamRevision(String(current));
  if (typeof expected === 'number') wrong.setExpectedStreamPosition(String(expected));
  return named('WrongExpectedVersion', wrong);
};

export const batchReply = (
  request: { correlation: UUID | undefined; stream: string; expected: Expected },
  answer: Exclude<Decision, { kind: 'dropped' }> | Status,
): BatchAppendResp => {
  const reply = new streams.BatchAppendResp()
    .setCorrelationId(request.correlation)
    .setStreamIdentifier(identifierOf(request.stream));
  if (answer instanceof status.Status) return reply.setError(answer);
  if (answer.kind === 'wrong')
    return reply.setError(wrongVersion(request.expected, answer.current));
  if (answer.kind === 'deleted')
    return reply.setError(named('StreamDeleted', new shared.StreamDeleted()));
  const success = new streams.BatchAppendResp.Success();
  success.setCurrentRevision(String(answer.revision));
  if (answer.position !== undefined) {
    const position = new shared.AllStreamPosition();
    position.setCommitPosition(String(answer.position));
    position.setPreparePosition(String(answer.position));
    success.setPosition(position);
  }
  return reply.setSuccess(success);
};

/** For appends of one call each. */
export const appendReply = (
  answer: Extract<Decision, { kind: 'written' | 'repeated' | 'wrong' }>,
): AppendResp => {
  const reply = new streams.AppendResp();
  if (answer.kind === 'wrong') {
    const wrong = new streams.AppendResp.WrongExpectedVersion();
    if (answer.current >= 0) wrong.setCurrentRevision(String(answer.current));
    return reply.setWrongExpectedVersion(wrong);
  }
  const success = new streams.AppendResp.Success();
  success.setCurrentRevision(String(answer.revision));
  if (answer.position !== undefined) {
    const position = new streams.AppendResp.Position();
    position.setCommitPosition(String(answer.position));
    position.setPreparePosition(String(answer.position));
    success.setPosition(position);
  }
  return reply.setSuccess(success);
};

export const eventReply = (record: Kept): ReadResp => {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(record.id))
    .setStreamIdentifier(identifierOf(record.stream))
    .setStreamRevision(record.type === TOMBSTONE ? LAST_REVISION : String(record.revision))
    .setCommitPosition(String(record.position))
    .setPreparePosition(String(record.position))
    .setData(record.data)
    .setCustomMetadata(record.meta);
  const map = recorded.getMetadataMap();
  map.set('type', record.type);
  map.set('content-type', record.json ? 'application/json' : 'application/octet-stream');
  map.set('created', String(BigInt(Math.round(record.created)) * TICKS_PER_MS));
  const event = new streams.ReadResp.ReadEvent().setEvent(recorded);
  return new streams.ReadResp().setEvent(event.setCommitPosition(String(record.position)));
};

export const notFoundReply = (stream: string): ReadResp =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifierOf(stream)),
  );
export const confirmationReply = (id: string): ReadResp =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id),
  );
export const caughtUpReply = (): ReadResp =>
  new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());
/** In a window without a match the prepare position is 0. */
export const checkpointReply = (commit: number, matched: boolean): ReadResp =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(matched ? commit : 0)),
  );

export type CallError = { code: codes; details: string; metadata?: Metadata };

const exception = (code: codes, details: string, fields: Record<string, string>): CallError => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return { code, details, metadata };
};
/** Errors of a call. */
export const ERRORS = {
  tooSlow: {
    code: codes.ABORTED,
    details:
      'Operation timed out: Consumer too slow to handle event while live. ' +
      'Client resubscription required.',
  },
  /** As measured on 23.10.8: a subscription and a read from a position that is not a record's. */
  noPlace: { code: codes.UNKNOWN, details: 'Exception was thrown by handler.' },
  noPlaceToRead: { code: codes.UNKNOWN, details: 'Unexpected ReadAllResult: Error' },
  /** An event id that is not a UUID. */
  noUuid: { code: codes.UNKNOWN, details: 'Exception was thrown by handler.' },
  noOptions: { code: codes.INVALID_ARGUMENT, details: 'No options' },
  unavailable: { code: codes.UNAVAILABLE, details: 'Connection dropped' },
  reset: { code: codes.INTERNAL, details: 'Received RST_STREAM with code 0' },
  unauthenticated: { code: codes.UNAUTHENTICATED, details: 'Unauthenticated' },
  timedOut: { code: codes.ABORTED, details: 'Operation timed out: Prepare phase timeout.' },
  notReady: { code: codes.UNAVAILABLE, details: 'Server Is Not Ready' },
  denied: exception(codes.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' }),
} satisfies { [name: string]: CallError };

export const notLeader = (port: number): CallError =>
  exception(codes.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(port),
  });
export const streamDeleted = (stream: string): CallError =>
  exception(codes.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });
export const tooLarge = (most: number): CallError =>
  exception(codes.INVALID_ARGUMENT, `Maximum Append Size of ${most} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(most),
  });

export type { BatchAppendReq, BatchAppendResp, ReadResp, Status };
