/** The desk's part of the story: people, catalog, and what becomes of each agent. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { OUTBOUND_KINDS } from '#contracts/records/outbound.ts';
import { type ProductInput, readFeed } from '#src/app/catalog/feed.ts';
import { type Agent, AGENTS, OWNERS, STAFF } from './cast.ts';
import { known, type Memory, type Scene } from './scenes.ts';
import { ROOT, type Stage } from './stage.ts';

const FEED = join(import.meta.dirname, '../../contracts/examples/demo-catalog.csv');

export const feedProducts = async (): Promise<ProductInput[]> => {
  const products: ProductInput[] = [];
  for await (const item of readFeed('csv', createReadStream(FEED))) {
    if ('product' in item) products.push(item.product);
    else throw new Error(`${FEED}: line ${item.line} is not as it should be`);
  }
  return products;
};

/** Desk tokens for the people, and the catalog. */
export const openingScenes = (stage: Stage): Scene[] => [
  {
    day: 0.01,
    async play() {
      const staff = { name: STAFF, roles: ['staff' as const] };
      stage.credentials.set(STAFF, (await stage.desk(ROOT, 'issueDeskToken', staff)).token);
      for (const [owner_id, name] of Object.entries(OWNERS)) {
        const asked = { name, roles: ['owner' as const], owner_id };
        stage.credentials.set(name, (await stage.desk(ROOT, 'issueDeskToken', asked)).token);
      }
    },
  },
  ...Object.keys(OWNERS).map((owner_id) => ({
    day: 0.05,
    play: () =>
      stage.desk(STAFF, 'configureOutreach', {
        owner_id,
        mode: 'owner_controlled',
        channels: OUTBOUND_KINDS.map((kind) => ({ kind, adapter: 'file' as const })),
      }),
  })),
  {
    day: 0.1,
    play: async () => stage.desk(STAFF, 'importProducts', { products: await feedProducts() }),
  },
];

const KEY_DAYS = 365;

const agentScenes = (stage: Stage, { agents }: Memory, plot: Agent): Scene[] => {
  const { name, owner, purpose, scopes, decision } = plot;
  const person = OWNERS[owner];
  const id = () => known(agents, name);
  const { reason } = decision;
  const scenes: Scene[] = [
    {
      day: plot.day,
      async play() {
        const asked = { owner_id: owner, name, purpose, scopes: [...scopes] };
        agents.set(name, (await stage.desk(person, 'requestAccess', asked)).id);
      },
    },
  ];
  if (!decision.approved)
    scenes.push({
      day: decision.day,
      play: () => stage.desk(STAFF, 'denyAccess', { agent_id: id(), reason }),
    });
  else {
    const some = decision.scopes && { scopes: [...decision.scopes] };
    scenes.push(
      {
        day: decision.day,
        play: () => stage.desk(STAFF, 'approveAccess', { agent_id: id(), reason, ...some }),
      },
      {
        day: decision.keyDay,
        async play() {
          const asked = { agent_id: id(), expires_in_days: KEY_DAYS };
          stage.credentials.set(name, (await stage.desk(person, 'issueKey', asked)).api_key);
        },
      },
    );
  }
  return scenes;
};

/** Suspension, and the rotation of a key that somebody saw. */
const troubleScenes = (stage: Stage, { agents }: Memory, plot: Agent): Scene[] => {
  const { name, suspended, rotated } = plot;
  const person = OWNERS[plot.owner];
  const scenes: Scene[] = [];
  if (suspended) {
    const { day, reason } = suspended;
    const play = () => stage.desk(STAFF, 'suspendAgent', { agent_id: known(agents, name), reason });
    scenes.push({ day, play });
  }
  if (rotated) {
    let old = '';
    const { day, reason } = rotated.revoked;
    scenes.push(
      {
        day: rotated.day,
        async play() {
          old = known(stage.credentials, name).split('_')[2] ?? '';
          const asked = { key_id: old, expires_in_days: KEY_DAYS };
          stage.credentials.set(name, (await stage.desk(person, 'rotateKey', asked)).api_key);
        },
      },
      { day, play: () => stage.desk(person, 'revokeKey', { key_id: old, reason }) },
    );
  }
  return scenes;
};

export const castScenes = (stage: Stage, recalled: Memory): Scene[] =>
  AGENTS.flatMap((plot) => [
    ...agentScenes(stage, recalled, plot),
    ...troubleScenes(stage, recalled, plot),
  ]);
