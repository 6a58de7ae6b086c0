/** A log of a million events of a business with 200 promoters, written through the real adapter. */
import { join } from 'node:path';
import type { EventData, EventType } from '#contracts/events/index.ts';
import { rebuildAll } from '#projections/engine/rebuild.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/event-log.ts';
import { sqliteStore } from '#src/adapters/sqlite/read-model.ts';
import type { EventLog, NewEvent } from '#src/ports/event-log.ts';
import type { Million } from './bench.ts';
import type { Chance } from './chance.ts';
import { chanceOf } from './chance.ts';
import type { Role } from './children.ts';
import { start } from './children.ts';
import { openBench } from './service.ts';
import { temporaryDirectory } from './temporary.ts';

const EVENTS = 1_000_000;
const OWNERS = 200;
const DAYS = 30;
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 9, 1);
/** Appends under way: few enough for the queue of the log, enough for full transactions. */
const APPENDS_MAX = 3_000;
/** Links of an owner that still have visitors. */
const VISITED_MAX = 100;

type Dims = EventData<'LinkCreated'>['dims'];
type Link = { name: string; agent: string; dims: Dims };
type Owner = { id: string; agent: string; links: Link[] };

type Story = {
  chance: Chance;
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

const linkOf = ({ owner, chance }: Story): Link | undefined =>
  owner.links[owner.links.length - 1 - chance.below(Math.max(1, owner.links.length))];

const createLink = ({ chance, owner, write }: Story): void => {
  const name = chance.text(24);
  const product = `prd_${chance.text(24)}`;
  const category = chance.pick(CATEGORIES);
  const code = name.slice(0, 12);
  const dims = {
    campaign: chance.pick(CAMPAIGNS),
    channel: chance.pick(CHANNELS),
    sub_ids: [`list-${chance.below(20)}`],
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
    external_id: `row-${chance.below(1_000_000)}`,
    dims,
  };
  write(`link_${name}`, [{ type: 'LinkCreated', data }]);
};

const visit = (story: Story): void => {
  const { chance, at, write } = story;
  const link = linkOf(story);
  if (!link) return createLink(story);
  const visits = Array.from({ length: 1 + chance.below(4) }, () => ({
    type: 'VisitRecorded' as const,
    data: {
      link_id: `lnk_${link.name}`,
      agent_id: link.agent,
      dims: link.dims,
      visitor: chance.text(16),
      ...(chance.below(10) === 0 && { signals: ['bot' as const] }),
      country: chance.pick(['GB', 'DE', 'FR', 'US']),
      device: chance.pick(['desktop', 'mobile'] as const),
      referrer_host: 'news.example',
      trigger: 'link' as const,
    },
  }));
  write(`visits_${link.name}_${Math.floor(at / DAY_MS)}.bench.0`, visits);
};

const submitLead = (story: Story): void => {
  const { chance, owner, at, write } = story;
  const name = chance.text(24);
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
    company: { name: `Corner Shop ${chance.below(10_000)}`, country: 'GB' },
    contact: chance.text(120),
    consent: { basis: 'consent', obtained_at: '2026-09-30T09:00:00Z' },
  };
  write(`lead_${name}`, [{ type: 'LeadSubmitted', data: submitted }]);
  // One in two gets further: the other tenth of the log.
  if (chance.below(2) > 0) return;
  write(`lead_${name}`, [
    { type: 'LeadAccepted', data: named },
    { type: 'LeadContacted', data: named },
  ]);
};

