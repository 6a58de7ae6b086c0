/** W-cpu: CPU time of each write over HTTP, compared with a bare fastify POST that stores nothing. */
import fastify from 'fastify';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import type { Role, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { AGENTS, deskOf, listen, openBench, sender, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { visitsOf } from './redirect.ts';
import { callsFor } from './write.ts';

type Details = { url: string; key: string; paths: string[] };

const PRODUCTS = 200;
const LINKS = 100;
const LINES = 10;
const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;

export const cpuServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish(Array.from({ length: PRODUCTS }, (_, i) => feedProduct(`SKU${i}`)));
  const key = await desk.agent('acme');
  const send = sender(service, key);
  const paths: string[] = [];
  for (let i = 0; i < LINKS; i++) {
    const target = { kind: 'search', ref: `q${i}` };
    const link = await send('POST', `${AGENTS}/links`, { target });
    paths.push(new URL(String(link['short_url'])).pathname);
  }
  const server = serverWith(service, {});
  const url = await listen(server);
  return { details: { url, key, paths }, close: () => server.close() };
};

/** The calibration: the same transport without rules, keys or a store. */
export const bareServer: Role<object, { url: string }> = async () => {
  const server = fastify();
  server.post<{ Body: Record<string, unknown> }>('/bare', async ({ body }, reply) => {
    reply.status(201);
    return { id: 'lnk_0', created_at: '2026-11-19T09:00:00.000Z', ...body };
  });
  const url = await listen(server);
  return { details: { url }, close: () => server.close() };
};

const postsOf = (path: string, key: string, bodyOf: (n: number) => object): Call[] =>
  Array.from({ length: PRODUCTS }, (_, n) => ({
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': `k-${ID}` },
    body: JSON.stringify(bodyOf(n)),
  }));

const leadOf = (): object => ({
  external_id: ID,
  company: { name: 'Corner Shop', country: 'GB' },
  contact: { name: 'Ada Byron', email: `${ID}@buyer.example` },
  consent: { basis: 'consent', obtained_at: '2025-01-19T09:00:00Z' },
});

const handoffOf = (n: number): object => ({
  title: 'Spring list',
  external_id: ID,
  line_items: Array.from({ length: LINES }, (_, line) => ({
    sku: `SKU${(n + line) % PRODUCTS}`,
    quantity: 48,
  })),
});

/**
 * What a bare POST cost where the goals were set, in microseconds, so that a goal is a multiple of it on any machine.
 * Estimated: the code of that time (createLink 309, submitLead 596, handoff 554, redirect 119) was measured beside a
 * bare POST three times, which gave 47 to 72.
 */
export const BARE_US = 60;

const GOALS = {
  link: { what: 'createLink', us: 250 },
  lead: { what: 'submitLead with a contact', us: 400 },
  handoff: { what: `createHandoff of ${LINES} lines`, us: 400 },
  redirect: { what: 'redirect', us: 100 },
} as const;

export const benchWriteCpu: Bench = async ({ note }) => {
  // A process for each kind: a store writes rows later, which must not count for another kind.
  const opened = () => start<Details>('writeCpu', { directory: temporaryDirectory() });
  const servers = {
    link: await opened(),
    lead: await opened(),
    handoff: await opened(),
    redirect: await opened(),
  };
  const bare = await start<{ url: string }>('barePost');
  const load = await startLoad();
  const at = (server: Started<{ url: string }>, calls: Call[]): Target => {
    const { url } = server.details;
    return { server, order: { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls } };
  };
  const { link, lead, handoff, redirect } = servers;
  const links = callsFor(link.details.key);
  const taken = await sampled(load, {
    bare: at(
      bare,
      links.map((call) => ({ ...call, path: '/bare' })),
    ),
    link: at(link, links),
    lead: at(lead, postsOf(`${AGENTS}/leads`, lead.details.key, leadOf)),
    handoff: at(handoff, postsOf(`${AGENTS}/handoffs`, handoff.details.key, handoffOf)),
    redirect: at(redirect, visitsOf(redirect.details.paths)),
  });
  note('W-cpu', taken);
  await Promise.all([load, bare, ...Object.values(servers)].map((child) => child.stop()));
  return (Object.keys(GOALS) as (keyof typeof GOALS)[]).map((name) => {
    const { what, us } = GOALS[name];
    return rowOf(
      {
        id: 'W-cpu',
        what: `${what}, server CPU, ${CONNECTIONS} connections, vs a bare POST`,
        ...compared(taken[name], taken.bare, 'cpuUs'),
      },
      { of: 'ratio', atMost: us / BARE_US },
    );
  });
};
