/**
 * A month of a small wholesaler, performed through the real operations when the data directory is empty, so that
 * agents, owners, buyers and auditors have something to look at on the first day.
 */
import type { ProductChange } from '#contracts/catalog/operations.ts';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import { readFeed } from '#src/catalog/feed.ts';
import { productIdOfSku } from '#src/catalog/import-products.ts';
import type { Service } from '#src/main.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { everyPage } from '#src/reading/lists.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { readLastEvent } from '#src/writing/streams.ts';
import {
  type Act,
  actor,
  MAILBOX_OF,
  STAFF,
  type StoryInput,
  concierge,
  newsletter,
  privacy,
  staff,
  VISITOR,
  BUYER_OF,
  northwind,
  scout,
  ACCESS_ACTS,
  DEMO_AGENT,
  KEY_DAYS,
  openingActs,
  ROOT,
  type DemoClock,
  STORY_DAYS,
} from './cast.ts';
import { type DemoFacts, demoFactsIn, demoLogIn, writeDemoFacts } from './facts.ts';
import { Player } from './player.ts';
import { PHONE, LINK_ACTS, LINKS, plannedVisits } from './visits.ts';

/** The list that the banner links to. */
const WAITING = 'waiting list';

const lines = (quantities: Record<string, number>) =>
  Object.entries(quantities).map(([sku, quantity]) => ({ sku, quantity }));

const rfq = (day: number, list: string, change: Omit<StoryInput<'moveRfq'>, 'handoff_id'>): Act =>
  staff(day, 'moveRfq', { handoff_id: `{${list}.id}`, ...change });

type Quote = StoryInput<'quoteRfq'>;

/** A quotation of everything on the list, at the catalog's prices unless `lines` has others. */
const quote = (day: number, list: string, more: Omit<Quote, 'handoff_id'>): Act =>
  staff(day, 'quoteRfq', { as: quoteOf(list), handoff_id: `{${list}.id}`, ...more });

const quoteOf = (list: string): string => `quotation for the ${list}`;

/** A line with a price of its own, in GBP. */
const at = (line_id: string, amount: number) => ({
  line_id,
  unit_price: { amount, currency: 'GBP' },
});

const agree = (day: number, list: string): Act =>
  actor(BUYER_OF + quoteOf(list))(day, 'agreeToQuotation', { hash: `{${quoteOf(list)}.hash}` });

const gbp = (amount: number) => ({ values: [{ amount, currency: 'GBP' }] });
const valid_until = '{in 30 days}';
/** From the day of the quotation to a day after the end of the story. */
const VALID_TO_TOMORROW = '{in 3.4 days}';

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

/** The buyer opens the list and sends it as an RFQ. */
const sendRfq = (
  day: number,
  list: string,
  contact: StoryInput<'submitRfq'>['contact'],
): readonly Act[] => [
  actor(list)(day, 'openHandoff', {}),
  actor(list)(day + 0.1, 'submitRfq', {
    list_revision: 1,
    consent: true,
    address: ADDRESS,
    contact,
  }),
];

const confirm = (day: number, list: string): Act =>
  actor(MAILBOX_OF + list)(day, 'confirmRequest', { list_revision: 1 });

