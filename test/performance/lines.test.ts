/** Values and lines of RFQs by product and category, compared with sums that are counted from the events one by one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EventData, EventOf, HandoffEventType } from '#contracts/registries/events.ts';
import { addsUp, DIMENSIONS, METRICS, PRODUCT_OF } from '#contracts/performance/records.ts';
import {
  pinLines,
  foldWorth,
  divide,
  valuedLines,
  type Worth,
} from '#src/handoffs/worth.decider.ts';
import { aggregate } from '#src/performance/aggregate.ts';
import { type Bucket, bucketIn, type Query, renderSum } from '#src/performance/calendar.ts';
import { RollUps } from '#src/performance/facts.ts';
import { seedOr } from '../support/seed.ts';
import { allOf, factsAfter } from '../support/oracle/facts.ts';
import { type Given, happened, MIDNIGHT, TODAY } from '../support/world/fold.ts';

const DAY_MS = 86_400_000;
const CURRENCIES = ['GBP', 'EUR'];
const MOVES = [
  'take up',
  'quote',
  'win',
  'another value',
  'reverse',
  'lose',
  'win after all',
] as const;

const line = fc.record({
  product: fc.integer({ min: 0, max: 3 }),
  category: fc.constantFrom('mugs', 'bowls', 'jugs'),
  quantity: fc.integer({ min: 1, max: 9 }),
  unit_price: fc.integer({ min: 0, max: 90 }),
  currency: fc.constantFrom(...CURRENCIES),
});
const amounts = fc.uniqueArray(
  fc.record({
    amount: fc.integer({ min: 0, max: 9_999 }),
    currency: fc.constantFrom(...CURRENCIES),
  }),
  { selector: ({ currency }) => currency, minLength: 1, maxLength: 2 },
);
const story = fc.record({
  subject: fc.integer({ min: 0, max: 2 }),
  daysAgo: fc.integer({ min: 0, max: 3 }),
  lines: fc.array(line, { minLength: 1, maxLength: 5 }),
  quoted: fc.array(line, { minLength: 1, maxLength: 5 }),
  charges: amounts,
  values: amounts,
  moves: fc.array(fc.constantFrom(...MOVES), { maxLength: 9 }),
});
type Story = typeof story extends fc.Arbitrary<infer Made> ? Made : never;

const sumsOf = (all: readonly { amount: number; currency: string }[]) => {
  const sums = new Map<string, number>();
  for (const { amount, currency } of all) sums.set(currency, (sums.get(currency) ?? 0) + amount);
  return [...sums].map(([currency, amount]) => ({ amount, currency }));
};
const storedLines = (lines: Story['lines']) =>
  lines.map(({ product, category, ...one }, n) => ({
    line_id: String(n + 1),
    product_id: `prd_${product}`,
    category,
    ...one,
  }));

type State = {
  lines: ReturnType<typeof storedLines>;
  worth?: Worth | undefined;
  rfq: {
    quotation?: { lines: ReturnType<typeof storedLines>; values: Story['values'] };
    values?: Story['values'];
  };
  outcome?: 'won' | 'lost' | undefined;
  at: number;
};

/** The events of one RFQ, with their lines pinned as the decider of handoffs does. */
const eventsOf = (one: Story, n: number): Given[] => {
  const { subject, daysAgo, charges, values } = one;
  const named = {
    handoff_id: `hnd_${n}`,
    agent_id: `agt_${subject % 2}`,
    dims: {
      campaign: `c${subject}`,
      ...(subject > 0 && { product_id: `prd_${subject}`, category: 'source' }),
    },
  };
  const at = MIDNIGHT - daysAgo * DAY_MS;
  const state: State = { lines: storedLines(one.lines), rfq: {}, at };
  const given: Given[] = [];
  const happen = (event: EventOf<HandoffEventType>) => {
    const [pinned] = pinLines(state, [event]);
    if (!pinned) throw new Error('an event is lost');
    given.push(happened(pinned.type, `handoff_${n}`, structuredClone(pinned.data), state.at));
    state.worth = foldWorth(state.worth, { ...pinned, at: state.at });
    state.at += DAY_MS / 2;
  };
  const totals = sumsOf(state.lines.map((l) => ({ ...l, amount: l.quantity * l.unit_price })));
  const counted = { lines: valuedLines(state.lines), mailbox: '1.m' };
  happen({
    type: 'RfqConfirmedByBuyer',
    data: { ...named, totals, ...counted, submitted_at: at },
  });
  const correct = (to: EventData<'RfqOutcomeCorrected'>['to']) => {
    const { outcome } = state;
    if (!outcome) return;
    const from = { state: outcome, ...(outcome === 'won' && { values: state.rfq.values ?? [] }) };
    happen({ type: 'RfqOutcomeCorrected', data: { ...named, from, to, outcome_at: at + DAY_MS } });
    state.outcome = to.state === 'won' || to.state === 'lost' ? to.state : undefined;
    if (to.values) state.rfq.values = to.values;
    else delete state.rfq.values;
  };
  for (const move of one.moves)
    if (state.outcome) {
      if (move === 'another value') correct({ state: 'won', values });
      if (move === 'win after all') correct({ state: 'won', values: charges });
      if (move === 'reverse') correct({ state: 'in_progress' });
      if (move === 'lose') correct({ state: 'lost' });
    } else if (move === 'take up') happen({ type: 'RfqTakenUp', data: named });
    else if (move === 'quote') {
      const lines = storedLines(one.quoted);
      const all = [...lines.map((l) => ({ ...l, amount: l.quantity * l.unit_price })), ...charges];
      state.rfq.quotation = { lines, values: sumsOf(all) };
    } else if (move === 'win' && state.rfq.quotation) {
      const won = state.rfq.quotation.values;
      happen({ type: 'RfqWon', data: { ...named, values: won } as never });
      state.outcome = 'won';
      state.rfq.values = won;
    } else if (move === 'lose') {
      happen({ type: 'RfqLost', data: named });
      state.outcome = 'lost';
    }
  return given;
};

