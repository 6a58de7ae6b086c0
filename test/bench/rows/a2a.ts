/** A: a handoff over A2A SendMessage, compared with REST on the same server. */
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { compared, type Role, sampled, start, startLoad, type Target } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { AGENTS, deskOf, listen, openBench, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Details = { url: string; key: string };

const PRODUCTS = 200;
const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;

export const a2aServer: Role<{ directory: string }, Details> = async (args) => {
  const service = await openBench(args.directory);
  const desk = deskOf(service);
  await desk.publish(Array.from({ length: PRODUCTS }, (_, i) => feedProduct(`SKU${i}`)));
  const key = await desk.agent('acme');
  const server = serverWith(service, {});
  const url = await listen(server);
  return { details: { url, key }, close: () => server.close() };
};

/** The request of both: a handoff with two lines, and a unique idempotency key. */
const handoffOf = (i: number): object => ({
  title: 'Kitchen shelf, autumn',
  external_id: ID,
  buyer: { company: 'Corner Shop', country: 'GB' },
  line_items: [
    { sku: `SKU${i}`, quantity: 4 },
    { sku: `SKU${(i + 1) % PRODUCTS}`, quantity: 48 },
  ],
});

const times = (make: (i: number) => Call): Call[] =>
  Array.from({ length: PRODUCTS }, (_, i) => make(i));

const overRest = (key: string): Call[] =>
  times((i) => ({
    method: 'POST',
    path: `${AGENTS}/handoffs`,
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': `k-${ID}` },
    body: JSON.stringify(handoffOf(i)),
  }));

const overA2a = (key: string, binding: 'rpc' | 'http'): Call[] =>
  times((i) => {
    const data = { skill: 'prepare_handoff', ...handoffOf(i) };
    const message = { messageId: `m-${ID}`, role: 'ROLE_USER', parts: [{ data }] };
    const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    return {
      method: 'POST',
      path: binding === 'rpc' ? '/api/affiliate/a2a' : '/api/affiliate/a2a/message:send',
      headers: { authorization: `Bearer ${key}`, 'a2a-version': '1.0' },
      body: JSON.stringify(binding === 'rpc' ? rpc : { message }),
    };
  });

export const benchA2a: Bench = async ({ note }) => {
  const server = await start<Details>('a2a', { directory: temporaryDirectory() });
  const load = await startLoad();
  const { url, key } = server.details;
  const at = (calls: Call[]): Target => ({
    server,
    order: { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls },
  });
  const taken = await sampled(load, {
    rest: at(overRest(key)),
    rpc: at(overA2a(key, 'rpc')),
    http: at(overA2a(key, 'http')),
  });
  note('A', taken);
  await Promise.all([load.stop(), server.stop()]);
  const { rest, rpc, http } = taken;
  const id = 'A';
  return [
    rowOf(
      {
        id,
        what: 'A2A SendMessage of a handoff, 64 connections, vs REST',
        ...compared(rpc, rest, 'perSecond'),
      },
      { of: 'ratio', atLeast: 0.7 },
    ),
    rowOf({ id, what: '  over HTTP+JSON', ...compared(http, rest, 'perSecond') }),
    rowOf({ id, what: '  server CPU a request', ...compared(rpc, rest, 'cpuUs') }),
    rowOf({ id, what: '  p99', ...compared(rpc, rest, 'p99') }),
  ];
};
