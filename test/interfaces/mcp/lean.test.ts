/** Answers that a call makes shorter: chosen fields and numbers, and pages that say how many rows are left. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { productFieldNames } from '#contracts/catalog/records.ts';
import { metricNames } from '#contracts/performance/records.ts';
import { mcpAgent, type McpAgent } from '../../support/clients/mcp.ts';
import { feedProduct, type TestApp, testApp } from '../../support/world/app.ts';

let app: TestApp;
let agent: McpAgent;

const CAMPAIGNS = ['spring', 'summer-sale', 'mugs-2026', 'autumn', 'cafes', 'newsletter-48'];

beforeAll(async () => {
  app = await testApp();
  await app.publish(
    Array.from({ length: 120 }, (_, i) =>
      feedProduct(`MUG-${i}`, { title: `Speckled Stoneware Mug ${i}`, category: 'Mugs' }),
    ),
  );
  agent = mcpAgent(app, (await app.agent('acme')).key);
  for (const campaign of CAMPAIGNS) {
    const target = { kind: 'search', ref: 'mug' };
    const made = await agent.call('create_link', { target, campaign, idempotency_key: campaign });
    const { code } = made.structuredContent as { code: string };
    for (let visit = 0; visit < 3; visit += 1)
      await app.send({ method: 'GET', url: `/l/${code}`, headers: { 'user-agent': BROWSER } });
  }
});
afterAll(() => app.close());

const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36';

type Answer = {
  data: Record<string, unknown>[];
  totals: Record<string, unknown>;
  page: { next_cursor: string | null; has_more: boolean; rows_left?: number };
};
const ask = async (tool: string, input: object): Promise<{ answer: Answer; tokens: number }> => {
  const { structuredContent, content, isError } = await agent.call(tool, input);
  expect([content[0]?.text, isError]).toEqual([content[0]?.text, undefined]);
  const tokens = countTokens(JSON.stringify(structuredContent));
  return { answer: structuredContent as unknown as Answer, tokens };
};

describe('A search with fields', () => {
  it('A search with any one of its fields answers rows with this field alone', async () => {
    const [whole] = (await ask('search_products', { limit: 1 })).answer.data;
    for (const name of productFieldNames) {
      const { answer } = await ask('search_products', { limit: 1, fields: [name] });
      const value = whole?.[name];
      expect(answer.data).toEqual([value === undefined ? {} : { [name]: value }]);
    }
  });

  it('A search of 100 rows costs at most 60 tokens a row with the fields that a list needs', async () => {
    const fields = ['sku', 'title', 'price_at_quantity', 'lead_time_days'];
    const { answer, tokens } = await ask('search_products', { q: 'mug', limit: 100, fields });
    expect(answer.data).toHaveLength(100);
    expect(tokens / 100).toBeLessThan(60);
  });

  it('The pages of a search with fields continue one another', async () => {
    const seen: unknown[] = [];
    for (let cursor: string | null = null; ; ) {
      const input = { q: 'mug', limit: 50, fields: ['sku'], ...(cursor !== null && { cursor }) };
      const { answer } = await ask('search_products', input);
      seen.push(...answer.data.map(({ sku }) => sku));
      cursor = answer.page.next_cursor;
      if (cursor === null) break;
    }
    expect([seen.length, new Set(seen).size]).toEqual([120, 120]);
  });
});

describe('A report with chosen numbers', () => {
  const week = { granularity: 'total', group_by: ['campaign'], compare_to: 'previous_period' };

  it('A report with any one of its numbers has this number alone, in rows and totals', async () => {
    const whole = (await ask('get_performance', week)).answer;
    for (const name of metricNames) {
      const { answer } = await ask('get_performance', { ...week, metrics: [name] });
      expect(answer.totals).toEqual({ [name]: whole.totals[name] });
      for (const row of answer.data)
        for (const numbers of [row['metrics'], row['comparison']])
          expect(Object.keys(numbers as object)).toEqual([name]);
    }
  });

  it('A report without zeros leaves out exactly the numbers that are zero', async () => {
    const whole = (await ask('get_performance', week)).answer;
    const lean = (await ask('get_performance', { ...week, zeros: 'omit' })).answer;
    const filled = (numbers: object): object =>
      Object.fromEntries(
        Object.entries(numbers).filter(([, value]) => value !== 0 && String(value) !== ''),
      );
    expect(lean.totals).toEqual(filled(whole.totals));
    expect(Object.keys(lean.totals)).toContain('clicks_valid');
    expect(lean.data.map(({ metrics }) => metrics)).toEqual(
      whole.data.map(({ metrics }) => filled(metrics as object)),
    );
  });

  it('A weekly report of six campaigns with the week before costs at most 1,200 tokens', async () => {
    const { answer, tokens } = await ask('get_performance', { ...week, zeros: 'omit' });
    expect(
      answer.data.map(({ dimensions }) => (dimensions as { campaign: string }).campaign),
    ).toEqual(CAMPAIGNS.toSorted());
    expect(tokens).toBeLessThan(1_200);
  });
});

describe('A page that is cut by size', () => {
  it('A page that is cut by size says how many of its rows are left', async () => {
    const first = await ask('search_products', { q: 'mug', limit: 100 });
    const { data, page } = first.answer;
    expect(data.length).toBeLessThan(100);
    expect(page.rows_left).toBe(100 - data.length);
    const next = { q: 'mug', limit: 100, cursor: page.next_cursor ?? '' };
    const { answer } = await ask('search_products', next);
    expect(answer.data.length + (answer.page.rows_left ?? 0)).toBe(
      Math.min(100, 120 - data.length),
    );
    const last = await ask('search_products', { q: 'mug', limit: 5 });
    expect(last.answer.page).not.toHaveProperty('rows_left');
  });
});

describe('A name that does not exist', () => {
  it.each([
    ['search_products', 'fields', 'titel', 'title'],
    ['search_products', 'facets', 'certification', 'certifications'],
    ['search_products', 'fields', 'price', 'price_tiers'],
    ['get_performance', 'metrics', 'clicks_uniqe', 'clicks_unique'],
    ['get_performance', 'metrics', 'rfq_values', 'rfq_value'],
    ['get_performance', 'group_by', 'campain', 'campaign'],
  ])('%s refuses in %s the name %s, and names %s', async (tool, field, wrong, right) => {
    const { isError, content } = await agent.call(tool, { [field]: [wrong] });
    const problem = JSON.parse(content[0]?.text ?? '{}') as { errors: { detail: string }[] };
    expect([isError, problem.errors[0]?.detail]).toEqual([
      true,
      expect.stringMatching(new RegExp(`did you mean ${right}\\b`)) as string,
    ]);
  });
});
