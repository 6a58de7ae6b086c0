/** Commands that show events, and follow new ones. */
import { EVENTS_PAGE_MAX } from '#contracts/limits.ts';
import { withDesk } from '#src/cli/desk.ts';
import type { Desk, DeskRequest } from '#src/cli/transport.ts';
import type { CommonOptions } from '../options.ts';
import {
  followUntilInterrupted,
  CommandError,
  EXIT,
  formatTable,
  print,
  printNotice,
} from '#src/cli/terminal.ts';
import { type ShownEvent, toCells } from '#src/cli/texts.ts';

/** Which events: those of a stream or of an owner; without either, all. */
type Selection = Pick<DeskRequest<'readEvents'>, 'owner_id' | 'stream'>;
type Bounds = { after: number; upTo?: number | undefined };

const printEvents = (options: CommonOptions, events: readonly ShownEvent[]): void => {
  if (events.length === 0) return;
  if (options.json) for (const event of events) print(JSON.stringify(event));
  else print(formatTable(events.map(toCells)));
};

/** Prints the selected events within the bounds, and returns the position of the last one. */
const printAll = async (
  desk: Desk,
  request: Selection & Bounds,
  options: CommonOptions,
): Promise<number> => {
  const { upTo: up_to, ...rest } = request;
  let { after } = rest;
  for (;;) {
    const page = { ...rest, after, up_to, limit: EVENTS_PAGE_MAX };
    const { data, more } = await desk.call('readEvents', page);
    printEvents(options, data);
    after = data.at(-1)?.position ?? after;
    if (!more) return after;
  }
};

/** An error, because an empty result would hide a mistyped name. */
const noEventsError = (name: string): CommandError =>
  new CommandError(EXIT.refused, `there are no events of ${name}`, {
    code: 'resource_not_found',
    detail: `no events of ${name}`,
  });

export const showEvents = async (
  name: string,
  options: CommonOptions & { at?: number },
): Promise<void> => {
  const { at } = options;
  // The name of a stream has a dash, that of an owner has none.
  const selection = name.includes('-') ? { stream: name } : { owner_id: name };
  const last = await withDesk(options, (desk) =>
    printAll(desk, { ...selection, after: 0, upTo: at }, options),
  );
  if (last === 0) throw noEventsError(at === undefined ? name : `${name} at position ${at}`);
};

type TailOptions = CommonOptions & Selection & { owner?: string; follow?: boolean; limit: number };

export const tailEvents = async (options: TailOptions): Promise<void> =>
  withDesk(options, async (desk) => {
    const { owner: owner_id, stream, limit, follow } = options;
    const { data, head } = await desk.call('readEvents', { owner_id, stream, last: limit, limit });
    printEvents(options, data);
    const name = stream ?? owner_id;
    if (data.length === 0 && name !== undefined) {
      if (!follow || !desk.server) throw noEventsError(name);
      printNotice(`There are no events of ${name} yet.`);
    }
    if (!follow) return;
    if (desk.server) await followEvents(desk, { owner_id, stream, after: head }, options);
    else printNotice('No server runs on this directory, so there is nothing to follow.');
  });

/** Prints new events until the command is interrupted. */
const followEvents = async (
  desk: Desk,
  request: Selection & Bounds,
  options: CommonOptions,
): Promise<void> => {
  let { after } = request;
  await followUntilInterrupted(async () => {
    after = await printAll(desk, { ...request, after }, options);
  });
};
