/** Pages that are counted from a roll-up, part by part, equal those that are counted from all facts. */
import { describe, expect, it, test } from 'vitest';
import { getPerformance as contract } from '#contracts/performance/operations.ts';
import { dateOf } from '#src/performance/calendar.ts';
import { OwnerFacts } from '#src/performance/facts.ts';
import { getPerformance, type PerformanceDeps } from '#src/performance/get-performance.ts';
import { METRIC } from '#projections/performance.ts';

const FIRST_DAY = 20_000;
const DAYS = 70;
const LINKS = 40;
/** More than are counted one by one. */
const FACTS = 24_000;
const QUARTERS = 96;
const idOf = (link: number): string => `lnk_${String(link).padStart(24, '0')}`;
const COUNTRIES = ['GB', 'GB', 'DE', 'MT'];

/** Links are clicked on fewer and fewer days, and Malta is seen by few. */
const makeFacts = (): OwnerFacts => {
  const facts = new OwnerFacts();
  for (let link = 0; link < LINKS; link += 1)
    facts.dims[link] = { link_id: idOf(link), campaign: `campaign-${link % 7}` };
  for (let n = 0; n < FACTS; n += 1) {
    const link = n % LINKS;
    const day = FIRST_DAY + Math.floor((n * DAYS) / FACTS);
    const country = n > 5 && n % 4 === 3 ? 'GB' : COUNTRIES[n % 4];
    const metric = day % (link + 1) === 0 ? 2 : 1;
    facts.add([n + 1, day * QUARTERS + (n % QUARTERS), link, metric, country ?? ''], n);
  }
  return facts;
};

const ask = async (facts: OwnerFacts, asked: object) => {
  const deps = {
    following: { asOf: () => ({ position: FACTS, at: 0 }), passed: async () => true },
    facts: { read: async () => facts },
    log: { head: async () => ({ position: FACTS }), readBack: async () => [{ meta: { at: 0 } }] },
    secrets: { mac: (_purpose: string, text: string) => text },
    clock: { now: () => 0 },
    classifierVersion: 1,
  };
  const input = contract.input.parse({
    from: dateOf(FIRST_DAY + 1),
    to: dateOf(FIRST_DAY + DAYS - 1),
    ...asked,
  });
  const call = { caller: { ownerId: 'acme' }, at: 0 };
  const outcome = await getPerformance(deps as unknown as PerformanceDeps, input, call as never);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.value;
};

/** Answers all pages; the first question with these dimensions counts facts one by one, the others read a roll-up. */
const allPages = async (facts: () => OwnerFacts, asked: object) => {
  const pages: object[] = [];
  for (let cursor: string | null = null; ; ) {
    const answer = await ask(facts(), { ...asked, ...(cursor !== null && { cursor }) });
    pages.push(answer);
    cursor = answer.page.next_cursor;
    if (cursor === null) return pages;
  }
};

describe('The pages of a large owner', () => {
  it.each([
    { group_by: ['link_id'] },
    { group_by: ['link_id'], granularity: 'week', time_zone: 'Asia/Kathmandu' },
    { group_by: ['campaign', 'country'], granularity: 'month' },
    { group_by: ['link_id', 'country'], campaign: 'campaign-3' },
    { group_by: ['link_id'], granularity: 'total' },
    { group_by: ['country'], as_of: FACTS - 4_000 },
    { group_by: ['link_id'], link_id: idOf(39) },
    { group_by: ['link_id'], link_id: idOf(404) },
  ])(
    'The pages of a large owner are the same from a roll-up as from all facts: %o',
    async (question) => {
      const asked = { ...question, limit: 300 };
      const facts = makeFacts();
      await ask(facts, asked);
      expect(await allPages(() => facts, asked)).toEqual(await allPages(makeFacts, asked));
    },
  );
});

test('An answer with a negative number in a row fails, although its totals are correct', async () => {
  const facts = new OwnerFacts();
  facts.dims[0] = { link_id: idOf(0) };
  const count = (day: number, by: number) =>
    facts.add([facts.length + 1, day * QUARTERS, 0, METRIC.rfqs_unconfirmed, by], facts.length);
  count(FIRST_DAY + 1, 1);
  count(FIRST_DAY + 2, 1);
  expect((await ask(facts, {})).totals.rfqs_unconfirmed).toBe(2);
  count(FIRST_DAY + 3, -1);
  await expect(ask(facts, {})).rejects.toThrow('a sum of performance is negative');
});