type Lines = EventData<'RfqWon'>['lines'];
/** What an event adds, or with -1 takes away. */
type Counted = {
  at: number;
  metric: 'rfqs_submitted' | 'rfqs_taken_up' | 'rfqs_won';
  by: number;
  lines: Lines;
  values: Story['values'];
};

const countedIn = ({ type, data, at }: Given): Counted[] => {
  const of = data as EventData<'RfqOutcomeCorrected'> & Partial<EventData<'RfqWon'>>;
  const { lines = [], values = [] } = of;
  switch (type) {
    case 'RfqConfirmedByBuyer':
      return [{ at, metric: 'rfqs_submitted', by: 1, lines, values: [] }];
    case 'RfqTakenUp':
      return of.lines ? [{ at, metric: 'rfqs_taken_up', by: 1, lines, values: sumsOf(lines) }] : [];
    case 'RfqWon':
      return [{ at, metric: 'rfqs_won', by: 1, lines, values }];
    case 'RfqOutcomeCorrected': {
      const { from, to, taken_up, outcome_at } = of;
      const up = taken_up && { lines: taken_up, values: sumsOf(taken_up) };
      return [
        ...(up ? [{ at: outcome_at, metric: 'rfqs_taken_up' as const, by: 1, ...up }] : []),
        ...[
          { ...from, by: -1 },
          { ...to, by: 1 },
        ].flatMap((side): Counted[] =>
          side.state === 'won'
            ? [
                {
                  at: outcome_at,
                  metric: 'rfqs_won',
                  by: side.by,
                  lines: side.lines ?? [],
                  values: side.values ?? [],
                },
              ]
            : [],
        ),
      ];
    }
    default:
      return [];
  }
};

type Row = {
  counts: Record<string, number>;
  rfq: Record<string, number>;
  won: Record<string, number>;
};

