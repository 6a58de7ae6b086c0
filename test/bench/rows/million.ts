/** Generates a log of a million events of a business with 200 promoters. */
import type { EventData, EventType } from '#contracts/registries/events.ts';
import { EVENTS as EVENTS_BY_TYPE } from '#contracts/registries/events.ts';
import type { Million } from '../bench.ts';
import { type Random, createRandom } from '../random.ts';
import { type Role, start } from '../children.ts';
import { type MadeEvent, madeLog } from '../generated-log.ts';
import { makeViews } from '../generated-read-models.ts';
import { openBench } from '../service.ts';
import { temporaryDirectory } from '../temporary.ts';

const EVENTS = 1_000_000;
const OWNERS = 200;
const DAYS = 30;
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 9, 1);
const CHECKED_EVERY = 100;
/** Number of an owner's links that still have visitors. */
const VISITED_MAX = 100;

type Event = { type: string; data: object };
type Dims = EventData<'LinkCreated'>['dims'];
type Link = { name: string; agent: string; dims: Dims };
type Owner = { id: string; agent: string; links: Link[] };

type Story = {
  random: Random;
  owner: Owner;
  at: number;
  write<Type extends EventType>(
    stream: string,
    events: { type: Type; data: EventData<Type> }[],
  ): void;
};

const CAMPAIGNS = ['spring-sale', 'autumn', 'clearance', 'new-arrivals'];
const CHANNELS = ['email', 'social', 'website'];
const CATEGORIES = ['Gifts', 'Kitchen', 'Garden', 'Stationery'];

const linkOf = ({ owner, random }: Story): Link | undefined =>
  owner.links[owner.links.length - 1 - random.below(Math.max(1, owner.links.length))];

const createLink = ({ random, owner, write }: Story): void => {
  const name = random.text(24);
  const product = `prd_${random.text(24)}`;
  const category = random.pick(CATEGORIES);
  const code = name.slice(0, 12);
  const dims = {
    campaign: random.pick(CAMPAIGNS),
    channel: random.pick(CHANNELS),
    sub_ids: [`list-${random.below(20)}`],
    product_id: product,
    category,
  };
  owner.links.push({ name, agent: owner.agent, dims });
  if (owner.links.length > VISITED_MAX) owner.links.shift();
  const data = {
    link_id: `lnk_${name}`,
    agent_id: owner.agent,
    target: { kind: 'product' as const, ref: product },
    destination_url: `https://shop.example/p/${product}`,
    code,
    short_url: `https://shop.example/l/${code}`,
    external_id: `row-${random.below(1_000_000)}`,
    dims,
  };
  write(`link_${name}`, [{ type: 'LinkCreated', data }]);
};

const visit = (story: Story): void => {
  const { random, at, write } = story;
  const link = linkOf(story);
  if (!link) return createLink(story);
  const visits = Array.from({ length: 1 + random.below(4) }, () => ({
    type: 'VisitRecorded' as const,
    data: {
      link_id: `lnk_${link.name}`,
      agent_id: link.agent,
      dims: link.dims,
      visitor: random.text(16),
      ...(random.below(10) === 0 && { signals: ['bot' as const] }),
      country: random.pick(['GB', 'DE', 'FR', 'US']),
      device: random.pick(['desktop', 'mobile'] as const),
      referrer_host: 'news.example',
      trigger: 'link' as const,
      window_days: 30,
    },
  }));
  write(`visits_${link.name}_${Math.floor(at / DAY_MS)}.bench.0`, visits);
};

const submitLead = (story: Story): void => {
  const { random, owner, at, write } = story;
  const name = random.text(24);
  const link = linkOf(story);
  const named = {
    lead_id: `led_${name}`,
    agent_id: owner.agent,
    dims: link?.dims ?? {},
    ...(link && { link_id: `lnk_${link.name}` }),
  };
  const submitted: EventData<'LeadSubmitted'> = {
    ...named,
    external_id: `crm-${name}`,
    source: link ? { kind: 'link', ref: `lnk_${link.name}` } : { kind: 'agent' },
    claim_expires_at: at + 90 * DAY_MS,
    company: { name: `Corner Shop ${random.below(10_000)}`, country: 'GB' },
    contact: random.text(120),
    consent: { basis: 'consent', obtained_at: '2026-09-30T09:00:00Z' },
  };
  write(`lead_${name}`, [{ type: 'LeadSubmitted', data: submitted }]);
  // Half of them continue, which makes another tenth of the log.
  if (random.below(2) > 0) return;
  write(`lead_${name}`, [
    { type: 'LeadAccepted', data: named },
    { type: 'LeadContacted', data: named },
  ]);
};

