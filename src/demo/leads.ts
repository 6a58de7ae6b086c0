/** Leads, and how far staff take each. The companies are invented. */
import type { StaffMove } from '#src/domain/lead-state.ts';

type Move = { day: number; to: StaffMove; reason?: string; value?: [number, string] };

export type LeadPlot = {
  name: string;
  by: string;
  day: number;
  company: string;
  country: string;
  contact?: { name: string; email: string; role?: string };
  link?: string;
  handoff?: string;
  categories?: string[];
  quantity?: number;
  note?: string;
  moves?: Move[];
  withdrawn?: { day: number; reason: string };
};

export const LEADS: readonly LeadPlot[] = [
  {
    name: 'corner',
    by: 'Newsletter agent',
    day: 4.4,
    company: 'Pimlico Corner Shop',
    country: 'GB',
    contact: { name: 'Ines Okafor', email: 'ines@pimlicocorner.example', role: 'Owner' },
    handoff: 'corner shop',
    moves: [
      { day: 4.8, to: 'accepted' },
      { day: 5.0, to: 'contacted' },
      { day: 12.4, to: 'won', value: [49_690, 'GBP'] },
    ],
  },
  {
    name: 'bookshop',
    by: 'Newsletter agent',
    day: 13.5,
    company: 'Third Shelf Books',
    country: 'GB',
    contact: { name: 'Tom Arkwright', email: 'tom@thirdshelf.example' },
    handoff: 'bookshop',
    moves: [
      { day: 14.1, to: 'accepted' },
      { day: 14.5, to: 'contacted' },
      { day: 15.0, to: 'qualified' },
      { day: 21.3, to: 'lost', reason: 'Bought from a local printer' },
    ],
  },
  {
    name: 'spa',
    by: 'Shop concierge',
    day: 7.3,
    company: 'Quayside Spa',
    country: 'GB',
    contact: { name: 'Priya Nair', email: 'priya@quayside.example', role: 'Shop manager' },
    handoff: 'spa',
    moves: [
      { day: 7.9, to: 'accepted' },
      { day: 17.6, to: 'won', value: [32_460, 'GBP'] },
    ],
  },
  {
    name: 'spa again',
    by: 'Newsletter agent',
    day: 10.5,
    company: 'Quayside Spa',
    country: 'GB',
    contact: { name: 'Priya Nair', email: 'priya@quayside.example' },
  },
  {
    name: 'delicatessen',
    by: 'Newsletter agent',
    day: 16.2,
    company: 'Feinkost Lindner',
    country: 'DE',
    contact: { name: 'Jonas Lindner', email: 'jonas@lindner.example' },
    link: 'letter mugs',
    categories: ['Kitchen'],
    quantity: 300,
    note: 'Would like samples of the glaze first',
    moves: [
      { day: 16.8, to: 'accepted' },
      { day: 18.0, to: 'contacted' },
      { day: 19.5, to: 'qualified' },
    ],
  },
  {
    name: 'pop-up',
    by: 'Newsletter agent',
    day: 17.1,
    company: 'Saturday Pop-up',
    country: 'GB',
    link: 'fair stand',
    moves: [
      { day: 17.9, to: 'accepted' },
      { day: 18.6, to: 'contacted' },
      { day: 19.1, to: 'unqualified', reason: 'Sells at markets for one month only' },
    ],
  },
  {
    name: 'private',
    by: 'Shop concierge',
    day: 19.2,
    company: 'M. Delacroix',
    country: 'FR',
    moves: [{ day: 19.8, to: 'rejected', reason: 'A private person' }],
  },
  {
    name: 'farm shop',
    by: 'Shop concierge',
    day: 23.3,
    company: 'Lower Moor Farm Shop',
    country: 'GB',
    contact: { name: 'Beth Rowe', email: 'beth@lowermoor.example' },
    withdrawn: { day: 24.4, reason: 'Closed over winter' },
  },
  {
    name: 'gallery',
    by: 'Newsletter agent',
    day: 26.7,
    company: 'Slate Gallery',
    country: 'IE',
    contact: { name: 'Aoife Byrne', email: 'aoife@slategallery.example' },
    categories: ['Stationery', 'Candles'],
    moves: [{ day: 27.5, to: 'accepted' }],
  },
  {
    name: 'toyshop',
    by: 'Newsletter agent',
    day: 29.2,
    company: 'Pied Piper Toys',
    country: 'GB',
    categories: ['Toys'],
    quantity: 120,
  },
];
