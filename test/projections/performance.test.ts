import { describe, expect, test } from 'vitest';
import { METRICS } from '#contracts/performance/records.ts';
import { METRIC, blockOf, performance } from '#projections/performance.ts';
import { FactsCache, type OwnerFacts } from '#src/performance/facts.ts';
import { ReadModelRebuilding, type ReadModels } from '#src/ports/read-model.ts';
import {
  CHUNKS_PER_BLOCK,
  FACTS_PER_BLOCK,
  FACTS_PER_CHUNK,
  FIRST_SET_SORT,
  TAIL_SORT,
} from '#src/ports/performance-rows.ts';
import { factsAfter, readModelsWith } from '../support/oracle/facts.ts';
import type { Given } from '../support/world/fold.ts';
import { happened, MIDNIGHT, QUARTER_MS, rowsAfter, TODAY } from '../support/world/fold.ts';
import {
  DIMS,
  handoffCreated,
  handoffNamed,
  leadNamed,
  leadSubmitted,
  linkCreated,
  rfqConfirmed,
  rfqSubmitted,
  visit,
} from '../support/world/stories.ts';

const DAY_MS = 96 * QUARTER_MS;
const FIRST_QUARTER = TODAY * 96;

/** The facts as text: quarter of the day, metric, country and detail. */
const factsOf = async (given: readonly Given[]): Promise<string[]> => {
  const facts = await factsAfter(given);
  return Array.from({ length: facts.length }, (_, i) => {
    const detail = facts.details.get(i);
    return [
      (facts.times[i] ?? 0) - FIRST_QUARTER,
      METRICS[facts.metrics[i] ?? 0],
      facts.countryNames[facts.countries[i] ?? 0],
      ...(detail === undefined ? [] : [JSON.stringify(detail)]),
    ].join(' ');
  });
};
/** The number of facts up to each position from 1 on. */
const countsUpTo = (facts: OwnerFacts): number[] =>
  Array.from({ length: facts.length }, (_, i) => facts.upTo(i + 1));
const dimsOf = async (given: readonly Given[]) => (await factsAfter(given)).dims;