const createHandoff = (story: Story): void => {
  const { random, owner, at, write } = story;
  const name = random.text(24);
  const link = linkOf(story);
  const lines = Array.from({ length: 3 }, (_, i) => ({
    line_id: `line_${i}`,
    product_id: `prd_${random.text(24)}`,
    sku: String(10_000 + random.below(80_000)),
    title: 'White Hanging Heart T-Light Holder',
    product_revision: random.below(5),
    quantity: 6 + random.below(90),
    unit_price: 100 + random.below(900),
    tier_min_quantity: 1,
    category: 'Mugs',
    currency: 'GBP',
  }));
  const amount = lines.reduce((sum, { quantity, unit_price }) => sum + quantity * unit_price, 0);
  const named = {
    handoff_id: `hnd_${name}`,
    agent_id: owner.agent,
    dims: link?.dims ?? {},
    ...(link && { link_id: `lnk_${link.name}` }),
  };
  const created: EventData<'HandoffCreated'> = {
    ...named,
    title: 'Restock for the shop',
    locale: 'en',
    buyer: { company: 'Corner Shop', country: 'GB' },
    lines,
    totals: [{ amount, currency: 'GBP' }],
    token_hash: random.text(43),
    review_origin: 'https://shop.example',
    expires_at: at + 30 * DAY_MS,
    window_days: 30,
  };
  write(`handoff_${name}`, [{ type: 'HandoffCreated', data: created }]);
};

/** Frequency in 100 appends; an append of visits has 2.5 events, one of a lead has 2. */
const STORIES: { weight: number; write: (story: Story) => void }[] = [
  { weight: 46, write: createLink },
  { weight: 24, write: visit },
  { weight: 15, write: submitLead },
  { weight: 15, write: createHandoff },
];
const DECK = STORIES.flatMap(({ weight, write }) => Array.from({ length: weight }, () => write));

const attributed = (random: Random, owner: Owner, at: number, event: Event): MadeEvent => ({
  ...event,
  id: random.uuid(),
  meta: {
    at,
    actor: owner.agent,
    surface: 'rest',
    operation: 'bench',
    key: owner.agent.slice(-12),
    request: random.uuid(),
    idem: random.text(43),
    fingerprint: `1.${random.text(43)}`,
    v: 1,
  },
});

const ownersOf = (random: Random): Owner[] =>
  Array.from({ length: OWNERS }, (_, i) => ({
    id: `promoter${i}`,
    agent: `agt_${random.text(24)}`,
    links: [],
  }));

const writeLog = async (directory: string, count: number): Promise<void> => {
  const random = createRandom(1);
  const owners = ownersOf(random);
  const log = await madeLog(directory);
  let written = 0;
  while (written < count) {
    const at = FIRST_DAY + Math.floor((written / count) * DAYS * DAY_MS);
    const owner = random.pick(owners);
    const write = (stream: string, events: Event[]): void => {
      // Validates a sample of each type, so that the log has only valid events.
      for (const { type, data } of written % CHECKED_EVERY === 0 ? events : [])
        EVENTS_BY_TYPE[type as EventType].parse(data);
      written += events.length;
      const made = events.map((event) => attributed(random, owner, at, event));
      log.append(owner.id, `${owner.id}-${stream}`, made);
    };
    random.pick(DECK)({ random, owner, at, write });
  }
  log.close();
};

export const logMaker: Role<{ directory: string; events: number }> = async (args) => {
  await writeLog(args.directory, args.events);
  return { details: undefined };
};

export const viewsMaker: Role<{ directory: string }> = async ({ directory }) => {
  await makeViews(directory);
  // Starts the service once: it issues the desk token, and advances the catalog to the end.
  const service = await openBench(directory);
  await service.close();
  return { details: undefined };
};

const made = async (role: string, args: object): Promise<void> => {
  const child = await start(role, args);
  await child.stop();
};

/** Creates log and read models at their first use. */
export const million = (): Million => {
  const directory = temporaryDirectory();
  let log: Promise<void> | undefined;
  let views: Promise<void> | undefined;
  const withLog = (): Promise<void> => (log ??= made('makeLog', { directory, events: EVENTS }));
  return {
    directory,
    events: EVENTS,
    log: withLog,
    async logOf(events) {
      if (events === EVENTS) {
        await withLog();
        return directory;
      }
      const smaller = temporaryDirectory();
      await made('makeLog', { directory: smaller, events });
      return smaller;
    },
    views: () => (views ??= withLog().then(() => made('makeViews', { directory }))),
  };
};
