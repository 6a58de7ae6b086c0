/** Q: search over 100,000 products with 16 connections, compared with the same API without search. */
import type { Bench } from '../bench.ts';
import { type Random, createRandom } from '../random.ts';
import {
  compared,
  type Role,
  sampled,
  start,
  startLoad,
  type Started,
  type Target,
} from '../children.ts';
import type { Call } from '../load.ts';
import { AGENTS, deskOf, openBench, whenPassed } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { feedProducts, makeProducts, wordsOf } from './wholesale.ts';

type Details = { url: string; key: string };

const PRODUCTS = 100_000;
/** Smaller catalogs, to show the growth. */
const FEWER = [PRODUCTS / 10, PRODUCTS / 100];

export const searchServer: Role<{ directory: string; products: number }, Details> = async (
  args,
) => {
  const { directory, products } = args;
  await makeProducts(directory, products);
  const service = await openBench(directory);
  const { position } = await service.deps.log.head();
  await whenPassed(service.deps, position);
  if (service.deps.catalog.count() !== products)
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
  const opened = (products: number) =>
    start<Details>('search', { directory: temporaryDirectory(), products });
  const service = await opened(PRODUCTS);
  const load = await startLoad();
  const words = wordsOf(await feedProducts());
  const random = createRandom(5);
  const targetOf = (server: Started<Details>, make?: (typeof KINDS)[string]): Target => {
    const { url, key } = server.details;
    const headers = { authorization: `Bearer ${key}` };
    const calls = make
      ? callsOf(() => make(random, words), headers)
      : [{ path: `${AGENTS}/connection`, headers }];
    return { server, order: { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls } };
  };
  const targets: Record<string, Target> = { control: targetOf(service) };
  for (const [kind, make] of Object.entries(KINDS)) targets[kind] = targetOf(service, make);
  const smaller: Started<Details>[] = [];
  for (const products of FEWER) {
    const server = await opened(products);
    smaller.push(server);
    targets[products] = targetOf(server, KINDS['text']);
  }
  const taken = await sampled(load, targets);
  note('Q', taken);
  await Promise.all([load, service, ...smaller].map((child) => child.stop()));
  const { control: front = [] } = taken;
  const rows = Object.keys(KINDS).flatMap((kind) => {
    const what = `search of ${COUNT} products, ${kind}, p99, vs getConnection`;
    const samples = taken[kind] ?? [];
    return [
      rowOf({ id: 'Q', what, ...compared(samples, front, 'p99') }, { of: 'value', atMost: 10 }),
      rowOf({ id: 'Q', what: '  at so many a second', ...compared(samples, front, 'perSecond') }),
      rowOf({ id: 'Q', what: '  CPU time of a search', ...compared(samples, front, 'cpuUs') }),
    ];
  });
  const [few = []] = FEWER.slice(-1).map((products) => taken[products]);
  const growth = [taken['text'] ?? [], taken[FEWER[0] ?? 0] ?? []].map((samples, index) => {
    const count = [PRODUCTS, ...FEWER][index]?.toLocaleString('en');
    const what = `CPU time of a text search of ${count} products, vs of ${FEWER.at(-1)?.toLocaleString('en')}`;
    return rowOf({ id: 'Q', what, ...compared(samples, few, 'cpuUs') });
  });
  return [...rows, ...growth];
};
