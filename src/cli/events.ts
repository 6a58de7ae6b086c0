import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Common } from './command.ts';
import { leaf, whole } from './command.ts';
import type { Asked, Desk } from './desk-client.ts';
import { atDesk } from './desk-client.ts';
import type { ShownEvent } from './event-line.ts';
import { eventCells } from './event-line.ts';
import { EXIT, Failure } from './exit.ts';
import { note, say, table } from './output.ts';

const PAGE = 1_000;
const LOOK_EVERY_MS = 500;
const TAIL_EVENTS = 20;
/** How far back an owner's newest events are looked for first, in events of the whole log. */
const WINDOW_EVENTS = 1_000;
const WINDOW_GROWTH = 8;

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

const show = async (name: string, options: Common & { at?: number }): Promise<void> =>
  atDesk(options, async (desk) => {
    let shown = 0;
    for await (const { events } of pagesOf(desk, placeOf(name), { after: 0, upTo: options.at })) {
      print(options, events);
      shown += events.length;
    }
    if (shown > 0) return;
    const asOf = options.at === undefined ? '' : ` at position ${options.at}`;
    throw new Failure(EXIT.refused, `there are no events of ${name}${asOf}`, {
      code: 'resource_not_found',
      detail: `no events of ${name}${asOf}`,
    });
  });

/** The newest `limit` events of a place: looked for backwards, because the log is read forwards. */
const newest = async (desk: Desk, place: Place, limit: number): Promise<Read> => {
  const { head } = await desk.call('readEvents', { last: 1, limit: 1 });
  for (let window = Math.max(WINDOW_EVENTS, limit); ; window *= WINDOW_GROWTH) {
    const after = Math.max(0, head - window);
    let events: ShownEvent[] = [];
    for await (const page of pagesOf(desk, place, { after, upTo: head }))
      events = [...events, ...page.events].slice(-limit);
    if (events.length >= limit || after === 0) return { events, head };
  }
};

type Tail = Common & { owner?: string; stream?: string; follow?: boolean; limit: number };

const tail = async (options: Tail): Promise<void> =>
  atDesk(options, async (desk) => {
    const place: Place = {
      ...(options.owner !== undefined && { owner_id: options.owner }),
      ...(options.stream !== undefined && { stream: options.stream }),
    };
    const { events, head } = await newest(desk, place, options.limit);
    print(options, events);
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
