/** Texts that look the same mean the same to the whole service: one request, one lead, one campaign, one product. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperationId } from '#contracts/registries/agents.ts';
import { asAgent } from '../support/world/outreach.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';

/** What may be around a text. */
const UNSEEN = ['', ' ', '\u00a0', '\u3000', '\u2800', '\u200d', '\u00ad', '\u200b', '\ufeff'];
/** What may also be in a name. */
const UNSEEN_IN_NAMES = [...UNSEEN, '\u2060', '\ufe0f', '\u202c'];

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

type Fields = Record<string, unknown>;
const write = async (id: OperationId, input: Fields): Promise<Fields & { replayed: boolean }> => {
  const outcome = await asAgent(app, key, id, { idempotency_key: freshKey(), ...input });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return { ...(outcome.value as Fields), replayed: outcome.replayOf !== undefined };
};

/** A copy with `unseen` around every text. */
const around = (value: unknown, unseen: string): unknown => {
  if (typeof value === 'string') return unseen + value + unseen;
  if (Array.isArray(value)) return value.map((one) => around(one, unseen));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, of]) => [name, around(of, unseen)]);
  return Object.fromEntries(members);
};

const COMPANY = { name: 'Shop', country: 'GB' };
const TARGET = { kind: 'search', ref: 'mug' };

it.each<[OperationId, Fields, Fields]>([
  [
    'createLink',
    { campaign: 'spring', sub_ids: ['a', 'b'], external_id: 'x-1', utm: { term: 'mugs' } },
    { target: TARGET },
  ],
  ['submitLead', { external_id: 'x-1', metadata: { team: 'north' } }, { company: COMPANY }],
  [
    'createHandoff',
    { title: 'List', external_id: 'x-1', note_to_buyer: 'Hello', metadata: { team: 'north' } },
    { line_items: [{ sku: 'MUG-1', quantity: 4 }] },
  ],
])('A retry of %s whose texts look the same gets the first answer', async (id, texts, rest) => {
  const idempotency_key = freshKey();
  const { id: first } = await write(id, { idempotency_key, ...texts, ...rest });
  for (const unseen of UNSEEN) {
    const copy = around(texts, unseen) as Fields;
    expect(await write(id, { idempotency_key, ...copy, ...rest })).toMatchObject({
      id: first,
      replayed: true,
    });
  }
});

describe('Names that look the same', () => {
  it('Names that look the same are one lead as its external_id', async () => {
    const ids = new Set<unknown>();
    for (const unseen of UNSEEN_IN_NAMES) {
      const external_id = `${unseen}crm-7${unseen}`;
      ids.add((await write('submitLead', { external_id, company: COMPANY }))['id']);
    }
    expect(ids.size).toBe(1);
  });

  it('Names that look the same are one campaign of links', async () => {
    const campaigns = new Set<unknown>();
    for (const unseen of UNSEEN_IN_NAMES)
      campaigns.add(
        (await write('createLink', { target: TARGET, campaign: `${unseen}summer${unseen}` }))[
          'campaign'
        ],
      );
    expect([...campaigns]).toEqual(['summer']);
  });

  it('Names that look the same are one product as its sku', async () => {
    await app.publish([feedProduct('E1')]);
    for (const unseen of UNSEEN_IN_NAMES) {
      const products = [
        { ...feedProduct('E1'), product: { ...feedProduct('E1').product, sku: `E1${unseen}` } },
      ];
      const { body } = await app.desk('POST', '/products/import', { products });
      expect(body).toMatchObject({ new: 0, unchanged: 1 });
      const line_items = [{ sku: `${unseen}E1`, quantity: 4 }];
      const handoff = await write('createHandoff', { title: 'List', line_items });
      expect(handoff).toMatchObject({ line_items: [{ sku: 'E1' }] });
    }
  });
});
