import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Common, leaf, whole } from '../command.ts';
import { type Asked, atDesk, type Desk } from '../desk/desk-client.ts';
import { eventCells, type ShownEvent } from '../terminal/event-line.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { note, say, table } from '../terminal/output.ts';

const PAGE = 1_000;
const LOOK_EVERY_MS = 500;
const TAIL_EVENTS = 20;

type Place = Pick<Asked<'readEvents'>, 'owner_id' | 'stream'>;
type Read = { events: ShownEvent[]; head: number };

const print = (options: Common, events: readonly ShownEvent[]): void => {
  if (events.length === 0) return;
  if (options.json) for (const event of events) say(JSON.stringify(event));
  else say(table(events.map(eventCells)));
};

/** A stream has a dash, an owner has none. */
const placeOf = (name: string): Place =>
  name.includes('-') ? { stream: name } : { owner_id: name };

async function* pagesOf(
  desk: Desk,
  place: Place,
  bounds: { after: number; upTo?: number | undefined },
): AsyncGenerator<Read> {
  let { after } = bounds;
  for (;;) {
    const asked = { ...place, after, up_to: bounds.upTo, limit: PAGE };
    const { data, head, more } = await desk.call('readEvents', asked);
    yield { events: data, head };
    after = data.at(-1)?.position ?? after;
    if (!more) return;
  }
}

/** A name that was mistyped must not look like one of which nothing is known. */
const noneOf = (what: string): Failure =>
  new Failure(EXIT.refused, `there are no events of ${what}`, {
    code: 'resource_not_found',
    detail: `no events of ${what}`,
  });

const show = async (name: string, options: Common & { at?: number }): Promise<void> =>
  atDesk(options, async (desk) => {
    let shown = 0;
    for await (const { events } of pagesOf(desk, placeOf(name), { after: 0, upTo: options.at })) {
      print(options, events);
      shown += events.length;
    }
    if (shown > 0) return;
    throw noneOf(options.at === undefined ? name : `${name} at position ${options.at}`);
  });

type Tail = Common & { owner?: string; stream?: string; follow?: boolean; limit: number };

const tail = async (options: Tail): Promise<void> =>
  atDesk(options, async (desk) => {
    const place: Place = {
      ...(options.owner !== undefined && { owner_id: options.owner }),
      ...(options.stream !== undefined && { stream: options.stream }),
    };
    const { limit } = options;
    const { data, head } = await desk.call('readEvents', { ...place, last: limit, limit });
    print(options, data);
    const of = options.stream ?? options.owner;
    if (data.length === 0 && of !== undefined) {
      if (!options.follow || !desk.server) throw noneOf(of);
      note(`There are no events of ${of} yet.`);
    }
    if (!options.follow) return;
    if (!desk.server) {
      note('No server runs on this directory, so nothing new can come: not following.');
      return;
    }
    await follow(desk, place, { options, after: head });
  });

/** Until it is interrupted. */
const follow = async (
  desk: Desk,
  place: Place,
  { options, after }: { options: Common; after: number },
): Promise<void> => {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  process.once('SIGTERM', () => stopping.abort());
  let seen = after;
  while (!stopping.signal.aborted) {
    for await (const { events } of pagesOf(desk, place, { after: seen })) {
      print(options, events);
      seen = events.at(-1)?.position ?? seen;
    }
    await pause(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
};

/** The log as a person reads it. */
export const eventsCommands = (program: Command): void => {
  const events = program.command('events').description('the log, as a person reads it');
  leaf(events, 'tail', 'the newest events; with --json one object a line')
    .option('--owner <id>', 'of this promoter')
    .option('--stream <name>', 'of this stream')
    .option('--follow', 'go on with what comes, until interrupted')
    .option('--limit <n>', 'so many of what is there', whole(1, PAGE), TAIL_EVENTS)
    .action(tail);
  leaf(events, 'show <stream-or-owner>', "a stream, or an owner's history; --json: one a line")
    .option('--at <position>', 'as it stood at this position of the log', whole(1, 2 ** 52))
    .action(show);
};
