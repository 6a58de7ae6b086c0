/** Notes and reasons: shown to their readers, sealed in the log, and unreadable after an erasure. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const { handoff, get, post } = reviews({ app: () => app, key: () => key });

const NOTE = 'Dear Ada Byron, tel 0123';
const LINE_NOTE = 'as Ada likes it';
const WHY = 'I am Ada Byron, call 0123';
const WORDS = [NOTE, LINE_NOTE, WHY];
const noted = {
  note_to_buyer: NOTE,
  line_items: [
    { sku: 'MUG-1', quantity: 4 },
    { sku: 'MUG-2', quantity: 4, note: LINE_NOTE },
  ],
};

const lead = async (fields: object): Promise<string> => {
  const { body } = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: { external_id: freshKey(), company: { name: 'Shop', country: 'GB' }, ...fields },
    headers: { 'idempotency-key': freshKey() },
  });
  return (body as { id: string }).id;
};
const kindOf = (id: string): string => (id.startsWith('led_') ? 'lead' : 'handoff');
const resource = async (id: string): Promise<string> => {
  const uri = `tributary://${kindOf(id)}s/${id}`;
  return (await mcpAgent(app, key).legacy('resources/read', { uri })).text;
};
const logged = async (id: string): Promise<string> => {
  const stream = `acme-${kindOf(id)}_${id.slice(4)}`;
  return JSON.stringify(await app.service.deps.log.readStream(stream));
};
const shownEvents = async (id: string): Promise<string> =>
  (await app.desk('GET', `/events?stream=acme-${kindOf(id)}_${id.slice(4)}`)).text;
const erase = async (id: string): Promise<object> =>
  (await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' })).body;
const close = (id: string, verb: string) =>
  app.desk('POST', `/handoffs/${id}/${verb}`, { owner_id: 'acme', reason: WHY });
const listed = async (id: string): Promise<string> => {
  const handoffs = await app.desk('GET', '/handoffs?owner_id=acme&limit=100');
  const leads = await app.send({
    method: 'GET',
    url: '/api/affiliate/v1/leads?limit=100',
    key,
  });
  const rows = [handoffs, leads].flatMap(({ body }) => (body as { data: { id: string }[] }).data);
  return JSON.stringify(rows.filter((row) => row.id === id));
};
const rowOf = async (id: string): Promise<string> =>
  JSON.stringify(await app.service.deps.readModels.get(`${kindOf(id)}s`, 'acme', id));

/** Everything that shows a record, and its row in the read model. */
const everywhere = async (id: string, path?: string): Promise<string> => {
  const places = [resource(id), shownEvents(id), listed(id), rowOf(id)];
  const page = path === undefined ? '' : (await get(path)).text;
  return [...(await Promise.all(places)), page].join('\n');
};
const wordsIn = (text: string): string[] => WORDS.filter((words) => text.includes(words));

describe('A note in a list', () => {
  it('A note in a list is readable for the buyer and the agent, sealed in the log, and erased with the list', async () => {
    const { id, path } = await handoff(noted);
    expect(wordsIn(await logged(id))).toEqual([]);
    expect(wordsIn((await get(path)).text)).toEqual([NOTE, LINE_NOTE]);
    expect(wordsIn(await resource(id))).toEqual([NOTE, LINE_NOTE]);
    expect(wordsIn(await listed(id))).toEqual([NOTE]);
    expect(wordsIn(await rowOf(id))).toEqual([]);
    const sent = { list_revision: '1', 'quantity.2': '8', ...CONTACT };
    await post(`${path}/quantities`, sent);
    expect(wordsIn((await get(path)).text)).toEqual([NOTE, LINE_NOTE]);
    await post(`${path}/send`, { ...sent, list_revision: '2' });
    const rfq = () => app.desk('GET', `/handoffs/${id}/rfq?owner_id=acme`);
    expect((await rfq()).body).toMatchObject({ line_items: [{}, { note: LINE_NOTE }] });
    expect(await erase(id)).toMatchObject({ key: 'destroyed' });
    expect(wordsIn((await rfq()).text + (await everywhere(id, path)))).toEqual([]);
    expect(await resource(id)).toContain('[erased]');
  });

  it.each(['decline', 'withdraw', 'invalidate'])(
    'A note and the reason to %s a list are sealed in the log and erased with the list',
    async (verb) => {
      const { id, path } = await handoff();
      if (verb === 'decline') await post(`${path}/decline`, { list_revision: '1', reason: WHY });
      else expect((await close(id, verb)).status).toBe(200);
      expect(wordsIn(await logged(id))).toEqual([]);
      for (const place of [(await get(path)).text, await resource(id), await listed(id)])
        expect(wordsIn(place)).toEqual([WHY]);
      await erase(id);
      expect(wordsIn(await everywhere(id, path))).toEqual([]);
      expect((await get(path)).text).toContain('[erased]');
    },
  );
});

describe('The reason of the state of a lead', () => {
  const move = (id: string, to: string, reason?: string) =>
    app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to, ...(reason && { reason }) });

  it.each(['withdrawn', 'rejected'])(
    "The reason for a lead's state is shown while the lead is %s, until the lead is erased",
    async (state) => {
      const external_id = freshKey();
      const id = await lead({ external_id });
      if (state === 'rejected') await move(id, state, WHY);
      else await lead({ external_id, company: undefined, withdraw: true, withdraw_reason: WHY });
      expect(wordsIn(await logged(id))).toEqual([]);
      for (const place of [await resource(id), await listed(id)])
        expect(wordsIn(place)).toEqual([WHY]);
      expect(await erase(id)).toMatchObject({ key: 'destroyed' });
      expect(wordsIn(await everywhere(id))).toEqual([]);
      expect(JSON.parse(await listed(id))).toMatchObject([{ state, state_reason: '[erased]' }]);
    },
  );

  it("The reason for a lead's state is refused after an erasure, while moves without a reason are accepted", async () => {
    const id = await lead({});
    await erase(id);
    expect(await move(id, 'accepted', WHY)).toMatchObject({
      status: 409,
      body: { code: 'state_conflict' },
    });
    expect(await move(id, 'accepted')).toMatchObject({ status: 200, body: { state: 'accepted' } });
  });
});
