import { isbot } from 'isbot';
import type { EventData } from '#contracts/events/index.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import type { Clock, Ids, Secrets } from '#src/ports/system.ts';
import { attribute } from '../events/attribution.ts';
import type { Call } from '../pipeline/call.ts';
import type { Recorder } from '../events/recorder.ts';
import { cached } from '../shared/cached.ts';
import { DAY_MS } from '../shared/time.ts';

/** The data of a request for a short link. The address is hashed and not stored. */
export type Visit = {
  requestId: string;
  method: string;
  address: string;
  userAgent: string | undefined;
  purpose: string | undefined;
  /** The `Sec-Fetch-Dest` of a browser. */
  dest: string | undefined;
  referrer: string | undefined;
  country: string | undefined;
  viaQr: boolean;
};

export type Visits = {
  /** Resolves when the visit is durable. */
  record(code: CodeRow, visit: Visit): Promise<void>;
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

const signalsOf = ({ method, userAgent, purpose, dest }: Visit): Signal[] => {
  const signals: Signal[] = [];
  if (method === 'HEAD') signals.push('head');
  if (purpose !== undefined && /prefetch|prerender|preview/i.test(purpose))
    signals.push('prefetch');
  // An image, frame or script of another page: no person followed the link.
  if (dest !== undefined && dest !== 'document') signals.push('embedded');
  const program = userAgent ? programOf(userAgent) : 'no_user_agent';
  if (program !== 'none') signals.push(program);
  return signals;
};

const hostOf = (referrer: string | undefined): string | undefined => {
  if (referrer === undefined || !URL.canParse(referrer)) return undefined;
  return new URL(referrer).hostname.slice(0, 253) || undefined;
};

export const visitRecorder = (deps: {
  recorder: Recorder;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
}): Visits => ({
  async record(code, visit) {
    const { recorder, secrets, clock, ids } = deps;
    const at = clock.now();
    const day = Math.floor(at / DAY_MS);
    const signals = signalsOf(visit);
    const referrerHost = hostOf(visit.referrer);
    const data: EventData<'VisitRecorded'> = {
      link_id: code.link_id,
      agent_id: code.agent_id,
      dims: code.dims,
      // The hash includes the day, so that a visitor cannot be recognized on another day.
      visitor: secrets
        .mac('visitor', `${day}:${visit.address}:${visit.userAgent ?? ''}`)
        .slice(0, 16),
      ...(signals.length > 0 && { signals }),
      ...(visit.country !== undefined && { country: visit.country }),
      device: deviceOf(visit.userAgent),
      ...(referrerHost !== undefined && { referrer_host: referrerHost }),
      trigger: visit.viaQr ? 'qr' : 'link',
    };
    const call: Call = {
      ownerId: code.owner,
      actor: 'visitor',
      surface: 'portal',
      operation: 'visitLink',
      requestId: visit.requestId,
      at,
    };
    const events = attribute(call, [{ type: 'VisitRecorded', data }], ids);
    // One stream per owner: one per link would spread the visits of a commit over many pages of the
    // log's index, and each page is written twice.
    await recorder.record(`${code.owner}-visits_${day}`, events);
  },
});

const deviceOf = (userAgent: string | undefined): 'desktop' | 'mobile' | 'other' => {
  if (!userAgent) return 'other';
  return MOBILE.test(userAgent) ? 'mobile' : 'desktop';
};
