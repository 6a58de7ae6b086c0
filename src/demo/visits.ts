/** The links of the story, and the visits to them. */
import type { Visit } from '#src/links/visitors.ts';
import {
  type Act,
  actor,
  type StoryInput,
  CONCIERGE,
  DEMO_AGENT,
  SCOUT,
  STORY_DAYS,
} from './cast.ts';

type StoryLink = StoryInput<'createLink'> & {
  name: string;
  by: string;
  day: number;
  /** Approximate visits per day. */
  visits: number;
  campaign: string;
  channel: string;
};

export const LINKS: readonly StoryLink[] = [
  {
    name: 'letter mugs',
    by: DEMO_AGENT,
    day: 1.0,
    visits: 6,
    target: { kind: 'product', ref: 'KIT-101' },
    campaign: 'november-letter',
    channel: 'email',
    slug: 'stoneware-mugs',
  },
  {
    name: 'letter candles',
    by: DEMO_AGENT,
    day: 1.1,
    visits: 4,
    target: { kind: 'category', ref: 'Candles' },
    campaign: 'november-letter',
    channel: 'email',
    slug: 'candles-for-shops',
  },
  {
    name: 'letter cards',
    by: DEMO_AGENT,
    day: 8.2,
    visits: 3,
    target: { kind: 'product', ref: 'STA-203' },
    campaign: 'cards-special',
    channel: 'email',
    sub_ids: ['south-west', 'list-b'],
  },
  {
    name: 'fair stand',
    by: DEMO_AGENT,
    day: 12.3,
    visits: 3,
    target: { kind: 'search', ref: 'notebook' },
    campaign: 'harrogate-fair',
    channel: 'qr',
    slug: 'fair-stand-12',
  },
  {
    name: 'post kite',
    by: SCOUT,
    day: 3.1,
    visits: 5,
    target: { kind: 'product', ref: 'TOY-607' },
    campaign: 'windy-week',
    channel: 'social',
  },
  {
    name: 'post throw',
    by: SCOUT,
    day: 9.4,
    visits: 4,
    target: { kind: 'product', ref: 'TEX-701' },
    campaign: 'cosy',
    channel: 'social',
  },
  {
    name: 'chat soap',
    by: CONCIERGE,
    day: 2.4,
    visits: 3,
    target: { kind: 'category', ref: 'Bath' },
    campaign: 'members-chat',
    channel: 'chat',
  },
  {
    name: 'chat totes',
    by: CONCIERGE,
    day: 10.1,
    visits: 2,
    target: { kind: 'product', ref: 'TEX-703' },
    campaign: 'members-chat',
    channel: 'chat',
    sub_ids: ['totes'],
  },
];

export const LINK_ACTS: readonly Act[] = LINKS.map(({ name, by, day, visits: _visits, ...input }) =>
  actor(by)(day, 'createLink', {
    as: name,
    ...input,
    utm: { source: input.channel, campaign: input.campaign },
  }),
);

/** Returns a generator of the same numbers in every run (mulberry32). */
const seeded = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const DESKTOP =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
export const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1';
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const PREVIEW = 'WhatsApp/2.23.20.0';
const COUNTRIES = ['GB', 'GB', 'GB', 'GB', 'IE', 'DE', 'FR', 'US'];
const REFERRERS: Record<string, string> = {
  social: 'https://social.example/',
  chat: 'https://members.harbour.example/chat',
};
/** Number of visitors. Their addresses are in the range for documentation. */
const PEOPLE = 90;

export type PlannedVisit = { day: number; link: string; visit: Visit };

type Kind = 'person' | 'bot' | 'preview' | 'head' | 'prefetch';

const kindOf = (chance: number): Kind => {
  if (chance < 0.08) return 'bot';
  if (chance < 0.12) return 'preview';
  if (chance < 0.15) return 'head';
  return chance < 0.18 ? 'prefetch' : 'person';
};

const agentOf = (kind: Kind, isPhone: boolean): string => {
  if (kind === 'bot') return BOT;
  if (kind === 'preview') return PREVIEW;
  return isPhone ? PHONE : DESKTOP;
};

const plannedVisit = (link: StoryLink, day: number, random: () => number): PlannedVisit => {
  const kind = kindOf(random());
  // Few people visit often, many once.
  const person = Math.floor(random() ** 3 * PEOPLE);
  return {
    day,
    link: link.name,
    visit: {
      method: kind === 'head' ? 'HEAD' : 'GET',
      address: `198.51.100.${person}`,
      user_agent: agentOf(kind, person % 3 !== 0 || link.channel === 'qr'),
      purpose: kind === 'prefetch' ? 'prefetch' : undefined,
      referrer: REFERRERS[link.channel],
      country: COUNTRIES[person % COUNTRIES.length],
      via_qr: link.channel === 'qr',
    },
  };
};

/** The average number of visits on a day: most in the first days of a link, fewer later. */
const averageOn = (link: StoryLink, day: number): number =>
  link.visits * (0.5 + Math.exp(-(day - link.day) / 6));

/** Plans the visits of the links: by people with two kinds of device, and by programs. */
export const plannedVisits = (links: readonly StoryLink[]): PlannedVisit[] => {
  const random = seeded(20_261_121);
  const all: PlannedVisit[] = [];
  for (const link of links)
    for (let day = Math.floor(link.day); day < STORY_DAYS; day++) {
      const visits = Math.round(averageOn(link, day) * (0.5 + random()));
      for (let i = 0; i < visits; i++) {
        // Two draws make the middle of the day busier than its ends.
        const at = day + (random() + random()) / 2;
        const one = plannedVisit(link, at, random);
        if (at > link.day + 0.05) all.push(one);
      }
    }
  return all;
};
