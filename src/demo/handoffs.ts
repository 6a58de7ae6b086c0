/** Lists for buyers, and what their buyers do with them. The companies are invented. */
import { productIdOfSku } from '#src/catalog/import-products.ts';
import { type Act, actor, MAILBOX_OF, type StoryInput } from './acts.ts';
import { concierge, newsletter, privacy, staff, VISITOR } from './cast.ts';
import { PHONE } from './traffic.ts';

/** The list that the banner links to. */
export const WAITING = 'waiting list';

const lines = (quantities: Record<string, number>) =>
  Object.entries(quantities).map(([sku, quantity]) => ({ sku, quantity }));

const rfq = (day: number, list: string, change: Omit<StoryInput<'moveRfq'>, 'handoff_id'>): Act =>
  staff(day, 'moveRfq', { handoff_id: `{${list}.id}`, ...change });

const gbp = (amount: number) => ({ values: [{ amount, currency: 'GBP' }] });
const valid_until = '{later}';

const locale = 'en-GB';
const cornerBuyer = actor('corner list');
const adventBuyer = actor('advent list');
const bookBuyer = actor('book list');
const spaBuyer = actor('spa list');
const cornerMailbox = actor(`${MAILBOX_OF}corner list`);
const bookMailbox = actor(`${MAILBOX_OF}book list`);
const spaMailbox = actor(`${MAILBOX_OF}spa list`);
/** An address of the documentation range. */
const ADDRESS = '192.0.2.1';
const visitor = actor(VISITOR);
const galleryBuyer = actor('gallery list');
const galleryMailbox = actor(`${MAILBOX_OF}gallery RFQ`);

