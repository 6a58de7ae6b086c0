/** Calls that read `$all`, the stream of all records of the database. */
import type { EventStoreDBClient } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Position } from '#src/ports/event-log.ts';
import { openRead, type ServerStream } from './client.ts';
import { collect } from './collect.ts';
import { decodeReadResponse, type ReadItem } from './read-response.ts';
import type { Recorded } from './recorded-events.ts';

const { Options } = streams.ReadReq;
type Options = InstanceType<typeof Options>;

/** Which records the server sends to a subscription. */
export type AllFilter = { types: readonly string[] } | { owner: string } | 'all';

export type AllPage = {
  /** Reads include the record at this position forwards, and exclude it backwards. */
  from: Position | 'end';
  maxCount: number;
  isBackwards?: boolean;
};

// The server examines 32 records at a time and sends a checkpoint after this many batches.
const CHECKPOINT_WINDOWS = 32;

/** Reads one page of `$all`. Backwards reads are answered by the leader. */
export const readPage = async (
  client: EventStoreDBClient,
  { from, maxCount, isBackwards = false }: AllPage,
  idleMs: number,
): Promise<Recorded[]> => {
  const { FORWARDS, BACKWARDS } = Options.ReadDirection;
  const options = optionsFrom(from)
    .setCount(String(maxCount))
    .setReadDirection(isBackwards ? BACKWARDS : FORWARDS)
    .setNoFilter(new shared.Empty());
  const call = open(client, options, isBackwards);
  const items = await collect<ReadItem>(call, idleMs);
  return items.filter((item): item is Recorded => typeof item === 'object' && 'type' in item);
};

/** Subscribes to the records after `from`. With a filter, the server also sends checkpoints. */
export const subscribeToAll = (
  client: EventStoreDBClient,
  from: Position,
  filter: AllFilter,
): Promise<ServerStream> => {
  const options = optionsFrom(from).setSubscription(new Options.SubscriptionOptions());
  if (filter === 'all') options.setNoFilter(new shared.Empty());
  else options.setFilter(filterOptions(filter));
  return open(client, options, false);
};

const open = (client: EventStoreDBClient, options: Options, requiresLeader: boolean) => {
  const request = new streams.ReadReq().setOptions(options);
  return openRead(client, request, { decode: decodeReadResponse, requiresLeader });
};

const optionsFrom = (from: Position | 'end'): Options => {
  const all = new Options.AllOptions();
  if (from === 'end') all.setEnd(new shared.Empty());
  else if (from <= 0) all.setStart(new shared.Empty());
  else {
    const commit = String(from);
    const position = new Options.Position().setCommitPosition(commit).setPreparePosition(commit);
    all.setPosition(position);
  }
  return new Options()
    .setAll(all)
    .setResolveLinks(false)
    .setUuidOption(new Options.UUIDOption().setString(new shared.Empty()));
};

const filterOptions = (filter: Exclude<AllFilter, 'all'>) => {
  const options = new Options.FilterOptions()
    .setCount(new shared.Empty())
    .setCheckpointintervalmultiplier(CHECKPOINT_WINDOWS);
  const expression = new Options.FilterOptions.Expression();
  if ('owner' in filter)
    return options.setStreamIdentifier(expression.setPrefixList([`${filter.owner}-`]));
  const types = filter.types.map(escape).join('|');
  return options.setEventType(expression.setRegex(`^(?:${types})$`));
};

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|#\s]/g, '\\$&');
