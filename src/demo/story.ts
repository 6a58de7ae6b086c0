/**
 * A month of a small wholesaler, played through the real commands when the data directory is empty:
 * what an agent, an owner, a buyer and an auditor can look at on the first day.
 */
import { authenticator } from '#src/app/pipeline/authenticate.ts';
import { everyPage } from '#src/app/read-models/listing.ts';
import { DAY_MS } from '#src/app/shared/time.ts';
import type { Service } from '#src/main.ts';
import { castScenes, feedProducts, openingScenes } from './cast-scenes.ts';
import { DEMO_AGENT, STAFF } from './cast.ts';
import { type DemoClock, STORY_DAYS } from './clock.ts';
import { type DemoFacts, demoFactsIn, keepDemoFacts } from './facts.ts';
import { HANDOFFS, WAITING } from './handoffs.ts';
import { LEADS } from './leads.ts';
import { LINKS } from './links.ts';
import { outreachScenes } from './outreach-scenes.ts';
import { handoffScenes, leadScenes, linkScene } from './record-scenes.ts';
import { known, memory, type Memory, type Scene } from './scenes.ts';
import { openStage, ROOT, type Stage } from './stage.ts';
import { arrivals } from './traffic.ts';

const OWNER = 'northwind';
const SKU = 'KIT-101';
const CANDLES = 'letter candles';

/** What agents ask between their writes, and the one thing that none of the scopes of one allows. */
const readingScenes = (stage: Stage): Scene[] => [
  ...[3.2, 10.2, 17.2, 24.2].flatMap((day) => [
    { day, play: () => stage.agent(DEMO_AGENT, 'searchProducts', { q: 'candle' }) },
    { day: day + 0.1, play: () => stage.agent(DEMO_AGENT, 'getPerformance', {}) },
    { day: day + 0.2, play: () => stage.agent('Shop concierge', 'listLeads', {}) },
  ]),
  {
    day: 14.6,
    play: () =>
      stage.turnedAway('Social scout', 'createHandoff', {
        title: 'A list for a follower',
        line_items: [{ sku: SKU, quantity: 6 }],
      }),
  },
];

/** A price that rises after the waiting list was made, and a product that goes. */
const catalogScenes = (stage: Stage): Scene[] => [
  {
    day: 25.4,
    play: () =>
      stage.desk(STAFF, 'withdrawProduct', { sku: 'SEA-804', reason: 'Not made any more' }),
  },
  {
    day: 29.1,
    async play() {
      const products = (await feedProducts()).flatMap(({ product, stock }) => {
        if (product.sku !== 'CAN-401') return [];
        const price_tiers = product.price_tiers.map(({ min_quantity, unit_price }) => ({
          min_quantity,
          unit_price: unit_price + 20,
        }));
        return [{ product: { ...product, price_tiers }, stock }];
      });
      await stage.desk(STAFF, 'importProducts', { products });
    },
  },
];

const activityScenes = ({ service }: Stage): Scene[] =>
  Array.from({ length: STORY_DAYS }, (_, i) => ({
    day: i + 0.99,
    play: () => service.deps.audit.flush(),
  }));

const UNTOLD: DemoFacts = { owner: OWNER, agent_id: '', api_key: '', sku: SKU };

type Step = Scene | { day: number; arrive(): Promise<void> };

const stepsOf = (stage: Stage, recalled: Memory): Step[] => {
  const { visits } = stage.service.deps;
  const comings = arrivals(LINKS).map(({ day, link, visit }) => ({
    day,
    arrive: () =>
      visits.record(known(recalled.links, link).code, { ...visit, requestId: stage.requestId() }),
  }));
  const scenes: Step[] = [
    ...openingScenes(stage),
    ...castScenes(stage, recalled),
    ...LINKS.map((plot) => linkScene(stage, recalled, plot)),
    ...HANDOFFS.flatMap((plot) => handoffScenes(stage, recalled, plot)),
    ...LEADS.flatMap((plot) => leadScenes(stage, recalled, plot)),
    ...outreachScenes(stage, recalled, CANDLES),
    ...readingScenes(stage),
    ...catalogScenes(stage),
    ...activityScenes(stage),
    ...comings,
  ];
  return scenes.sort((a, b) => a.day - b.day);
};

/** Plays all of it between `start` and now. Visits between two scenes share their commits. */
const tell = async (stage: Stage, clock: DemoClock): Promise<DemoFacts> => {
  // From now on this is a demo's directory, however far the story comes.
  keepDemoFacts(stage.service.config.dataDirectory, UNTOLD);
  const recalled = memory();
  const now = clock.real.now();
  const { at } = await stage.service.deps.log.head();
  const start = Math.max(now - STORY_DAYS * DAY_MS, at ?? 0);
  let coming: Promise<void>[] = [];
  for (const step of stepsOf(stage, recalled)) {
    const moment = Math.floor(start + (step.day / STORY_DAYS) * (now - start));
    if ('arrive' in step) {
      clock.set(moment);
      coming.push(step.arrive());
      continue;
    }
    await Promise.all(coming);
    coming = [];
    clock.set(moment);
    await step.play();
  }
  await Promise.all(coming);
  return {
    owner: OWNER,
    agent_id: known(recalled.agents, DEMO_AGENT),
    api_key: known(stage.credentials, DEMO_AGENT),
    sku: SKU,
    review_path: `/h/${known(recalled.handoffs, WAITING).token}`,
  };
};

const KEY_DAYS = 365;

/** Another key for the demo's agent, when the first was lost or revoked; nothing when there is none. */
const renew = async (stage: Stage, kept: DemoFacts | undefined): Promise<DemoFacts | undefined> => {
  const { data } = await everyPage((before) =>
    stage.desk(ROOT, 'listAgents', { owner_id: OWNER, before }),
  );
  const agent = data.find(({ name, status }) => name === DEMO_AGENT && status === 'approved');
  if (!agent) return kept;
  const keys = await everyPage((before) =>
    stage.desk(ROOT, 'listKeys', { owner_id: OWNER, before }),
  );
  for (const { id } of keys.data.filter(
    (key) => key.agent_id === agent.id && key.status === 'active',
  ))
    await stage.desk(ROOT, 'revokeKey', { key_id: id, reason: 'Lost with demo.json' });
  const asked = { agent_id: agent.id, expires_in_days: KEY_DAYS };
  const { api_key } = await stage.desk(ROOT, 'issueKey', asked);
  return { sku: SKU, ...kept, owner: OWNER, agent_id: agent.id, api_key };
};

/** The demo of this data directory: told once, and the same facts at every start after. */
export const ensureDemo = async (
  service: Service,
  clock: DemoClock,
): Promise<DemoFacts | undefined> => {
  const { deps, config } = service;
  const kept = demoFactsIn(config.dataDirectory);
  try {
    if (kept && authenticator(deps).agent(kept.api_key).ok) return kept;
    const stage = openStage(service);
    const { data } = await stage.desk(ROOT, 'listAgents', { owner_id: OWNER });
    const facts = data.length === 0 ? await tell(stage, clock) : await renew(stage, kept);
    if (facts) keepDemoFacts(config.dataDirectory, facts);
    return facts;
  } finally {
    clock.live();
  }
};
