/** Lists for buyers, and what their buyers do with them. The companies are invented. */
type Contact = { name: string; email: string; company?: string };

export type HandoffPlot = {
  name: string;
  by: string;
  day: number;
  title: string;
  company: string;
  country: string;
  from?: string;
  note?: string;
  email?: string;
  lines: readonly (readonly [sku: string, quantity: number])[];
  opened?: number;
  revised?: { day: number; quantities: Record<string, string> };
  sent?: { day: number; contact: Contact };
  declined?: { day: number; reason: string };
  withdrawn?: { day: number; reason: string };
};

/** The list that the banner links to. */
export const WAITING = 'waiting';

export const HANDOFFS: readonly HandoffPlot[] = [
  {
    name: 'corner shop',
    by: 'Newsletter agent',
    day: 4.3,
    title: 'Kitchen shelf, autumn',
    company: 'Pimlico Corner Shop',
    country: 'GB',
    from: 'letter mugs',
    lines: [
      ['KIT-101', 48],
      ['KIT-103', 40],
      ['KIT-105', 50],
    ],
    opened: 5.1,
    revised: { day: 5.2, quantities: { 1: '144', 2: '0' } },
    sent: {
      day: 5.4,
      contact: { name: 'Ines Okafor', email: 'ines@pimlicocorner.example' },
    },
  },
  {
    name: 'late season',
    by: 'Newsletter agent',
    day: 9.6,
    title: 'Advent window',
    company: 'Gable End Gifts',
    country: 'IE',
    lines: [
      ['SEA-803', 12],
      ['SEA-801', 48],
    ],
    opened: 11.2,
    declined: { day: 11.3, reason: 'Too late for our window this year' },
  },
  {
    name: 'bookshop',
    by: 'Newsletter agent',
    day: 13.4,
    title: 'Till counter, small things',
    company: 'Third Shelf Books',
    country: 'GB',
    from: 'letter cards',
    lines: [
      ['STA-203', 240],
      ['STA-207', 40],
      ['STA-201', 120],
    ],
    opened: 15.3,
    sent: {
      day: 15.5,
      contact: { name: 'Tom Arkwright', email: 'tom@thirdshelf.example' },
    },
  },
  {
    name: 'spa',
    by: 'Shop concierge',
    day: 7.2,
    title: 'Bath corner for the shop at the spa',
    company: 'Quayside Spa',
    country: 'GB',
    from: 'chat soap',
    lines: [
      ['BAT-501', 120],
      ['BAT-503', 60],
      ['BAT-506', 16],
    ],
    opened: 8.1,
    sent: {
      day: 8.3,
      contact: { name: 'Priya Nair', email: 'priya@quayside.example', company: 'Quayside Spa' },
    },
  },
  {
    name: 'recalled',
    by: 'Shop concierge',
    day: 21.1,
    title: 'Totes, second colour',
    company: 'Harbour Museum',
    country: 'GB',
    lines: [['TEX-703', 100]],
    withdrawn: { day: 22.2, reason: 'The museum asked for another print' },
  },
  {
    name: WAITING,
    by: 'Newsletter agent',
    day: 28.4,
    title: 'Winter table, first idea',
    company: 'Fern & Flint',
    country: 'GB',
    from: 'letter candles',
    note: 'Quantities are a start from your last order. Change what you like; nothing is ordered.',
    email: 'buying@fernandflint.example',
    lines: [
      ['CAN-401', 48],
      ['CAN-406', 30],
      ['KIT-102', 12],
      ['STA-205', 15],
      ['TEX-701', 1],
      ['SEA-807', 8],
    ],
  },
];
