import { type Act, actor, type StoryInput } from './acts.ts';
import { CONCIERGE, DEMO_AGENT, SCOUT } from './cast.ts';

export type StoryLink = StoryInput<'createLink'> & {
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
