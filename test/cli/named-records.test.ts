/** Commands accept what people name a record with, wherever they accept an id. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { nameRecords } from '#src/cli/named-records.ts';
import type { Desk } from '#src/cli/transport.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { settled } from '../support/world/browsing.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let desk: Desk;
const ids: Record<string, string> = {};
let searches = 0;

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  const { key, agentId } = await app.agent('acme');
  const lead_id = await people(app).lead(key, 'ada@shop.example');
  const handoff_id = await people(app).rfq(key, 'bea@shop.example');
  Object.assign(ids, { lead_id, handoff_id, agent_id: agentId, owner_id: 'acme' });
  await settled(app);
  const call = async (_id: string, { text, owner_id }: Record<string, string>) => {
    searches += 1;
    const query = new URLSearchParams({ text: text ?? '', ...(owner_id && { owner_id }) });
    return (await app.desk('GET', `/records?${query.toString()}`)).body;
  };
  desk = { call: call as never, server: undefined };
});
afterAll(() => app.close());

const naming = (Object.values(deskOperations) as DeskOperation[]).flatMap((operation) =>
  ['handoff_id', 'lead_id', 'record_id', 'agent_id', 'owner_id']
    .filter((field) => field in operation.input.shape && operation.id !== 'searchDesk')
    .map((field) => [operation.id, field, operation] as const),
);

describe('A name of a record on the command line', () => {
  it.each(naming)(
    '%s accepts in %s what people name a record with',
    async (_id, field, operation) => {
      const id = ids[field === 'record_id' ? 'handoff_id' : field] ?? '';
      const names = {
        owner_id: ['Acme'],
        agent_id: ['test AGENT', id.slice(0, 12)],
      }[field] ?? [referenceOf(id), referenceOf(id).toLowerCase(), id.slice(0, 12)];
      for (const name of names)
        expect(await nameRecords(desk, operation, { [field]: name }), name).toEqual({
          [field]: id,
        });
      const before = searches;
      expect(await nameRecords(desk, operation, { [field]: id })).toEqual({ [field]: id });
      expect(searches, 'an id costs no search').toBe(before);
    },
  );

  it('A name of nothing, of several records and a mistyped reference are not guessed', async () => {
    const { readRfq, readAgent } = deskOperations;
    const asked = (handoff_id: string) => nameRecords(desk, readRfq, { handoff_id });
    expect(await asked('nothing')).toEqual({ handoff_id: 'nothing' });
    const reference = referenceOf(ids['handoff_id'] ?? '');
    const wrong = reference.slice(0, -1) + (reference.endsWith('A') ? 'B' : 'A');
    await expect(asked(wrong)).rejects.toThrow('mistyped');
    // A lead is no handoff.
    const lead = referenceOf(ids['lead_id'] ?? '');
    expect(await asked(lead)).toEqual({ handoff_id: lead });
    await app.agent('rival');
    await settled(app);
    const several = nameRecords(desk, readAgent, { agent_id: 'Test agent' });
    await expect(several).rejects.toThrow('names 2 records');
    const one = { agent_id: 'Test agent', owner_id: 'acme' };
    expect(await nameRecords(desk, deskOperations.listRfqs, one)).toMatchObject({
      agent_id: ids['agent_id'],
    });
  });

  it('No document of agents has a reference for people', () => {
    for (const document of ['openapi.json', 'mcp-tools.json', 'agent-card.json', 'llms.txt']) {
      const text = readFileSync(
        new URL(`../../contracts/published/${document}`, import.meta.url),
        'utf8',
      );
      expect(text, document).not.toMatch(/R-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]/);
    }
  });
});
