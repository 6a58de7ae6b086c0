/** Performance counted from facts equals performance counted from one row for each link and day. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DIMENSIONS } from '#contracts/performance/records.ts';
import { aggregate } from '#src/performance/aggregate.ts';
import {
  addTo,
  type Bucket,
  emptySum,
  inOrder,
  bucketKeyOf,
  type Query,
  renderBucket,
  renderSum,
} from '#src/performance/calendar.ts';
import { aggregateRecords, foldToRecords } from '../support/oracle/performance-records.ts';
import { countPage, rowPlaceOf } from '#src/performance/get-performance.ts';
import { isRefusal } from '#src/shared/outcome.ts';
import { RollUps } from '#src/performance/facts.ts';
import { seedOr } from '../support/seed.ts';
import { allOf, factsAfter } from '../support/oracle/facts.ts';
import { type Given, happened, inLog, MIDNIGHT, QUARTER_MS, TODAY } from '../support/world/fold.ts';

const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'America/St_Johns'];
const GRANULARITIES = ['day', 'week', 'month', 'total'] as const;
const CAMPAIGNS = [undefined, 'spring', 'null', 'null null', '["a"]'];
const TYPES = [
  'VisitRecorded',
  'VisitRecorded',
  'VisitRecorded',
  'VisitsSummed',
  'HandoffCreated',
  'HandoffOpenedByBuyer',
  'RfqSubmittedByBuyer',
  'LeadSubmitted',
  'LeadAccepted',
  'LeadWon',
  'LeadOutcomeCorrected',
] as const;

const happening = fc.record({
  type: fc.constantFrom(...TYPES),
  subject: fc.integer({ min: 0, max: 4 }),
  quartersAgo: fc.integer({ min: 0, max: 4_000 }),
  visitor: fc.integer({ min: 0, max: 3 }),
  country: fc.constantFrom(undefined, '', 'GB', 'GB', 'GB', 'DE', 'MT', 'other'),
  signals: fc.constantFrom(undefined, [], ['bot' as const]),
  amounts: fc.array(
    fc.record({
      amount: fc.integer({ min: 0, max: 900 }),
      currency: fc.constantFrom('GBP', 'EUR'),
    }),
    { maxLength: 2 },
  ),
  count: fc.integer({ min: 1, max: 500 }),
});
type Happening = typeof happening extends fc.Arbitrary<infer Made> ? Made : never;

/** The attribution depends on the subject only, as it is fixed when a link or a list is created. */
const dimsOf = (subject: number) => {
  const campaign = CAMPAIGNS[subject % CAMPAIGNS.length];
  return {
    channel: subject % 2 ? 'mail' : 'social',
    sub_ids: [`s${subject}`, ...(subject % 3 ? ['x'] : [])],
    ...(campaign !== undefined && { campaign }),
    ...(subject % 2 && { product_id: `prd_${subject}`, category: 'mugs' }),
  };
};

const eventOf = (one: Happening): Given => {
  const { type, subject, quartersAgo, amounts } = one;
  const at = MIDNIGHT - quartersAgo * QUARTER_MS;
  const dims = dimsOf(subject);
  const named = { agent_id: `agt_${subject % 2}`, dims };
  const handoff = { ...named, handoff_id: `hnd_${subject}` };
  const lead = { ...named, lead_id: `led_${subject}`, ...(subject % 2 && { link_id: 'lnk_1' }) };
  const value = amounts[0] && { value: amounts[0] };
  const uncounted = one.visitor === 3 && { uncounted: true };
  const data = {
    VisitRecorded: {
      ...named,
      link_id: `lnk_${subject}`,
      visitor: `v${one.visitor}`,
      device: 'desktop',
      trigger: 'link',
      ...(one.country !== undefined && { country: one.country }),
      ...(one.signals && { signals: one.signals }),
    },
    VisitsSummed: { ...named, link_id: `lnk_${subject}`, visits: one.count },
    HandoffCreated: handoff,
    HandoffOpenedByBuyer: handoff,
    RfqSubmittedByBuyer: { ...handoff, confirmation: {} },
    LeadSubmitted: lead,
    LeadAccepted: lead,
    LeadWon: { ...lead, ...value, ...uncounted },
    LeadOutcomeCorrected: {
      ...lead,
      ...uncounted,
      from: { state: one.visitor % 2 ? 'lost' : 'won', ...value },
      to: { state: 'won', ...(amounts[1] && { value: amounts[1] }) },
      outcome_at: at - one.count * QUARTER_MS,
    },
  }[type];
  return happened(type, `anna-any_${subject}`, data as never, at);
};

