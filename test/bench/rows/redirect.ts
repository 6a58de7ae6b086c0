/** C: a redirect whose visit is durable before the answer, compared with one without an event. */
import type { Bench } from '../bench.ts';
import { createRandom } from '../random.ts';
import type { Role, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import type { Call } from '../load.ts';
import { AGENTS, deskOf, listen, openBench, sender, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Visits = 'durable' | 'none';
type Details = { url: string; paths: string[] };

const LINKS = 100;
/** Visitors have different browsers, because each counts once per link and day. */
const BROWSERS = 500;

export const redirectServer: Role<{ directory: string; visits: Visits }, Details> = async (
  args,
) => {
  const service = await openBench(args.directory);
  const send = sender(service, await deskOf(service).agent('acme'));
  const paths: string[] = [];
  for (let i = 0; i < LINKS; i++) {
    const link = await send('POST', `${AGENTS}/links`, {
      target: { kind: 'search', ref: `q${i}` },
    });
    paths.push(new URL(String(link['short_url'])).pathname);
  }
  // Its answers have an attribution token, too, so that the comparison is about the event only.
  const nobody = { visits: { record: async () => 'visit', flush: async () => {} } };
  const server = serverWith(service, args.visits === 'none' ? nobody : {});
  const url = await listen(server);
  return { details: { url, paths }, close: () => server.close() };
};

export const visitsOf = (paths: readonly string[]): Call[] => {
  const random = createRandom(3);
  return Array.from({ length: 5_000 }, () => {
    const version = 100 + random.below(BROWSERS);
    return {
      path: random.pick(paths),
      headers: {
        'user-agent': `Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/${version}.0`,
        accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        referer: 'https://news.example/letter/42',
      },
    };
  });
};

const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;

export const benchRedirects: Bench = async ({ note }) => {
  const opened = (visits: Visits) =>
    start<Details>('redirect', { directory: temporaryDirectory(), visits });
  const servers = { durable: await opened('durable'), none: await opened('none') };
  const load = await startLoad();
  const at = (server: Started<Details>): Target => {
    const { url } = server.details;
    const order = {
      url,
      connections: CONNECTIONS,
      ms: SAMPLE_MS,
      calls: visitsOf(server.details.paths),
    };
    return { server, order };
  };
  const taken = await sampled(load, { durable: at(servers.durable), none: at(servers.none) });
  const { durable, none } = taken;
  note('C', taken);
  await Promise.all([load, servers.durable, servers.none].map((child) => child.stop()));
  const what = 'redirect, visit durable, 64 connections, vs without event';
  return [
    rowOf(
      { id: 'C', what, ...compared(durable, none, 'perSecond') },
      { of: 'ratio', atLeast: 0.45 },
    ),
    rowOf({ id: 'C', what: '  server CPU a request', ...compared(durable, none, 'cpuUs') }),
    rowOf({ id: 'C', what: '  p99', ...compared(durable, none, 'p99') }),
  ];
};
