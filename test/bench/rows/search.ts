/** Q: search over 100,000 products with 16 connections, compared with the same API without search. */
import type { Bench } from '../bench.ts';
import { type Random, createRandom } from '../random.ts';
import { compared, type Role, sampled, start, startLoad, type Target } from '../children.ts';
import type { Call } from '../load.ts';
import { AGENTS, deskOf, openBench, whenPassed } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { feedProducts, makeProducts, wordsOf } from './wholesale.ts';

type Details = { url: string; key: string };

const PRODUCTS = 100_000;

export const searchServer: Role<{ directory: string }, Details> = async ({ directory }) => {
  await makeProducts(directory, PRODUCTS);
  const service = await openBench(directory);
  const { position } = await service.deps.log.head();
  await whenPassed(service.deps, position);
  if (service.deps.catalog.count() !== PRODUCTS)
    throw new Error(`the catalog has ${service.deps.catalog.count()} products`);
  const key = await deskOf(service).agent('acme');
  return { details: { url: await service.listen(), key }, close: () => service.close() };
};

/** Enough that no query repeats within a sample, which a cache would answer. */
const QUERIES = 20_000;

/** Creates queries of one to three title words; every fourth is a prefix, and some have a typo. */
const wordsFor = (random: Random, words: readonly string[]): string =>
  Array.from({ length: 1 + random.below(3) }, () => {
    const word = random.pick(words);
    const turn = random.below(20);
    if (turn < 5) return word.slice(0, 3 + random.below(3));
    return turn === 5 && word.length > 4 ? `${word.slice(0, 2)}${word.slice(3)}` : word;
  }).join(' ');

type Args = Record<string, string | number>;

const KINDS: Record<string, (random: Random, words: readonly string[]) => Args> = {
  text: (random, words) => ({ q: wordsFor(random, words) }),
  facets: (random, words) => ({
    q: wordsFor(random, words),
    facets: random.pick(['category,ship_from', 'brand,stock', 'category,brand,ship_from,stock']),
  }),
  'price filters': (random, words) => {
    const price_min = 20 + random.below(300);
    const words_too = random.below(2) === 0 ? { q: wordsFor(random, words) } : {};
    return {
      ...words_too,
      price_min,
      price_max: price_min + 20 + random.below(2_000),
      currency: 'GBP',
      at_quantity: random.pick([12, 48, 144]),
      moq_max: 10 + random.below(90),
      sort: random.pick(['relevance', 'price']),
    };
  },
};

const CONNECTIONS = 16;
const COUNT = PRODUCTS.toLocaleString('en');
const SAMPLE_MS = 1_200;

const callsOf = (make: () => Args, headers: Record<string, string>): Call[] =>
  Array.from({ length: QUERIES }, () => {
    const query = Object.entries(make()).map(([name, value]) => [name, String(value)]);
    return { path: `${AGENTS}/products?${new URLSearchParams(query).toString()}`, headers };
  });

export const benchSearch: Bench = async ({ note }) => {
  const service = await start<Details>('search', { directory: temporaryDirectory() });
  const load = await startLoad();
  const { url, key } = service.details;
  const headers = { authorization: `Bearer ${key}` };
  const words = wordsOf(await feedProducts());
  const random = createRandom(5);
  const targetOf = (calls: Call[]): Target => ({
    server: service,
    order: { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls },
  });
  const targets: Record<string, Target> = {
    control: targetOf([{ path: `${AGENTS}/connection`, headers }]),
  };
  for (const [kind, make] of Object.entries(KINDS))
    targets[kind] = targetOf(callsOf(() => make(random, words), headers));
  const taken = await sampled(load, targets);
  note('Q', taken);
  await Promise.all([load, service].map((child) => child.stop()));
  const { control: front = [] } = taken;
  return Object.keys(KINDS).flatMap((kind) => {
    const what = `search of ${COUNT} products, ${kind}, p99, vs getConnection`;
    const samples = taken[kind] ?? [];
    return [
      rowOf({ id: 'Q', what, ...compared(samples, front, 'p99') }, { of: 'value', atMost: 10 }),
      rowOf({ id: 'Q', what: '  at so many a second', ...compared(samples, front, 'perSecond') }),
      rowOf({ id: 'Q', what: '  CPU time of a search', ...compared(samples, front, 'cpuUs') }),
    ];
  });
};