export const HANDOFF_ACTS: readonly Act[] = [
  newsletter(4.3, 'createHandoff', {
    as: 'corner list',
    title: 'Kitchen shelf, autumn',
    locale,
    buyer: { company: 'Pimlico Corner Shop', country: 'GB' },
    line_items: lines({ 'KIT-101': 48, 'KIT-103': 40, 'KIT-105': 50 }),
    link_id: '{letter mugs.id}',
  }),
  cornerBuyer(5.1, 'openHandoff', {}),
  cornerBuyer(5.2, 'reviseList', {
    list_revision: 1,
    quantities: new Map(Object.entries({ 1: '144', 2: '0' })),
  }),
  cornerBuyer(5.4, 'submitRfq', {
    list_revision: 2,
    consent: true,
    address: ADDRESS,
    contact: { name: 'Ines Okafor', email: 'ines@pimlicocorner.example' },
  }),
  cornerMailbox(5.5, 'confirmRequest', { list_revision: 2 }),
  rfq(6.1, 'corner list', { to: 'in_progress' }),
  rfq(6.4, 'corner list', { to: 'quoted', ...gbp(51_000), valid_until }),
  rfq(9.2, 'corner list', { to: 'in_progress', reason: 'Asked for a better price of the mugs' }),
  rfq(9.4, 'corner list', { to: 'quoted', ...gbp(49_690), valid_until }),
  rfq(12.4, 'corner list', { to: 'won' }),

  newsletter(9.6, 'createHandoff', {
    as: 'advent list',
    title: 'Advent window',
    locale,
    buyer: { company: 'Gable End Gifts', country: 'IE' },
    line_items: lines({ 'SEA-803': 12, 'SEA-801': 48 }),
  }),
  adventBuyer(11.2, 'openHandoff', {}),
  adventBuyer(11.3, 'declineHandoff', { reason: 'Too late for our window this year' }),

  newsletter(13.4, 'createHandoff', {
    as: 'book list',
    title: 'Till counter, small things',
    locale,
    buyer: { company: 'Third Shelf Books', country: 'GB' },
    line_items: lines({ 'STA-203': 240, 'STA-207': 40, 'STA-201': 120 }),
    link_id: '{letter cards.id}',
  }),
  bookBuyer(15.3, 'openHandoff', {}),
  bookBuyer(15.5, 'submitRfq', {
    list_revision: 1,
    consent: true,
    address: ADDRESS,
    contact: { name: 'Tom Arkwright', email: 'tom@thirdshelf.example' },
  }),
  bookMailbox(15.6, 'confirmRequest', { list_revision: 1 }),
  rfq(16.3, 'book list', { to: 'in_progress' }),
  rfq(21.3, 'book list', { to: 'lost', reason: 'Bought from a local printer' }),
  privacy(24.3, 'erasePersonalData', {
    mailbox: 'tom@thirdshelf.example',
    proof: 'Written from this address, and called back on the number of the shop',
  }),

  concierge(7.2, 'createHandoff', {
    as: 'spa list',
    title: 'Bath corner for the shop at the spa',
    locale,
    buyer: { company: 'Quayside Spa', country: 'GB' },
    line_items: lines({ 'BAT-501': 120, 'BAT-503': 60, 'BAT-506': 16 }),
    link_id: '{chat soap.id}',
  }),
  spaBuyer(8.1, 'openHandoff', {}),
  spaBuyer(8.3, 'submitRfq', {
    list_revision: 1,
    consent: true,
    address: ADDRESS,
    contact: { name: 'Priya Nair', email: 'priya@quayside.example', company: 'Quayside Spa' },
  }),
  spaMailbox(8.4, 'confirmRequest', { list_revision: 1 }),
  rfq(9.5, 'spa list', { to: 'quoted', ...gbp(33_460), valid_until }),
  rfq(17.6, 'spa list', { to: 'won' }),
  staff(18.2, 'correctRfq', {
    handoff_id: '{spa list.id}',
    to: 'won',
    ...gbp(32_460),
    reason: 'Two cases arrived broken and were not paid',
  }),

  // A visitor makes this list behind a link in a post; no agent prepared it.
  visitor(18.4, 'visitLink', {
    as: 'gallery visit',
    code: '{post throw.code}',
    method: 'GET',
    address: ADDRESS,
    user_agent: PHONE,
    country: 'GB',
    via_qr: false,
  }),
  visitor(18.41, 'createList', {
    as: 'gallery list',
    lines: [
      { product_id: productIdOfSku('TEX-701'), quantity: 12 },
      { product_id: productIdOfSku('TEX-703'), quantity: 50 },
    ],
    attribution: ['{gallery visit.attribution}'],
    once: 'GalleryShopNorthwind01',
    address: ADDRESS,
  }),
  galleryBuyer(18.42, 'openHandoff', {}),
  galleryBuyer(18.43, 'submitRfq', {
    as: 'gallery RFQ',
    list_revision: 1,
    consent: true,
    address: ADDRESS,
    contact: { name: 'Marek Dvorak', email: 'marek@gallerysteps.example', country: 'GB' },
  }),
  galleryMailbox(18.44, 'confirmRequest', { list_revision: 1 }),
  rfq(19.1, 'gallery RFQ', { to: 'quoted', ...gbp(29_800), valid_until }),
  rfq(23.2, 'gallery RFQ', { to: 'won' }),

  concierge(21.1, 'createHandoff', {
    as: 'museum list',
    title: 'Totes, second colour',
    locale,
    buyer: { company: 'Harbour Museum', country: 'GB' },
    line_items: lines({ 'TEX-703': 100 }),
  }),
  staff(22.2, 'withdrawHandoff', {
    handoff_id: '{museum list.id}',
    owner_id: 'harbour',
    reason: 'The museum asked for another print',
  }),

  newsletter(28.4, 'createHandoff', {
    as: WAITING,
    title: 'Winter table, first idea',
    locale,
    buyer: { company: 'Fern & Flint', country: 'GB', email: 'buying@fernandflint.example' },
    line_items: lines({
      'CAN-401': 48,
      'CAN-406': 30,
      'KIT-102': 12,
      'STA-205': 15,
      'TEX-701': 1,
      'SEA-807': 8,
    }),
    note_to_buyer:
      'Quantities are a start from your last order. Change what you like; nothing is ordered.',
    link_id: '{letter candles.id}',
  }),
];