/** RFQs that wait for staff: an old one, one whose quotation ends tomorrow, one in two currencies, one unconfirmed. */
const OPEN_RFQ_ACTS: readonly Act[] = [
  newsletter(19.3, 'createHandoff', {
    as: 'tea room list',
    title: 'Tea room shelf',
    locale,
    buyer: { company: 'Orchard Tea Room', country: 'GB' },
    line_items: lines({ 'KIT-101': 48, 'KIT-106': 12 }),
    link_id: '{letter mugs.id}',
  }),
  ...sendRfq(20.2, 'tea room list', { name: 'Nell Hargreaves', email: 'nell@orchardtea.example' }),
  confirm(20.5, 'tea room list'),
  staff(28.8, 'assignRecord', { record_id: '{tea room list.id}', person: STAFF }),
  staff(28.8, 'planNextStep', {
    record_id: '{tea room list.id}',
    due_at: '{in 1.5 days}',
    step: 'Call about the delivery date',
  }),

  newsletter(24.5, 'createHandoff', {
    as: 'florist list',
    title: 'Candle snuffers for the counter',
    locale,
    buyer: { company: 'Stem & Thorn', country: 'GB' },
    line_items: lines({ 'CAN-406': 60 }),
    link_id: '{letter candles.id}',
  }),
  ...sendRfq(25.2, 'florist list', { name: 'Owen Birch', email: 'owen@stemandthorn.example' }),
  confirm(25.4, 'florist list'),
  quote(27.6, 'florist list', { valid_until: VALID_TO_TOMORROW }),
  actor(BUYER_OF + quoteOf('florist list'))(28.9, 'askAboutQuotation', {
    question: 1,
    text: 'Do the snuffers come in single boxes?',
  }),

  concierge(27.2, 'createHandoff', {
    as: 'coffee list',
    title: 'Coffee bar, first order',
    locale,
    buyer: { company: 'Lock Keeper Coffee', country: 'GB' },
    line_items: lines({ 'KIT-101': 48, 'KIT-109': 40 }),
  }),
  ...sendRfq(28.1, 'coffee list', { name: 'Sam Adeyemi', email: 'sam@lockkeeper.example' }),
  confirm(28.4, 'coffee list'),

  newsletter(28.6, 'createHandoff', {
    as: 'salon list',
    title: 'Salon shelf, bath and candles',
    locale,
    buyer: { company: 'Salt & Linen', country: 'IE' },
    line_items: lines({ 'BAT-501': 60, 'CAN-406': 30 }),
    link_id: '{letter candles.id}',
  }),
  ...sendRfq(29.5, 'salon list', { name: 'Orla Quinn', email: 'orla@saltandlinen.example' }),
];

