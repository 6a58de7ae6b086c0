/** R: two reads of a busy promoter, each request with another query, compared with a bare fastify GET of the same bytes. */
import Fastify from 'fastify';
import type { Service } from '#src/main.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { systemClock } from '#src/system/ids.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { createRandom } from '../random.ts';
import type { Role, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import { AGENTS, deskOf, listen, openBench, sender } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

export type ReadDetails = { url: string; key: string };
type Bytes = { body: string; type: string };

const LINKS = 20;
const LEADS = 200;
const DAYS = 30;
const VISITS_PER_LINK_AND_DAY = 10;
const DAY_MS = 86_400_000;

export const visitOf = (visitor: number) => ({
  method: 'GET',
  address: `192.0.2.${visitor % 250}`,
  user_agent: 'Mozilla/5.0 (X11; Linux x64; rv:140.0) Gecko/20100101 Firefox/140.0',
  country: visitor % 3 === 0 ? 'DE' : 'GB',
  via_qr: false,
});

/** Creates a month of a promoter by real operations, with a moved clock. */
export const month = async (
  service: Service,
  key: string,
  goTo: (day: number) => void,
): Promise<void> => {
  const { deps } = service;
  const send = sender(service, key);
  const random = createRandom(2);
  const codes: CodeRow[] = [];
  for (let i = 0; i < LINKS; i++) {
    const link = await send('POST', `${AGENTS}/links`, {
      target: { kind: 'product', ref: 'SKU1' },
      campaign: random.pick(['spring-sale', 'autumn']),
      channel: random.pick(['email', 'social']),
    });
    const code = String(link['short_url']).split('/l/')[1] ?? '';
    const row = await deps.readModels.get<CodeRow>('codes', code, '');
    if (row) codes.push(row);
  }
  for (let day = 0; day < DAYS; day++) {
    goTo(day);
    const visits = codes.flatMap((code) =>
      Array.from({ length: VISITS_PER_LINK_AND_DAY }, () =>
        deps.visits.record({ ...code, window_days: 30 }, visitOf(random.below(1_000)), 'bench'),
      ),
    );
    await Promise.all(visits);
    for (let i = 0; i < LEADS / DAYS; i++)
      await send('POST', `${AGENTS}/leads`, {
        external_id: `crm-${day}-${i}`,
        company: { name: `Corner Shop ${i}`, country: 'GB' },
        contact: { name: 'Ada Byron', email: `ada.${day}.${i}@cornershop.example` },
        consent: { basis: 'consent', obtained_at: '2026-01-10T09:00:00Z' },
      });
  }
};

export type ReadAsked = {
  directory: string;
  settings?: Record<string, string>;
  role?: 'all' | 'api';
};

export const readServer: Role<ReadAsked, ReadDetails> = async ({ directory, settings, role }) => {
  const clock = systemClock();
  let behind = DAYS * DAY_MS;
  const moved = { now: () => clock.now() - behind, monotonic: clock.monotonic };
  const service = await openBench(directory, { clock: moved, ...(role && { role }) }, settings);
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const key = await desk.agent('acme');
  await month(service, key, (day) => {
    behind = (DAYS - 1 - day) * DAY_MS;
  });
  return { details: { url: await service.listen(), key }, close: () => service.close() };
};

/** Measures the cost of fastify alone. */
export const bytesServer: Role<Bytes, { url: string }> = async ({ body, type }) => {
  const server = Fastify();
  server.get('/', (_request, reply) => {
    reply.type(type);
    return reply.send(body);
  });
  return { details: { url: await listen(server) }, close: () => server.close() };
};

const dayBefore = (now: number, days: number): string =>
  new Date(now - days * DAY_MS).toISOString().slice(0, 10);

/** Every range of days in the month: 435 queries, of which no two have the same answer. */
export const performanceQueries = (now: number): string[] =>
  Array.from({ length: DAYS }, (_, from) =>
    Array.from({ length: from }, (_empty, to) => {
      const range = `from=${dayBefore(now, from)}&to=${dayBefore(now, to)}`;
      return `${AGENTS}/performance?${range}`;
    }),
  ).flat();

/** Every lead by its id, and pages of 1 to 100 leads: 300 queries. */
const leadQueries = (): string[] => [
  ...Array.from({ length: DAYS }, (_, day) =>
    Array.from(
      { length: Math.ceil(LEADS / DAYS) },
      (_empty, i) => `${AGENTS}/leads?external_id=crm-${day}-${i}`,
    ),
  ).flat(),
  ...Array.from({ length: 100 }, (_, i) => `${AGENTS}/leads?limit=${i + 1}`),
];

export const READS = {
  'getPerformance, 30 days': `${AGENTS}/performance`,
  'page of 25 leads': `${AGENTS}/leads`,
};

/** Queries of each kind; the first is the one whose bytes the bare server answers. */
const queriesAt = (now: number): Record<string, string[]> => ({
  'getPerformance, 1 to 30 days': [READS['getPerformance, 30 days'], ...performanceQueries(now)],
  'pages of leads': [READS['page of 25 leads'], ...leadQueries()],
});
const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;

/** Serves the same bytes by a bare server, with the headers that a client parses. */
const bareOf = async (service: ReadDetails, path: string): Promise<Started<{ url: string }>> => {
  const answer = await fetch(service.url + path, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  const type = answer.headers.get('content-type') ?? '';
  return start<{ url: string }>('bytes', { body: await answer.text(), type });
};

export const benchReads: Bench = async ({ note }) => {
  const service = await start<ReadDetails>('read', { directory: temporaryDirectory() });
  const load = await startLoad();
  const rows = [];
  for (const [what, paths] of Object.entries(queriesAt(systemClock().now()))) {
    const bare = await bareOf(service.details, paths[0] ?? '');
    const headers = { authorization: `Bearer ${service.details.key}` };
    const at = (server: Started<{ url: string }>, queries: string[]): Target => {
      const { url } = server.details;
      const calls = queries.map((path) => ({ path, headers }));
      return { server, order: { connections: CONNECTIONS, ms: SAMPLE_MS, url, calls } };
    };
    const taken = await sampled(load, { read: at(service, paths), bare: at(bare, ['/']) });
    note('R', taken);
    await bare.stop();
    const named = { id: 'R', what: `${what}, 64 connections, vs bare fastify` };
    rows.push(
      rowOf({ ...named, ...compared(taken.read, taken.bare, 'perSecond') }),
      rowOf({
        id: 'R',
        what: '  server CPU a request',
        ...compared(taken.read, taken.bare, 'cpuUs'),
      }),
    );
  }
  await Promise.all([load, service].map((child) => child.stop()));
  return rows;
};
