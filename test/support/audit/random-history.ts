/** Random acts of agents, visitors, buyers and people on one owner, through the interfaces that they use. */
import { feedProduct, freshKey, type TestApp } from '../world/app.ts';
import { configure, post, proposed } from '../world/outreach.ts';

const V1 = '/api/affiliate/v1';
const MINUTE_MS = 60_000;

/** A generator of numbers from 0 to 1 that repeats with its seed (mulberry32). */
export const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** An owner with an agent, and a function that performs its next random act. */
export const randomHistory = async (app: TestApp, owner: string, seed: number) => {
  const random = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item | undefined =>
    items[Math.floor(random() * items.length)];
  await app.publish([feedProduct('MUG-1', { category: 'Mugs' })]);
  await configure(app, owner);
  const { agentId, key } = await app.agent(owner);
  const ids: Record<'links' | 'handoffs' | 'leads' | 'codes', string[]> = {
    links: [],
    handoffs: [],
    leads: [],
    codes: [],
  };
  const write = async (path: string, payload: object): Promise<Record<string, string>> => {
    const headers = { 'idempotency-key': freshKey() };
    const { body } = await app.send({ method: 'POST', url: V1 + path, key, payload, headers });
    return body;
  };
  const at = (path: string, body: object) => app.desk('POST', path, { owner_id: owner, ...body });
  const acts: (() => Promise<unknown>)[] = [
    async () => {
      const campaign = pick(['spring', 'autumn']);
      const { id, code } = await write('/links', {
        target: { kind: 'search', ref: 'mug' },
        campaign,
      });
      if (id && code) [ids.links, ids.codes].forEach((list, i) => list.push(i === 0 ? id : code));
    },
    async () => {
      const link_id = pick(ids.links);
      const { id } = await write('/handoffs', {
        title: 'Mugs',
        note_to_buyer: 'Dear Bea',
        buyer: { company: 'Shop', email: 'bea@shop.example' },
        line_items: [{ sku: 'MUG-1', quantity: 8 }],
        ...(link_id && { link_id }),
      });
      if (id) ids.handoffs.push(id);
    },
    async () => {
      const ref = pick(ids.handoffs);
      const { id } = await write('/leads', {
        external_id: `crm-${Math.floor(random() * 12)}`,
        company: { name: 'Corner Shop', country: 'GB' },
        contact: { name: 'Bea', email: `bea${Math.floor(random() * 1e6)}@shop.example` },
        consent: { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' },
        ...(ref && { source: { kind: 'handoff', ref } }),
      });
      if (id) ids.leads.push(id);
    },
    async () => {
      const headers = { 'user-agent': pick(['Mozilla/5.0 (X11) Firefox/140', 'curl/8']) ?? '' };
      const remoteAddress = `10.0.0.${Math.floor(random() * 4)}`;
      await app.send({
        method: 'GET',
        url: `/l/${pick(ids.codes) ?? 'none'}`,
        headers,
        remoteAddress,
      });
    },
    () =>
      at(`/leads/${pick(ids.leads) ?? 'none'}/move`, {
        to: pick(['accepted', 'contacted', 'rejected']),
      }),
    () => at(`/handoffs/${pick(ids.handoffs) ?? 'none'}/withdraw`, { reason: 'Sold out' }),
    () => at(`/links/${pick(ids.links) ?? 'none'}/disable`, { reason: 'Over' }),
    () => app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Pause' }),
    () => app.desk('POST', `/agents/${agentId}/reinstate`, { reason: 'Go on' }),
    () => proposed(app, key, 'requestSocialPost', post()).catch(() => undefined),
    () => at(`/subjects/${pick(ids.leads) ?? 'none'}/erase`, { reason: 'On request' }),
  ];
  return {
    agentId,
    key,
    ids,
    /** Performs a random act; some are refused. Time passes before each. */
    async act(): Promise<void> {
      app.clock.advance(Math.floor(random() * 90 * MINUTE_MS));
      // Creations and visits are three of four acts, so that there is something to change.
      const few = random() < 0.75 ? acts.slice(0, 4) : acts;
      await pick(few)?.();
    },
  };
};