const createHandoff = (story: Story): void => {
  const { chance, owner, at, write } = story;
  const name = chance.text(24);
  const link = linkOf(story);
  const lines = Array.from({ length: 3 }, (_, i) => ({
    line_id: `line_${i}`,
    product_id: `prd_${chance.text(24)}`,
    sku: String(10_000 + chance.below(80_000)),
    title: 'White Hanging Heart T-Light Holder',
    product_revision: chance.below(5),
    quantity: 6 + chance.below(90),
    unit_price: 100 + chance.below(900),
    tier_min_quantity: 1,
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
    token_hash: chance.text(43),
    review_origin: 'https://shop.example',
    expires_at: at + 30 * DAY_MS,
  };
  write(`handoff_${name}`, [{ type: 'HandoffCreated', data: created }]);
};

/** In the shares of the brief: of 100 appends so many; a visit is 2.5 events, a lead 2. */
const STORIES: { weight: number; tell: (story: Story) => void }[] = [
  { weight: 45, tell: createLink },
  { weight: 25, tell: visit },
  { weight: 15, tell: submitLead },
  { weight: 15, tell: createHandoff },
];
const DECK = STORIES.flatMap(({ weight, tell }) => Array.from({ length: weight }, () => tell));

/** Appends in the order they are asked for; waits when too many are under way. */
const writer = (log: EventLog, chance: Chance) => {
  const revisions = new Map<string, number>();
  const waiting = new Set<Promise<void>>();
  let written = 0;
  const append = async (stream: string, expected: number, events: NewEvent[]): Promise<void> => {
    const { outcome } = await log.append(stream, expected, events);
    if (outcome === 'conflict') throw new Error(`a conflict on ${stream}`);
  };
  return {
    written: () => written,
    write(
      owner: Owner,
      at: number,
      stream: string,
      events: { type: string; data: object }[],
    ): void {
      const name = `${owner.id}-${stream}`;
      const revision = revisions.get(name) ?? -1;
      // The only streams that are written again later.
      if (stream.startsWith('visits') || stream.startsWith('lead'))
        revisions.set(name, revision + events.length);
      written += events.length;
      const request = `req-${chance.text(20)}`;
      const meta = {
        at,
        actor: owner.agent,
        surface: 'rest',
        operation: 'bench',
        key: owner.agent.slice(-12),
        request,
        idem: chance.text(43),
        fingerprint: `1.${chance.text(43)}`,
        v: 1,
      };
      const stored = events.map((event) => ({
        ...event,
        id: `${request}-${chance.text(8)}`,
        meta,
      }));
      const appended = append(name, revision, stored);
      waiting.add(appended);
      void appended.finally(() => waiting.delete(appended));
    },
    async settle(most: number): Promise<void> {
      if (waiting.size > most) await Promise.all(waiting);
    },
  };
};

const ownersOf = (chance: Chance): Owner[] =>
  Array.from({ length: OWNERS }, (_, i) => ({
    id: `promoter${i}`,
    agent: `agt_${chance.text(24)}`,
    links: [],
  }));

const writeLog = async (directory: string): Promise<number> => {
  const chance = chanceOf(1);
  const owners = ownersOf(chance);
  const log = sqliteEventLog({ directory, appendsInTurnMax: APPENDS_MAX });
  const { write, written, settle } = writer(log, chance);
  while (written() < EVENTS) {
    const at = FIRST_DAY + Math.floor((written() / EVENTS) * DAYS * DAY_MS);
    const owner = chance.pick(owners);
    chance.pick(DECK)({
      chance,
      owner,
      at,
      write: (stream, events) => write(owner, at, stream, events),
    });
    await settle(APPENDS_MAX);
  }
  await settle(0);
  const { position } = await log.head();
  await log.close();
  return position;
};

/** Fills the store that the service will open, and says how fast. */
const fillStore = async (directory: string): Promise<number> => {
  const log = sqliteEventLog({ directory });
  const store = sqliteStore({ file: join(directory, 'views.db') });
  const startedAt = performance.now();
  await rebuildAll({ log, store, projections: PROJECTIONS });
  const seconds = (performance.now() - startedAt) / 1_000;
  const { position } = await log.head();
  await store.close();
  await log.close();
  return position / seconds;
};

export const fillMillion: Role<{ directory: string }, Million> = async ({ directory }) => {
  const events = await writeLog(directory);
  const sqlitePerSecond = await fillStore(directory);
  // Once as the service does it: credentials of the desk, and the catalog moved to the end.
  const service = await openBench(directory);
  const states = await service.deps.projections.status();
  await service.close();
  const parked = states.find((state) => state.parked.length > 0);
  if (parked) throw new Error(`${parked.name} is parked: ${JSON.stringify(parked.parked[0])}`);
  return { told: { directory, events, sqlitePerSecond } };
};

export const makeMillion = async (): Promise<Million> => {
  const child = await start<Million>('fill', { directory: temporaryDirectory() });
  await child.stop();
  return child.told;
};
