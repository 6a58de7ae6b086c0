/** The links of the story, and how many follow each. */
type Channel = 'site' | 'email' | 'social' | 'chat' | 'agent' | 'qr' | 'other';

export type LinkPlot = {
  name: string;
  by: string;
  day: number;
  /** Visits a day, about. */
  pull: number;
  target: { kind: 'product' | 'category' | 'search'; ref: string };
  campaign: string;
  channel: Channel;
  slug?: string;
  sub_ids?: string[];
};

export const LINKS: readonly LinkPlot[] = [
  {
    name: 'letter mugs',
    by: 'Newsletter agent',
    day: 1.0,
    pull: 6,
    target: { kind: 'product', ref: 'KIT-101' },
    campaign: 'november-letter',
    channel: 'email',
    slug: 'stoneware-mugs',
  },
  {
    name: 'letter candles',
    by: 'Newsletter agent',
    day: 1.1,
    pull: 4,
    target: { kind: 'category', ref: 'Candles' },
    campaign: 'november-letter',
    channel: 'email',
    slug: 'candles-for-shops',
  },
  {
    name: 'letter cards',
    by: 'Newsletter agent',
    day: 8.2,
    pull: 3,
    target: { kind: 'product', ref: 'STA-203' },
    campaign: 'cards-special',
    channel: 'email',
    sub_ids: ['south-west', 'list-b'],
  },
  {
    name: 'fair stand',
    by: 'Newsletter agent',
    day: 12.3,
    pull: 3,
    target: { kind: 'search', ref: 'notebook' },
    campaign: 'harrogate-fair',
    channel: 'qr',
    slug: 'fair-stand-12',
  },
  {
    name: 'post kite',
    by: 'Social scout',
    day: 3.1,
    pull: 5,
    target: { kind: 'product', ref: 'TOY-607' },
    campaign: 'windy-week',
    channel: 'social',
  },
  {
    name: 'post throw',
    by: 'Social scout',
    day: 9.4,
    pull: 4,
    target: { kind: 'product', ref: 'TEX-701' },
    campaign: 'cosy',
    channel: 'social',
  },
  {
    name: 'chat soap',
    by: 'Shop concierge',
    day: 2.4,
    pull: 3,
    target: { kind: 'category', ref: 'Bath' },
    campaign: 'members-chat',
    channel: 'chat',
  },
  {
    name: 'chat totes',
    by: 'Shop concierge',
    day: 10.1,
    pull: 2,
    target: { kind: 'product', ref: 'TEX-703' },
    campaign: 'members-chat',
    channel: 'chat',
    sub_ids: ['totes'],
  },
];