/** The rows of a question, as its contract says, with nothing but loops over the events. */
const naively = (given: readonly Given[], query: Query): Map<string, Row> => {
  const rows = new Map<string, Row>();
  const { groupBy, filters } = query;
  for (const event of given) {
    const { dims, ...named } = event.data as EventData<'RfqTakenUp'>;
    for (const { at, metric, by, lines, values } of countedIn(event)) {
      const bucket = bucketIn(query, Math.floor(at / DAY_MS));
      if (Math.floor(at / DAY_MS) < query.from || Math.floor(at / DAY_MS) > query.to) continue;
      const rest = sumsOf([
        ...(metric === 'rfqs_submitted' ? [] : values),
        ...(metric === 'rfqs_submitted' ? [] : lines.map((l) => ({ ...l, amount: -l.amount }))),
      ]);
      const counted = new Set<string>();
      const units = [
        ...lines.map((l) => ({ ...l, isLine: true })),
        ...rest.map((r) => ({ ...r, isLine: false, product_id: undefined, category: undefined })),
      ];
      for (const { product_id, category, amount, currency, isLine } of units) {
        const all: Record<string, unknown> = { ...dims, ...named, product_id, category };
        if (Object.entries(filters).some(([name, wanted]) => all[name] !== wanted)) continue;
        const key = JSON.stringify([bucket, groupBy.map((name) => all[name] ?? null)]);
        const row = rows.get(key) ?? { counts: {}, rfq: {}, won: {} };
        rows.set(key, row);
        const count = (name: string, n: number) => {
          row.counts[name] = (row.counts[name] ?? 0) + n;
        };
        if (isLine && !counted.has(key)) {
          counted.add(key);
          count(metric, by);
        }
        if (metric === 'rfqs_submitted') continue;
        if (isLine) count(metric === 'rfqs_won' ? 'won_lines' : 'rfq_lines', by);
        const sums = metric === 'rfqs_won' ? row.won : row.rfq;
        sums[currency] = (sums[currency] ?? 0) + by * amount;
      }
    }
  }
  return rows;
};

const isNot0 = ([, value]: [string, unknown]): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== 0;

/** Rows by their key without what is 0, because a correction leaves zeros in one and not in the other. */
const shown = (rows: Iterable<[string, Row]>): [string, object][] =>
  [...rows]
    .map(([key, row]): [string, object] => {
      const clean = (sums: Record<string, number>) =>
        Object.fromEntries(Object.entries(sums).filter(isNot0).toSorted());
      return [key, { counts: clean(row.counts), rfq: clean(row.rfq), won: clean(row.won) }];
    })
    .filter(([, row]) => Object.values(row).some((sums) => Object.keys(sums as object).length > 0))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

const NAMES = ['rfqs_submitted', 'rfqs_taken_up', 'rfqs_won', 'rfq_lines', 'won_lines'] as const;
const rowOf = (sum: Bucket['sum']): Row => ({
  counts: Object.fromEntries(NAMES.map((name) => [name, sum.counts[METRICS.indexOf(name)] ?? 0])),
  rfq: Object.fromEntries(sum.rfq),
  won: Object.fromEntries(sum.won),
});
const counted = (buckets: readonly Bucket[]) =>
  shown(buckets.map(({ bucket, group, sum }) => [JSON.stringify([bucket, group]), rowOf(sum)]));

const queries: fc.Arbitrary<Query> = fc.record({
  from: fc.constantFrom(TODAY - 30, TODAY - 1),
  to: fc.constantFrom(TODAY + 30, TODAY + 1),
  granularity: fc.constantFrom('day', 'total'),
  timeZone: fc.constant('UTC'),
  groupBy: fc.uniqueArray(
    fc.constantFrom('product_id', 'category', 'campaign', 'handoff_id', 'agent_id'),
    { maxLength: 2 },
  ),
  filters: fc.constantFrom<Query['filters']>(
    {},
    {},
    { product_id: 'prd_1' },
    { category: 'mugs' },
    { product_id: 'prd_2', category: 'bowls' },
    { campaign: 'c1', category: 'mugs' },
  ),
});

