/**
 * A month of a small wholesaler, performed through the real operations when the data directory is empty, so that
 * agents, owners, buyers and auditors have something to look at on the first day.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { type ProductInput, readFeed } from '#src/catalog/feed.ts';
import { readLastEvent } from '#src/writing/last-event.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import { everyPage } from '#src/reading/listing.ts';
import { DAY_MS } from '#src/shared/time.ts';
import type { Service } from '#src/main.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { Act } from './acts.ts';
import { ACCESS_ACTS, DEMO_AGENT, KEY_DAYS, openingActs, ROOT } from './cast.ts';
import { type DemoClock, STORY_DAYS } from './clock.ts';
import { type DemoFacts, demoFactsIn, demoLogIn, writeDemoFacts } from './facts.ts';
import { HANDOFF_ACTS, WAITING } from './handoffs.ts';
import { LEAD_ACTS } from './leads.ts';
import { LINK_ACTS, LINKS } from './links.ts';
import { catalogActs, OUTREACH_ACTS, READING_ACTS, SKU } from './month.ts';
import { Player } from './player.ts';
import { plannedVisits } from './traffic.ts';

const OWNER = 'northwind';
const FEED = join(import.meta.dirname, '../../contracts/examples/demo-catalog.csv');

const readProducts = async (): Promise<ProductInput[]> => {
  const products: ProductInput[] = [];
  for await (const item of readFeed('csv', createReadStream(FEED))) {
    if (!('product' in item)) throw new Error(`${FEED}: line ${item.line} is not valid`);
    products.push(item.product);
  }
  return products;
};

/** Every act of the story. Acts of one day are performed in the order of this list. */
export const storyActs = (products: ProductInput[]): Act[] => [
  ...openingActs(products),
  ...ACCESS_ACTS,
  ...LINK_ACTS,
  ...HANDOFF_ACTS,
  ...LEAD_ACTS,
  ...OUTREACH_ACTS,
  ...READING_ACTS,
  ...catalogActs(products),
];

/** `isVisit`: the step need not finish before the next one, so that visits share commits. */
type Step = { day: number; isVisit?: true; run(): Promise<unknown> };

const stepsOf = (player: Player, { deps }: Service, products: ProductInput[]): Step[] =>
  [
    ...storyActs(products).map((act) => ({ day: act.day, run: () => player.play(act) })),
    ...Array.from({ length: STORY_DAYS }, (_, day) => ({
      day: day + 0.99,
      run: () => deps.audit.flush(),
    })),
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
  let visits: Promise<unknown>[] = [];
  for (const { day, isVisit, run } of stepsOf(player, service, await readProducts())) {
    if (!isVisit) {
      await Promise.all(visits);
      visits = [];
    }
    clock.set(Math.floor(start + (day / STORY_DAYS) * (now - start)));
    const step = run();
    if (isVisit) visits.push(step);
    else await step;
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