const queries: fc.Arbitrary<Query> = fc.record({
  from: fc.integer({ min: TODAY - 45, max: TODAY }),
  to: fc.integer({ min: TODAY - 2, max: TODAY + 2 }),
  granularity: fc.constantFrom(...GRANULARITIES),
  timeZone: fc.constantFrom(...ZONES),
  groupBy: fc.uniqueArray(fc.constantFrom(...DIMENSIONS), { maxLength: 3 }),
  filters: fc.constantFrom(
    {},
    {},
    { country: 'GB' },
    { country: 'other' },
    { campaign: 'spring' },
    { link_id: 'lnk_1' },
    { link_id: 'lnk_1', country: 'GB' },
    { sub_id_2: 'x' },
    { agent_id: 'agt_1', channel: 'mail' },
  ),
});

/** Questions with the same zone and dimensions share a roll-up. */
const nameOf = ({ timeZone, groupBy, filters }: Query): string =>
  [timeZone, ...new Set([...groupBy, ...Object.keys(filters)].toSorted())].join();

/** Reads a question page by page from a roll-up, as a client does with cursors. */
const allPages = async (rollUps: RollUps, query: Query, length: number) => {
  const select = (part: Query) => rollUps.select(part, length);
  const total: Query = { ...query, granularity: 'total' };
  const { countries } = await aggregate(await select(total), total);
  const rows: [string, object][] = [];
  for (let after: ReturnType<typeof rowPlaceOf> | undefined; ; ) {
    const page = await countPage(select, query, { after, limit: 3, isWhole: false, countries });
    if (isRefusal(page)) throw new Error(page.detail);
    for (const bucket of page.shown)
      rows.push([bucketKeyOf(bucket), renderBucket(bucket, query.groupBy)]);
    if (!page.more || !page.last) return rows;
    after = rowPlaceOf(page.last, query.to);
  }
};

it('The answer of every question equals that of the oracle, for random histories', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(happening, { maxLength: 250 }),
      fc.array(queries, { minLength: 4, maxLength: 4 }),
      fc.constantFrom(0, 0.5, 0.8, 0.9, 0.99),
      async (happenings, asked, earlier) => {
        const given = happenings.map(eventOf);
        const facts = await factsAfter(given);
        const fold = foldToRecords();
        for (const event of inLog(given)) fold.take(event);
        const records = fold.rows();
        const rollUps = new RollUps(facts, 0);
        const rolled = new Set<string>();
        for (const query of asked) {
          const rendered = async (buckets: readonly Bucket[]) =>
            (await inOrder(buckets, query)).map((bucket) => [
              bucketKeyOf(bucket),
              renderBucket(bucket, query.groupBy),
            ]);
          const report = await aggregate(allOf(facts), query);
          const counted = await rendered(await report.all());
          const oracle = await aggregateRecords(records, query);
          expect(counted, JSON.stringify(query)).toEqual(await rendered(oracle));
          // The first question with these dimensions prepares the roll-up, and the second one uses it.
          for (const isByDay of [false, true]) {
            const selection = await rollUps.select(query, facts.length);
            expect(selection.isByDay).toBe(isByDay || rolled.has(nameOf(query)));
            const again = await (await aggregate(selection, query)).all();
            expect(await rendered(again), JSON.stringify(query)).toEqual(counted);
          }
          rolled.add(nameOf(query));
          // As of an earlier position, newer facts are subtracted if they are few.
          const upTo = Math.round(facts.length * earlier);
          const then = await rollUps.select(query, upTo);
          expect(then.isByDay).toBe(facts.length - upTo <= upTo / 4);
          const earlierRecords = foldToRecords();
          const factual = inLog(given).filter(({ data }) => !('uncounted' in data));
          for (const event of factual.slice(0, upTo)) earlierRecords.take(event);
          expect(
            await rendered(await (await aggregate(then, query)).all()),
            `${JSON.stringify(query)} up to ${upTo}`,
          ).toEqual(await rendered(await aggregateRecords(earlierRecords.rows(), query)));
          const total = emptySum();
          for (const { sum } of oracle) addTo(total, sum);
          expect(renderSum(report.total())).toEqual(renderSum(total));
          if (query.groupBy.length === 0) continue;
          expect(await allPages(rollUps, query, facts.length), JSON.stringify(query)).toEqual(
            counted,
          );
          const ordered = await report.inOrder();
          const indexes = Array.from({ length: ordered.length }, (_, index) => index);
          expect(indexes.map((index) => bucketKeyOf(ordered.at(index)))).toEqual(
            counted.map(([key]) => key),
          );
          expect(indexes.map((index) => ordered.startAt(index))).toEqual(
            indexes.map((index) => ordered.at(index).bucket),
          );
        }
      },
    ),
    { numRuns: 150, seed: seedOr(20_261_123) },
  ));