describe('The read model of performance', () => {
  test('The read model of performance numbers metrics in the order of METRICS', () => {
    expect(Object.keys(METRIC)).toEqual([...METRICS]);
    expect(Object.values(METRIC)).toEqual(METRICS.map((_, i) => i));
  });

  test('The read model of performance contains a fact for each counted event, in log order, and one set of dimensions for each link', async () => {
    const given = [
      linkCreated('1'),
      visit('1', 'v1', { country: 'DE' }, MIDNIGHT + 5 * QUARTER_MS),
      visit('1', 'v1', { country: 'DE' }, MIDNIGHT + DAY_MS - 1),
      visit('2', 'v1', {}, MIDNIGHT),
      visit('1', 'v1', {}, MIDNIGHT + DAY_MS),
    ];
    expect(await factsOf(given)).toEqual([
      '5 clicks_unique DE',
      '95 clicks_valid DE',
      '0 clicks_unique ',
      '96 clicks_unique ',
    ]);
    const facts = await factsAfter(given);
    const { sets, length } = facts;
    expect([1, 2, 3, 4, 5, 6].map((position) => facts.upTo(position))).toEqual([0, 1, 2, 3, 4, 4]);
    expect(Array.from(sets.slice(0, length))).toEqual([0, 0, 1, 0]);
    expect(await dimsOf(given)).toEqual([
      { agent_id: 'agt_1', ...DIMS, link_id: 'lnk_1' },
      { agent_id: 'agt_1', ...DIMS, link_id: 'lnk_2' },
    ]);
  });

  test('The read model of performance counts summed visits with their number', async () => {
    const summed = happened(
      'VisitsSummed',
      'anna-visits_1.p.0',
      { link_id: 'lnk_1', agent_id: 'agt_1', dims: DIMS, visits: 500 },
      MIDNIGHT,
    );
    expect(await factsOf([summed])).toEqual(['0 clicks_surplus  500']);
  });

  test('The read model of performance counts each visitor with a valid click once for each link and day, whatever their number', async () => {
    const visitors = Array.from({ length: 200 }, (_, n) => `visitor-${n}`);
    const twice = [...visitors, ...visitors].map((visitor) => visit('1', visitor));
    const facts = await factsOf(twice);
    const count = (metric: string) => facts.filter((fact) => fact.includes(metric)).length;
    expect([count('clicks_unique'), count('clicks_valid')]).toEqual([200, 200]);
    expect(await factsOf([...twice, visit('2', 'visitor-0')])).toContain('0 clicks_unique ');
    expect((await factsOf([...twice, visit('1', 'visitor-0', {}, MIDNIGHT + DAY_MS)])).at(-1)).toBe(
      '96 clicks_unique ',
    );
  });

  test('The read model of performance counts visits with signals as raw, and a visitor whose first visit had a signal', async () => {
    const given = [
      visit('1', 'v', { signals: ['head'] }),
      visit('1', 'v'),
      visit('1', 'n', { signals: [] }),
    ];
    expect(await factsOf(given)).toEqual(['0 clicks_raw ', '0 clicks_unique ', '0 clicks_unique ']);
  });

  test('The read model of performance counts the outcomes of a handoff, and its totals with their currencies', async () => {
    const given = [
      handoffCreated('1', { link_id: 'lnk_9' }),
      happened('HandoffOpenedByBuyer', 'handoff_1', handoffNamed('1')),
      happened('HandoffDeclinedByBuyer', 'handoff_1', handoffNamed('1')),
      rfqSubmitted('1', []),
      rfqConfirmed('1', [
        { amount: 7, currency: 'EUR' },
        { amount: 500, currency: 'GBP' },
      ]),
    ];
    expect(await factsOf(given)).toEqual([
      '0 handoffs_created ',
      '0 handoffs_opened ',
      '0 handoffs_declined ',
      '0 rfqs_unconfirmed ',
      '0 rfqs_unconfirmed  -1',
      '0 rfqs_submitted  {"entries":[],"whole":{"of":5,"by":1,"lines":0,"amounts":[]}}',
    ]);
    expect(await dimsOf(given.slice(0, 1))).toEqual([
      { agent_id: 'agt_1', ...DIMS, link_id: 'lnk_9', handoff_id: 'hnd_1' },
    ]);
  });

  test('The read model of performance counts leads with the dimensions of their source', async () => {
    const value = { amount: 900, currency: 'GBP' };
    const given = [
      leadSubmitted('1'),
      leadSubmitted('2'),
      happened('LeadAccepted', 'lead_1', leadNamed('1')),
      happened('LeadWon', 'lead_1', { ...leadNamed('1'), value }),
      happened('LeadWon', 'lead_2', leadNamed('2'), MIDNIGHT + QUARTER_MS),
    ];
    expect(await factsOf(given)).toEqual([
      '0 leads_submitted ',
      '0 leads_submitted ',
      '0 leads_accepted ',
      '0 leads_won  [900,"GBP"]',
      '1 leads_won ',
    ]);
    expect(await dimsOf(given)).toEqual([{ agent_id: 'agt_1', ...DIMS }]);
    const apart = [
      leadSubmitted('1'),
      leadSubmitted('2', { agent_id: 'agt_2' }),
      leadSubmitted('3', { link_id: 'lnk_1' }),
      leadSubmitted('4', { handoff_id: 'hnd_1' }),
      leadSubmitted('5', { dims: { campaign: 'spring' } }),
      handoffCreated('1'),
    ];
    expect(await dimsOf(apart)).toHaveLength(6);
  });

  test('The read model of performance cuts facts into chunks of a fixed number, and lists the tail, sets and chunks in this order', async () => {
    const visits = Array.from({ length: 2 * FACTS_PER_CHUNK + 5 }, (_, n) =>
      visit(String(n % 3), `v${n}`),
    );
    const rows = Object.values(rowsAfter(performance, visits));
    const sorts = rows.flatMap(({ sort }) => sort ?? []).toSorted((a, b) => b - a);
    expect(sorts).toEqual([TAIL_SORT, FIRST_SET_SORT, 1, 0]);
    expect(await factsOf(visits)).toHaveLength(visits.length);
  });

  describe('whose chunks become blocks', () => {
    const kinds = (n: number): Given[] => [
      visit(String(n % 3), `v${n}`, { country: ['GB', 'DE', undefined][n % 3] }, atOf(n)),
      handoffCreated(String(n), {}, atOf(n)),
      happened('RfqWon', `handoff_${n}`, {
        ...handoffNamed(String(n)),
        values: [{ amount: n, currency: 'GBP' }],
        lines: [],
        quotation: { number: 1, hash: 'h' },
      }),
      happened('VisitsSummed', 'visits_1.p.0', {
        link_id: 'lnk_1',
        agent_id: 'agt_1',
        dims: DIMS,
        visits: n,
      }),
    ];
    // Times that go back, too.
    const atOf = (n: number): number => MIDNIGHT + ((n * 7) % 400) * QUARTER_MS;
    const given = Array.from({ length: FACTS_PER_BLOCK / 4 + 80 }, (_, n) => kinds(n)).flat();
    const rowsOf = (count: number) => Object.values(rowsAfter(performance, given.slice(0, count)));
    const shown = async (facts: OwnerFacts) => ({
      upTo: countsUpTo(facts),
      times: Array.from(facts.times.slice(0, facts.length)),
      sets: Array.from(facts.sets.slice(0, facts.length)),
      metrics: Array.from(facts.metrics.slice(0, facts.length)),
      countries: Array.from(facts.countries.slice(0, facts.length), (id) => facts.countryNames[id]),
      details: [...facts.details].toSorted(([a], [b]) => a - b),
      dims: facts.dims,
      ofSetOne: Array.from((await facts.chains.indexesOf([1], Infinity)) ?? []),
    });

    test('A question about performance reads the same facts from a block as from the chunks and the tail before', async () => {
      const cache = new FactsCache();
      const counts = [6_340, FACTS_PER_BLOCK - 1, FACTS_PER_BLOCK, 6_401, 6_555, given.length];
      for (const count of counts) {
        const rows = rowsOf(count);
        const next = await shown(await cache.read(readModelsWith(rows), 'anna'));
        const anew = await shown(await new FactsCache().read(readModelsWith(rows), 'anna'));
        expect(anew).toEqual(next);
        expect(anew.upTo).toEqual(Array.from({ length: count }, (_, i) => i + 1));
      }
      const sorts = rowsOf(given.length).flatMap(({ sort }) => sort ?? []);
      const chunks = sorts.filter((sort) => sort < FIRST_SET_SORT).toSorted((a, b) => a - b);
      expect(chunks).toEqual([63, 64, 65, 66]);
    });

    test('A question about performance reads again if chunks become blocks while it reads', async () => {
      let rows = readModelsWith(rowsOf(FACTS_PER_BLOCK - 1));
      const get: ReadModels['get'] = (...place) => rows.get(...place);
      const list: ReadModels['list'] = async (...query) => {
        const page = await rows.list<never>(...query);
        rows = readModelsWith(rowsOf(FACTS_PER_BLOCK + 1));
        return page;
      };
      const facts = await new FactsCache().read({ get, list }, 'anna');
      expect(facts.length).toBe(FACTS_PER_BLOCK + 1);
    });

    test('A question about performance reads the tail as it was, if an event changes it in place meanwhile', async () => {
      const [before, after] = [rowsOf(250), rowsOf(305)];
      const tailIn = (rows: typeof before) => rows.find(({ sort }) => sort === TAIL_SORT)?.row;
      const { list, ...rest } = readModelsWith(before);
      const changing: ReadModels['list'] = (...query) => {
        Object.assign(tailIn(before) ?? {}, tailIn(after));
        return list(...query);
      };
      const cache = new FactsCache();
      const first = await cache.read({ ...rest, list: changing }, 'anna');
      expect(first.length).toBe(250);
      const next = await shown(await cache.read(readModelsWith(after), 'anna'));
      expect(next.upTo).toEqual(Array.from({ length: 305 }, (_, i) => i + 1));
    });
  });

  test('Facts of performance are read again from where the reader stopped, and from the start after a rebuild', async () => {
    const visits = Array.from({ length: 3 * FACTS_PER_CHUNK }, (_, n) => visit('1', `v${n}`));
    const cache = new FactsCache();
    let last;
    for (const count of [1, 50, 99, 100, 101, 199, 250, 300, 40]) {
      const rows = Object.values(rowsAfter(performance, visits.slice(0, count)));
      last = await cache.read(readModelsWith(rows), 'anna');
      expect(last.length).toBe(count);
      expect(countsUpTo(last)).toEqual(visits.slice(0, count).map((_, i) => i + 1));
    }
    expect((await cache.read(readModelsWith([]), 'anna')).length).toBe(0);
  });

  test('Facts of performance are read on from the last blocks that were read after a read that failed', async () => {
    const blocks = 14;
    const chunk = Array.from({ length: FACTS_PER_CHUNK }, () => [1, 0, 0, METRIC.clicks_raw, 'GB']);
    const chunks = Array.from({ length: CHUNKS_PER_BLOCK }, () => chunk.flat());
    const rows: { row: object; sort: number }[] = Array.from({ length: blocks }, (_, n) => {
      const last = CHUNKS_PER_BLOCK * (n + 1) - 1;
      return { row: blockOf(last, chunks), sort: last };
    });
    rows.push({ row: { group: 0, dims: [{ campaign: 'a' }] }, sort: FIRST_SET_SORT });
    const tail = { chunks: blocks * CHUNKS_PER_BLOCK, sets: 1, position: 0, quarter: 0, facts: [] };
    rows.push({ row: tail, sort: TAIL_SORT });
    const readModels = readModelsWith(rows);
    const starts: (number | undefined)[] = [];
    let isFailing = true;
    const list: ReadModels['list'] = (name, query) => {
      starts.push(query.downTo);
      if (isFailing && starts.length > 3) return Promise.reject(new ReadModelRebuilding('busy'));
      return readModels.list(name, query);
    };
    const cache = new FactsCache();
    const read = () => cache.read({ ...readModels, list }, 'anna');
    await expect(read()).rejects.toThrow(ReadModelRebuilding);
    isFailing = false;
    expect(await read()).toHaveLength(blocks * FACTS_PER_BLOCK);
    const step = 6 * CHUNKS_PER_BLOCK;
    expect(starts).toEqual([FIRST_SET_SORT, 0, step, 2 * step, 2 * step]);
  });

  test('Facts of performance are read at most twice for any number of questions at once, and each sees what was there when it was asked', async () => {
    const visits = Array.from({ length: 9 }, (_, n) => visit('1', `v${n}`));
    const cache = new FactsCache();
    let rows = Object.values(rowsAfter(performance, visits.slice(0, 1)));
    let reads = 0;
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const get: ReadModels['get'] = async (...place) => {
      reads += 1;
      const stored = readModelsWith(rows);
      begun.resolve();
      await released.promise;
      return stored.get(...place);
    };
    const list: ReadModels['list'] = (...query) => readModelsWith(rows).list(...query);
    const readModels = { get, list };
    const first = cache.read(readModels, 'anna');
    await begun.promise;
    rows = Object.values(rowsAfter(performance, visits));
    const later = Array.from({ length: 100 }, () => cache.read(readModels, 'anna'));
    released.resolve();
    await first;
    for (const facts of await Promise.all(later)) expect(facts.length).toBe(visits.length);
    expect(reads).toBe(2);
  });

  test('The cache of performance keeps the facts of the last owners within its number of bytes', async () => {
    const rows = Object.values(rowsAfter(performance, [visit('1', 'v')]));
    const cache = new FactsCache(50_000);
    const readModels = readModelsWith(rows);
    const [first] = await Promise.all(
      ['a', 'b', 'c'].map((owner) => cache.read(readModels, owner)),
    );
    expect(await cache.read(readModels, 'c')).not.toBe(first);
    expect(await cache.read(readModels, 'a')).not.toBe(first);
  });
});