const HANDOFF_ACTS: readonly Act[] = [
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
  quote(6.4, 'corner list', { lines: [at('1', 270)], valid_until }),
  rfq(9.2, 'corner list', { to: 'in_progress', reason: 'Asked for a better price of the mugs' }),
  quote(9.4, 'corner list', { valid_until }),
  agree(11.2, 'corner list'),
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
  quote(9.5, 'spa list', { valid_until }),
  agree(14.6, 'spa list'),
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
  quote(19.1, 'gallery RFQ', { valid_until }),
  agree(20.1, 'gallery RFQ'),
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

type Move = Pick<StoryInput<'moveLead'>, 'to' | 'reason' | 'value'>;

/** Moves the lead with this external_id. */
const move = (day: number, lead: string, change: Move): Act =>
  staff(day, 'moveLead', { lead_id: `{${lead}.id}`, owner_id: `{${lead}.owner_id}`, ...change });

/** A contact with its consent, given when the lead is submitted. */
const person = (contact: { name: string; email: string; role?: string }) => ({
  contact,
  consent: { basis: 'consent' as const, obtained_at: '{now}' },
});

/**
 * Leads, and how far staff move each. A lead that belongs to a list follows the outcome of its RFQ. The companies are
 * invented.
 */
const LEAD_ACTS: readonly Act[] = [
  newsletter(4.4, 'submitLead', {
    as: 'crm-corner',
    external_id: 'crm-corner',
    company: { name: 'Pimlico Corner Shop', country: 'GB' },
    ...person({ name: 'Ines Okafor', email: 'ines@pimlicocorner.example', role: 'Owner' }),
    source: { kind: 'handoff', ref: '{corner list.id}' },
  }),
  move(4.8, 'crm-corner', { to: 'accepted' }),
  move(5.0, 'crm-corner', { to: 'contacted' }),

  newsletter(13.5, 'submitLead', {
    as: 'crm-bookshop',
    external_id: 'crm-bookshop',
    company: { name: 'Third Shelf Books', country: 'GB' },
    ...person({ name: 'Tom Arkwright', email: 'tom@thirdshelf.example' }),
    source: { kind: 'handoff', ref: '{book list.id}' },
  }),
  move(14.1, 'crm-bookshop', { to: 'accepted' }),
  move(14.5, 'crm-bookshop', { to: 'contacted' }),
  move(15.0, 'crm-bookshop', { to: 'qualified' }),

  concierge(7.3, 'submitLead', {
    as: 'crm-spa',
    external_id: 'crm-spa',
    company: { name: 'Quayside Spa', country: 'GB' },
    ...person({ name: 'Priya Nair', email: 'priya@quayside.example', role: 'Shop manager' }),
    source: { kind: 'handoff', ref: '{spa list.id}' },
  }),
  move(7.9, 'crm-spa', { to: 'accepted' }),

  // The contact belongs to another promoter's lead, so that this one is rejected.
  newsletter(10.5, 'submitLead', {
    external_id: 'crm-spa-again',
    company: { name: 'Quayside Spa', country: 'GB' },
    ...person({ name: 'Priya Nair', email: 'priya@quayside.example' }),
  }),

  newsletter(16.2, 'submitLead', {
    as: 'crm-delicatessen',
    external_id: 'crm-delicatessen',
    company: { name: 'Feinkost Lindner', country: 'DE' },
    ...person({ name: 'Jonas Lindner', email: 'jonas@lindner.example' }),
    source: { kind: 'link', ref: '{letter mugs.id}' },
    interest: {
      categories: ['Kitchen'],
      quantity_hint: 300,
      note: 'Would like samples of the glaze first',
    },
  }),
  move(16.8, 'crm-delicatessen', { to: 'accepted' }),
  move(18.0, 'crm-delicatessen', { to: 'contacted' }),
  move(19.5, 'crm-delicatessen', { to: 'qualified' }),

  newsletter(17.1, 'submitLead', {
    as: 'crm-pop-up',
    external_id: 'crm-pop-up',
    company: { name: 'Saturday Pop-up', country: 'GB' },
    source: { kind: 'link', ref: '{fair stand.id}' },
  }),
  move(17.9, 'crm-pop-up', { to: 'accepted' }),
  move(18.6, 'crm-pop-up', { to: 'contacted' }),
  move(19.1, 'crm-pop-up', { to: 'unqualified', reason: 'Sells at markets for one month only' }),

  concierge(19.2, 'submitLead', {
    as: 'crm-private',
    external_id: 'crm-private',
    company: { name: 'M. Delacroix', country: 'FR' },
  }),
  move(19.8, 'crm-private', { to: 'rejected', reason: 'A private person' }),

  concierge(23.3, 'submitLead', {
    external_id: 'crm-farm-shop',
    company: { name: 'Lower Moor Farm Shop', country: 'GB' },
    ...person({ name: 'Beth Rowe', email: 'beth@lowermoor.example' }),
  }),
  concierge(24.4, 'submitLead', {
    external_id: 'crm-farm-shop',
    withdraw: true,
    withdraw_reason: 'Closed over winter',
  }),

  newsletter(26.7, 'submitLead', {
    as: 'crm-gallery',
    external_id: 'crm-gallery',
    company: { name: 'Slate Gallery', country: 'IE' },
    ...person({ name: 'Aoife Byrne', email: 'aoife@slategallery.example' }),
    interest: { categories: ['Stationery', 'Candles'] },
  }),
  move(27.5, 'crm-gallery', { to: 'accepted' }),

  newsletter(29.2, 'submitLead', {
    external_id: 'crm-toyshop',
    company: { name: 'Pied Piper Toys', country: 'GB' },
    interest: { categories: ['Toys'], quantity_hint: 120 },
  }),
];

/** A product for examples. */
const SKU = 'KIT-101';

const POST = { network: 'mastodon' as const, account_ref: 'northwind-gifts' };
const CANDLES = `{letter candles.short_url} ${LINK_DISCLOSURE}`;

/** A message that the owner refuses, and a post that it sends back; the second version waits for approval. */
const OUTREACH_ACTS: readonly Act[] = [
  newsletter(27.3, 'requestMessage', {
    as: 'message',
    channel: 'email',
    recipient_ref: 'list:shops-2024',
    subject: 'Last chance',
    text: 'Everything must go by Friday. Reply for a list.',
  }),
  northwind(27.8, 'refuseOutbound', {
    outbound_id: '{message.id}',
    content_sha256: '{message.content_sha256}',
    reason: 'It is no last chance: the candles stay in the range',
  }),
  newsletter(28.2, 'requestSocialPost', {
    as: 'post',
    ...POST,
    text: `Candles for the season: ${CANDLES}`,
    link_ids: ['{letter candles.id}'],
  }),
  northwind(28.7, 'requestOutboundChanges', {
    outbound_id: '{post.id}',
    content_sha256: '{post.content_sha256}',
    reason: 'Say the minimum order',
  }),
  newsletter(29.3, 'requestSocialPost', {
    ...POST,
    revises: '{post.id}',
    text: `Candles for the season, from six pieces: ${CANDLES}`,
    link_ids: ['{letter candles.id}'],
  }),
];

/** Weekly reads, and a call that is refused because its agent lacks the scope. */
const READING_ACTS: readonly Act[] = [
  ...[3.2, 10.2, 17.2, 24.2].flatMap((day) => [
    newsletter(day, 'searchProducts', { q: 'candle' }),
    newsletter(day + 0.1, 'getPerformance', {}),
    concierge(day + 0.2, 'listLeads', {}),
  ]),
  {
    ...scout(14.6, 'createHandoff', {
      title: 'A list for a follower',
      line_items: [{ sku: SKU, quantity: 6 }],
    }),
    isRefused: true,
  },
];

/** The withdrawn product, and the one whose price rises after the waiting list was created. */
const [WITHDRAWN, DEARER] = ['SEA-804', 'CAN-401'];
const PRICE_RISE = 20;

const raisePrice = ({ product, stock }: ProductChange): ProductChange => ({
  product: {
    ...product,
    unit_price: (product.unit_price ?? 0) + PRICE_RISE,
    price_tiers: product.price_tiers?.map((tier) => ({
      ...tier,
      unit_price: tier.unit_price + PRICE_RISE,
    })),
  },
  stock,
});

/** Withdraws a product; then the feed of the day brings the others with fresh stock, and one with a higher price. */
const catalogActs = (products: readonly ProductChange[]): Act[] => [
  staff(25.4, 'withdrawProduct', { sku: WITHDRAWN, reason: 'Not made any more' }),
  staff(29.1, 'importProducts', {
    products: products
      .filter(({ product }) => product.sku !== WITHDRAWN)
      .map((change) => (change.product.sku === DEARER ? raisePrice(change) : change)),
  }),
];

const OWNER = 'northwind';
const FEED = join(import.meta.dirname, '../../contracts/examples/demo-catalog.csv');

/** Reads the feed. `origin`: the address of the service, which has a picture for each category. */
const readProducts = async (origin: string): Promise<ProductChange[]> => {
  const products: ProductChange[] = [];
  for await (const item of readFeed('csv', createReadStream(FEED))) {
    if (!('product' in item)) throw new Error(`${FEED}: line ${item.line} is not valid`);
    // The dates of the file are of the day when it was written.
    const { product, stock } = item.product;
    const image_url = `${origin}/assets/products/${String(product.category).toLowerCase()}.svg`;
    products.push({ product: { ...product, image_url, source_updated_at: '{now}' }, stock });
  }
  return products;
};

/** Every act of the story. Acts of one day are performed in the order of this list. */
export const storyActs = (products: ProductChange[]): Act[] => [
  ...openingActs(products),
  ...ACCESS_ACTS,
  ...LINK_ACTS,
  ...HANDOFF_ACTS,
  ...OPEN_RFQ_ACTS,
  ...LEAD_ACTS,
  ...OUTREACH_ACTS,
  ...READING_ACTS,
  ...catalogActs(products),
];

/** `isVisit`: the step need not finish before the next one, so that visits share commits. */
type Step = { day: number; isVisit?: true; run(): Promise<unknown> };

const stepsOf = (player: Player, products: ProductChange[]): Step[] =>
  [
    ...storyActs(products).map((act) => ({ day: act.day, run: () => player.play(act) })),
    ...plannedVisits(LINKS).map((planned) => ({
      day: planned.day,
      isVisit: true as const,
      run: () => player.visit(planned),
    })),
  ].sort((a, b) => a.day - b.day);

/** Marks the directory as that of a demo, even if the story is interrupted. */
const UNFINISHED: DemoFacts = { owner: OWNER, agent_id: '', api_key: '', sku: SKU };

const foreignLog = (): StartupError =>
  new StartupError(
    'The log has events, and this data directory did not begin the demo in it, so --demo writes nothing. Use an ' +
      'empty log and another data directory for the demo, or start without --demo.',
  );

/**
 * Marks the directory as that of a demo before anything is appended to an empty log. Throws StartupError if the log
 * is on a server and has events, unless this directory began the story there.
 */
export const beginDemo = (
  directory: string,
  { id, isRemote, position }: { id: string; isRemote: boolean; position: number },
): void => {
  if (position === 0) writeDemoFacts(directory, UNFINISHED, id);
  else if (isRemote && (!demoFactsIn(directory) || (demoLogIn(directory) ?? id) !== id))
    throw foreignLog();
};

/** Performs the whole story between the last event of the log, or 30 days ago, and now. */
const performStory = async (
  player: Player,
  service: Service,
  clock: DemoClock,
): Promise<DemoFacts> => {
  writeDemoFacts(service.config.dataDirectory, UNFINISHED, service.deps.log.id);
  const now = clock.real.now();
  const { at } = await readLastEvent(service.deps.log);
  const start = Math.max(now - STORY_DAYS * DAY_MS, at ?? 0);
  const products = await readProducts(service.deps.origin());
  let visits: Promise<unknown>[] = [];
  for (const { day, isVisit, run } of stepsOf(player, products)) {
    if (!isVisit) {
      await Promise.all(visits);
      visits = [];
    }
    clock.set(Math.floor(start + (day / STORY_DAYS) * (now - start)));
    const step = run();
    if (isVisit) {
      visits.push(step);
      continue;
    }
    await step;
    // Otherwise the real time between two acts would decide how many audit records they are.
    await service.deps.audit.flush();
  }
  await Promise.all(visits);
  const { agent_id, api_key } = player.answer(DEMO_AGENT);
  const reviewUrl = String(player.answer(WAITING)['review_url']);
  return {
    owner: OWNER,
    agent_id: String(agent_id),
    api_key: String(api_key),
    sku: SKU,
    review_path: new URL(reviewUrl).pathname,
  };
};

/** Issues another key for the demo's agent if the first is lost or revoked. Without that agent, changes nothing. */
const renewKey = async (
  player: Player,
  facts: DemoFacts | undefined,
): Promise<DemoFacts | undefined> => {
  const { data: agents } = await everyPage((before) =>
    player.perform(ROOT, 'listAgents', { owner_id: OWNER, before }),
  );
  const agent = agents.find(({ name, status }) => name === DEMO_AGENT && status === 'approved');
  if (!agent) return facts;
  const { data: keys } = await everyPage((before) =>
    player.perform(ROOT, 'listKeys', { owner_id: OWNER, before }),
  );
  for (const { id, agent_id, status } of keys)
    if (agent_id === agent.id && status === 'active')
      await player.perform(ROOT, 'revokeKey', { key_id: id, reason: 'Lost with demo.json' });
  const { api_key } = await player.perform(ROOT, 'issueKey', {
    agent_id: agent.id,
    expires_in_days: KEY_DAYS,
  });
  return { sku: SKU, ...facts, owner: OWNER, agent_id: agent.id, api_key };
};

/** Returns the demo of this data directory. Performs the story once; later starts return the same facts. */
export const ensureDemo = async (
  service: Service,
  clock: DemoClock,
): Promise<DemoFacts | undefined> => {
  const { deps, config } = service;
  const written = demoFactsIn(config.dataDirectory);
  try {
    if (written && authenticator(deps).agent(written.api_key).ok) return written;
    const player = new Player(service);
    const { data } = await player.perform(ROOT, 'listAgents', { owner_id: OWNER });
    if (data.length === 0 && !written && clock.hasEarlierEvents) throw foreignLog();
    const facts =
      data.length === 0
        ? await performStory(player, service, clock)
        : await renewKey(player, written);
    if (facts) writeDemoFacts(config.dataDirectory, facts, deps.log.id);
    return facts;
  } finally {
    clock.live();
  }
};