describe('Lines of RFQs', () => {
  test('Lines of RFQs count under their own products and categories as loops over the events count them, for random histories', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(story, { maxLength: 6 }),
        fc.array(queries, { minLength: 3, maxLength: 3 }),
        async (stories, asked) => {
          const given = stories.flatMap(eventsOf);
          const facts = await factsAfter(given);
          const rollUps = new RollUps(facts, 0);
          for (const query of asked) {
            const expected = shown(naively(given, query));
            const total: Query = { ...query, granularity: 'total', groupBy: [] };
            const totals = shown(naively(given, total)).map(([, row]) => row);
            const report = await aggregate(allOf(facts), query);
            expect(counted(await report.all()), JSON.stringify(query)).toEqual(expected);
            const inTotal = shown([['', rowOf(report.total())]]).map(([, row]) => row);
            expect(inTotal, JSON.stringify(query)).toEqual(totals);
            // The second question with these dimensions uses a roll-up.
            for (let time = 0; time < 2; time += 1) {
              const again = await aggregate(await rollUps.select(query, facts.length), query);
              expect(counted(await again.all()), JSON.stringify(query)).toEqual(expected);
              const rolled = shown([['', rowOf(again.total())]]).map(([, row]) => row);
              expect(rolled, JSON.stringify(query)).toEqual(totals);
            }
          }
        },
      ),
      { numRuns: 200, seed: seedOr(20_261_128) },
    ));

  test('Lines of RFQs have values that add up to the totals by every dimension, as the table of the contract says', () =>
    fc.assert(
      fc.asyncProperty(fc.array(story, { maxLength: 6 }), async (stories) => {
        const facts = await factsAfter(stories.flatMap(eventsOf));
        for (const dimension of DIMENSIONS) {
          const query: Query = {
            from: TODAY - 30,
            to: TODAY + 30,
            granularity: 'total',
            timeZone: 'UTC',
            groupBy: [dimension],
            filters: {},
          };
          const report = await aggregate(allOf(facts), query);
          const total = renderSum(report.total());
          const rows = (await report.all()).map(({ sum }) => renderSum(sum));
          for (const name of METRICS.filter((metric) => addsUp(metric, dimension)))
            expect(
              rows.reduce((all, row) => all + row[name], 0),
              `${name} by ${dimension}`,
            ).toBe(total[name]);
          for (const name of ['rfq_value', 'won_value'] as const)
            expect(
              new Map(sumsOf(rows.flatMap((row) => row[name])).map((m) => [m.currency, m.amount])),
            ).toEqual(new Map(total[name].map((m) => [m.currency, m.amount])));
        }
      }),
      { numRuns: 100, seed: seedOr(20_261_129) },
    ));

  test('Lines of RFQs divide a value by the largest remainder: nothing is lost, and no line is a unit off its share', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
        fc.array(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { minLength: 1 }),
        (amount, weights) => {
          const sum = weights.reduce((all, weight) => all + BigInt(weight), 0n);
          fc.pre(sum > 0n);
          const parts = divide(amount, weights);
          expect(parts.reduce((all, part) => all + BigInt(part), 0n)).toBe(BigInt(amount));
          for (const [n, part] of parts.entries()) {
            const off = BigInt(part) * sum - BigInt(amount) * BigInt(weights[n] ?? 0);
            expect(off < sum && off > -sum).toBe(true);
          }
        },
      ),
      { seed: seedOr(20_261_130) },
    );
    expect(divide(100, [1, 1, 1])).toEqual([34, 33, 33]);
    expect(divide(5, [0, 3, 0])).toEqual([0, 5, 0]);
  });

  test('Lines of RFQs are named in a table of the contract, which has every number', () => {
    const names = Object.keys(PRODUCT_OF);
    expect(names.toSorted()).toEqual([...METRICS, 'rfq_value', 'won_value'].toSorted());
  });
});
