import { isbot } from 'isbot';
import type { z } from 'zod';
import type { EventData } from '#contracts/registries/events.ts';
import type { VisitorOperations } from '#contracts/registries/visitors.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Clock, Ids, Secrets } from '#src/ports/system.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Call } from '#src/shared/call.ts';
import type { Recorder } from '#src/writing/recorder.ts';
import { limiter, networkOf } from '#src/calls/limiter.ts';
import { cached } from '#src/shared/cached.ts';
import { present } from '#src/shared/present.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { type LinkVisit, type SurplusVisits, visitStream } from './surplus-visits.ts';

/** The data of a request for a short link. The address is hashed and not stored. */
export type Visit = Omit<z.output<VisitorOperations['visitLink']['input']>, 'code'>;

export type Visits = {
  /**
   * Resolves when the visit is durable, or added to the surplus of its link. The result is the id of the visit's event
   * if it counts as a valid click, otherwise undefined.
   */
  record(code: CodeRow, visit: Visit, requestId: string): Promise<string | undefined>;
  /** Appends the surplus; resolves when it is durable, or waits for another attempt. */
  flush(): Promise<void>;
};

type Signal = NonNullable<EventData<'VisitRecorded'>['signals']>[number];

// Chat and mail programs that fetch a link to preview it, in addition to those that isbot knows.
const PREVIEW =
  /facebookexternalhit|whatsapp|telegrambot|slackbot|discordbot|twitterbot|linkedinbot|skypeuripreview|preview|embedly|iframely/i;
const MOBILE = /mobi|android|iphone|ipad/i;

const CACHED_AGENTS_MAX = 2_000;

/** Classifies a user agent; cached, because few different ones make most requests. */
const programOf = cached(CACHED_AGENTS_MAX, (userAgent: string): Signal | 'none' =>
  PREVIEW.test(userAgent) ? 'preview' : isbot(userAgent) ? 'bot' : 'none',
);

const signalsOf = ({ method, user_agent, purpose, dest }: Visit): Signal[] => {
  const signals: Signal[] = [];
  if (method === 'HEAD') signals.push('head');
  if (purpose !== undefined && /prefetch|prerender|preview/i.test(purpose))
    signals.push('prefetch');
  // An image, frame or script of another page: no person followed the link.
  if (dest !== undefined && dest !== 'document') signals.push('embedded');
  const program = user_agent ? programOf(user_agent) : 'no_user_agent';
  if (program !== 'none') signals.push(program);
  return signals;
};

const hostOf = (referrer: string | undefined): string | undefined => {
  if (referrer === undefined) return undefined;
  return URL.parse(referrer)?.hostname.slice(0, 253) || undefined;
};

type VisitDeps = {
  recorder: Recorder;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
  surplus: SurplusVisits;
  /** Visits of one network address to one link that are recorded one by one. */
  perMinute: number;
  /** True to record each visit: processes of an earlier version do not know `VisitsSummed`. */
  holdsSums: boolean;
};

/** Records each visit of a network address to a link within the limit, and sums those beyond it. */
export const visitRecorder = (deps: VisitDeps): Visits => {
  const { recorder, clock, ids, surplus, holdsSums } = deps;
  const limit = limiter({ count: deps.perMinute, per: 'minute' }, clock.monotonic);
  return {
    async record(code, visit, requestId) {
      const call: Call = {
        ownerId: code.owner,
        actor: 'visitor',
        surface: 'portal',
        operation: 'visitLink',
        requestId,
        at: clock.now(),
      };
      const isWithin = limit.take(`${networkOf(visit.address)} ${code.link_id}`).allowed;
      if (!isWithin && !holdsSums && surplus.add({ code, call })) return undefined;
      const data = visitData(deps, { code, call }, visit);
      const events = attribute(call, [{ type: 'VisitRecorded', data }], ids);
      // One stream per owner: one per link would spread the visits of a commit over many pages of the
      // log's index, and each page is written twice.
      await recorder.record(visitStream(call), events);
      return data.signals ? undefined : events[0]?.id;
    },
    flush: surplus.flush,
  };
};

const visitData = (
  { secrets }: Pick<VisitDeps, 'secrets'>,
  { code, call }: LinkVisit,
  visit: Visit,
): EventData<'VisitRecorded'> => {
  const { address, user_agent, country, via_qr } = visit;
  const day = Math.floor(call.at / DAY_MS);
  const signals = signalsOf(visit);
  return {
    link_id: code.link_id,
    agent_id: code.agent_id,
    dims: code.dims,
    // The hash includes the day, so that a visitor cannot be recognized on another day.
    visitor: secrets.mac('visitor', `${day}:${address}:${user_agent ?? ''}`).slice(0, 16),
    ...(signals.length > 0 && { signals }),
    ...present({ country }),
    device: deviceOf(user_agent),
    ...present({ referrer_host: hostOf(visit.referrer) }),
    trigger: via_qr ? 'qr' : 'link',
  };
};

const deviceOf = (userAgent: string | undefined): 'desktop' | 'mobile' | 'other' => {
  if (!userAgent) return 'other';
  return MOBILE.test(userAgent) ? 'mobile' : 'desktop';
};
