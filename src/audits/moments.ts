/** Moments of an owner's history: a position of the log, or a time. */
import {
  type EventLog,
  type EventTime,
  eventTimeOf,
  type Position,
  type StoredEvent,
} from '#src/ports/event-log.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { isRefusal, type Refusal, refuseParameter } from '#src/shared/outcome.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { eventLoopTurns } from '#src/shared/work.ts';
import { AUDIT_PAGE, eventBefore } from '#src/reading/read-back.ts';

export type OwnerLog = Pick<EventLog, 'head' | 'readOwner' | 'readBack' | 'readTimesBack'>;

/** The state of an owner that an answer shows. */
export type Moment = {
  position: Position;
  /** Time of the owner's last event up to the position, in epoch milliseconds; null before the first one. */
  at: number | null;
  /** The time at which records are shown, because some end by themselves. */
  shownAt: number;
};

/**
 * How much an event can be earlier than one before it, because processes have clocks of their own; the log refuses more.
 * After an operator has accepted an earlier clock, times before it are ambiguous, and a position is not.
 */
const SKEW_MS_MAX = 300_000;

const isPosition = (text: string): boolean => /^\d+$/.test(text);

const outOfRange = (field: string, detail: string): Refusal =>
  refuseParameter(`/${field}`, 'out_of_range', detail);

/** Reads the moment of a field; no text means the head of the log, with records shown as of `now`. */
const momentOf = async (
  log: OwnerLog,
  owner: string,
  asked: { field: string; text: string | undefined; now: number },
): Promise<Moment | Refusal> => {
  const { field, text, now } = asked;
  const { position: head, at: headAt } = await log.head();
  if (text !== undefined && !isPosition(text)) {
    const time = Date.parse(text);
    // Another process can have a later clock, and its events have times that an auditor sends back.
    if (time > Math.max(now, headAt ?? 0))
      return outOfRange(field, `is later than now, ${iso(now)}`);
    const last = await lastEventUntil(log, { owner, time, head });
    return { position: last?.position ?? 0, at: last?.meta.at ?? null, shownAt: time };
  }
  const position = text === undefined ? head : Number(text);
  if (position > head)
    return outOfRange(field, `is greater than the last position of the log, ${head}`);
  const [last] = await log.readBack({ upTo: position, limit: 1, owner });
  const at = last?.meta.at ?? null;
  return { position, at, shownAt: text === undefined ? now : (at ?? now) };
};

/**
 * Finds the owner's last event before its first event with a later time. Bisects to two events, one earlier and one later
 * by more than clocks can differ: none before the first one is later than the time, and all after the second one are.
 */
const lastEventUntil = async (
  log: OwnerLog,
  { owner, time, head }: { owner: string; time: number; head: Position },
): Promise<StoredEvent | undefined> => {
  const start = await eventBefore(log, { owner, time: time - SKEW_MS_MAX, head });
  const end = await eventBefore(log, { owner, time: time + SKEW_MS_MAX, head });
  const after = start?.position ?? 0;
  const upTo = end?.position ?? 0;
  let before = upTo;
  // Back, because a log on a server finds the events of one owner so, at a cost that other owners do not raise.
  for (let last = upTo; last > after; ) {
    await eventLoopTurns.pause();
    const page = await timesBack(log, { owner, upTo: last, limit: AUDIT_PAGE });
    for (const { position, at } of page.toReversed())
      if (position > after && at > time) before = position - 1;
    last = (page[0]?.position ?? 1) - 1;
  }
  // Reads the two events that decide with their checksums.
  if (before < upTo) await log.readBack({ upTo: before + 1, limit: 1, owner });
  const [event] = await log.readBack({ upTo: before, limit: 1, owner });
  return event;
};

/** Reads positions and times, without the events if the log can: all of an owner's around a time may be large. */
const timesBack = async (
  log: OwnerLog,
  query: { owner: string; upTo: Position; limit: number },
): Promise<EventTime[]> =>
  log.readTimesBack ? log.readTimesBack(query) : (await log.readBack(query)).map(eventTimeOf);

export const renderMoment = ({ position, at, shownAt }: Moment) => ({
  ...renderAsOf({ position, at }),
  shown_at: iso(shownAt),
});

/** Finds both ends of a range of an owner's history. Without `from` it begins before the first event, without `to` it ends at the head. */
export const auditedRange = async (
  deps: { log: OwnerLog },
  call: DeskCall,
  { owner, from, to }: { owner: string; from: string | undefined; to: string | undefined },
): Promise<{ from: Moment; to: Moment } | Refusal> => {
  const end = await auditedMoment(deps, call, { owner, field: 'to', text: to });
  if (isRefusal(end)) return end;
  const start =
    from === undefined
      ? { position: 0, at: null, shownAt: call.at }
      : await auditedMoment(deps, call, { owner, field: 'from', text: from });
  if (isRefusal(start)) return start;
  return start.position > end.position
    ? outOfRange(
        'from',
        `is position ${start.position}, after the end of the range, ${end.position}`,
      )
    : { from: start, to: end };
};

/**
 * Finds the moment that an audit of an owner asks for. An owner without any event is refused, because an empty answer
 * would hide a mistyped name.
 */
export const auditedMoment = async (
  { log }: { log: OwnerLog },
  call: DeskCall,
  { owner, ...asked }: { owner: string; field: string; text: string | undefined },
): Promise<Moment | Refusal> => {
  if (!mayActFor(call, owner)) return NO_OWNER;
  const moment = await momentOf(log, owner, { ...asked, now: call.at });
  if (isRefusal(moment) || moment.at !== null) return moment;
  return (await hasEvents(log, owner)) ? moment : NO_OWNER;
};

export const hasEvents = async (log: OwnerLog, owner: string): Promise<boolean> => {
  const { position: upTo } = await log.head();
  return (await log.readBack({ upTo, limit: 1, owner })).length > 0;
};
