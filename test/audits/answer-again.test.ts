/** Answers of agents that are recorded, and made again later. */
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { seedOr } from '../support/seed.ts';
import { person } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(() => app.close());

type Replay = {
  result: string;
  why?: string;
  recorded?: { sha256: string; position: number };
  replayed?: { sha256: string };
  answer?: object;
};

const PROFILE = { name: 'Acme', postal_address: '1 High Street', mailbox: 'office@acme.example' };

const record = async (owner: string, record_answers?: 'on' | 'off'): Promise<void> => {
  const profile = { ...PROFILE, ...(record_answers && { record_answers }) };
  const { status, text } = await app.desk('POST', `/owners/${owner}/profile`, profile);
  if (status !== 200) throw new Error(text);
  await world.caughtUp();
};

/** Reads over REST, and returns the bytes of the answer with the id of its request. */
const read = async (key: string, path: string): Promise<{ id: string; text: string }> => {
  await world.caughtUp();
  const answer = await app.send({ method: 'GET', url: `/api/affiliate/v1/${path}`, key });
  if (answer.status !== 200) throw new Error(answer.text);
  await app.service.deps.audit.flush();
  return { id: String(answer.headers['request-id']), text: answer.text };
};

const replay = async (id: string, { as = app.deskToken, reason = '' } = {}): Promise<Replay> => {
  const query = reason === '' ? '' : `?reason=${encodeURIComponent(reason)}`;
  const url = `/api/desk/v1/audit/replays/${id}${query}`;
  const { status, body, text } = await app.send({ method: 'GET', url, key: as });
  if (status !== 200) throw new Error(text);
  return body;
};

const entriesOf = async (owner: string) => {
  const { log } = app.service.deps;
  const events = await log.readOwner(owner, { after: 0, upTo: 1_000_000, limit: 1_000 });
  return events.flatMap(({ type, data }) =>
    type === 'ActivityRecorded' ? (data as EventData<'ActivityRecorded'>).entries : [],
  );
};

const visit = async (key: string): Promise<void> => {
  const payload = { target: { kind: 'product', ref: 'MUG-1' } };
  const headers = { 'idempotency-key': freshKey() };
  const url = '/api/affiliate/v1/links';
  const { body } = await app.send({ method: 'POST', url, key, payload, headers });
  const { pathname } = new URL((body as { short_url: string }).short_url);
  await app.send({ method: 'GET', url: pathname, headers: { 'user-agent': 'Mozilla/5.0' } });
  await app.service.deps.visits.flush();
};

it('Reads of an owner without the setting are summed as before, seal nothing, and are not recorded', async () => {
  const { key } = await app.agent('plain');
  const seal = vi.spyOn(app.service.deps.vault, 'seal');
  const { id } = await read(key, 'performance');
  expect(seal).not.toHaveBeenCalled();
  seal.mockRestore();
  expect(await replay(id)).toMatchObject({ result: 'not_recorded', why: /did not have/ });
  expect((await entriesOf('plain')).some((entry) => 'answer' in entry)).toBe(false);
});

it('A recorded answer with performance has the hash of its bytes, and is made again after more has happened', async () => {
  await record('acme', 'on');
  const { key } = await app.agent('acme');
  await visit(key);
  const paths = [
    'performance',
    'performance?group_by=link_id&names=1&limit=1&granularity=day',
    'performance?granularity=total&metrics=clicks_raw',
  ];
  const answers = [];
  for (const path of paths) answers.push(await read(key, path));
  await visit(key);
  await visit(key);
  const before = answers[0]?.text ?? '';
  expect((await read(key, 'performance')).text).not.toBe(before);
  app.clock.advance(40 * 86_400_000);
  for (const { id, text } of answers) {
    const { answer, ...shown } = await replay(id);
    expect(shown).toMatchObject({ result: 'equal', recorded: { sha256: hash('sha256', text) } });
    expect(JSON.stringify(answer)).toBe(text);
  }
  const { log } = app.service.deps;
  const events = JSON.stringify(await log.readAll({ after: 0, limit: 1_000 }));
  for (const { text } of answers)
    for (const form of ['hex', 'base64url'] as const)
      expect(events).not.toContain(hash('sha256', text, form));
});

it('An answer over MCP is recorded with the hash of its text', async () => {
  const { key } = await app.agent('acme');
  await world.caughtUp();
  const { body } = await mcpAgent(app, key).legacy('tools/call', {
    name: 'get_performance',
    arguments: { granularity: 'total' },
  });
  await app.service.deps.audit.flush();
  const { content, _meta } = body.result ?? {};
  const shown = await replay(String(_meta?.['requestId']));
  const sha256 = hash('sha256', content?.[0]?.text ?? '');
  expect(shown).toMatchObject({ result: 'equal', recorded: { sha256 } });
});

it('Equal reads within a second have an entry each while they are recorded', async () => {
  await record('twice', 'on');
  const { key } = await app.agent('twice');
  const url = '/api/affiliate/v1/performance';
  const readThrice = async (): Promise<void> => {
    await Promise.all([1, 2, 3].map(() => app.send({ method: 'GET', url, key })));
    await app.service.deps.audit.flush();
  };
  await readThrice();
  const entries = await entriesOf('twice');
  expect(entries.map(({ count, answer }) => [count, Boolean(answer?.sealed_record)])).toEqual(
    Array.from({ length: 3 }, () => [1, true]),
  );
  await record('twice', 'off');
  await readThrice();
  const later = (await entriesOf('twice')).slice(3);
  expect(later.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  expect(later.some((entry) => 'answer' in entry)).toBe(false);
});

it('A list of leads is made again as it was, and only an auditor with a reason sees its contacts', async () => {
  await record('leads', 'on');
  const { key } = await app.agent('leads');
  const lead = await world.lead(key, 'ada@shop.example');
  await world.lead(key, 'bob@shop.example');
  const list = await read(key, 'leads?limit=1');
  expect(list.text).toContain('bob@shop.example');
  const whole = await read(key, 'leads');
  app.clock.advance(1);
  for (const to of ['accepted', 'contacted'])
    await app.desk('POST', `/leads/${lead}/move`, { owner_id: 'leads', to });
  await world.lead(key, 'eve@shop.example');
  await world.act('withdraw', 'ada@shop.example');
  expect((await read(key, 'leads')).text).not.toContain('ada@shop.example');
  const owner = await person(app, ['owner'], 'leads');
  const auditor = await person(app, ['auditor']);
  for (const { id, text } of [list, whole]) {
    const sealed = await replay(id, { as: owner });
    expect(sealed).toMatchObject({ result: 'equal', recorded: { sha256: hash('sha256', text) } });
    expect(JSON.stringify(sealed.answer)).not.toContain('shop.example');
    expect(JSON.stringify(sealed.answer)).toContain('[sealed]');
    const opened = await replay(id, { as: auditor, reason: 'Complaint 12' });
    expect(JSON.stringify(opened.answer)).toBe(text);
  }
  await expect(replay(whole.id, { as: owner, reason: 'Curious' })).rejects.toThrow(/role_missing/);
});

it('An answer that cannot be made again is not equal, without a cause that was not tried', async () => {
  await record('erased', 'on');
  const { key } = await app.agent('erased');
  await world.lead(key, 'eli@shop.example');
  const { id } = await read(key, 'leads');
  await world.act('erase', 'eli@shop.example');
  const { answer, replayed, recorded, ...shown } = await replay(id);
  expect(shown).toMatchObject({ result: 'not_equal', why: /unknown/ });
  expect(replayed?.sha256).not.toBe(recorded?.sha256);
  expect(answer).toBeUndefined();
});

it('After the profile is removed, nothing opens what was asked, and a new profile records again', async () => {
  await record('gone', 'on');
  const { key } = await app.agent('gone');
  const { id } = await read(key, 'performance?campaign=spring');
  expect(await replay(id)).toMatchObject({ result: 'equal' });
  await record('gone');
  expect(await replay(id)).toMatchObject({ result: 'equal' });
  await app.desk('POST', '/owners/gone/profile/remove', { reason: 'The contract ended' });
  expect(await replay(id)).toMatchObject({ result: 'not_recorded', why: /erased/ });
  await record('gone', 'on');
  const { id: later } = await read(key, 'performance');
  expect(await replay(later)).toMatchObject({ result: 'equal' });
});

it.each([1, 2])(
  'Every answer of a random history is made again at its end, unless it has a contact that was erased since, with seed %i',
  async (seed) => {
    const owner = `random${seed}`;
    await record(owner, 'on');
    const history = await randomHistory(app, owner, seedOr(seed));
    // The agent of the history may be suspended in it.
    const { key } = await app.agent(owner);
    const paths = ['leads?limit=3', 'performance?group_by=campaign&include=empty', 'performance'];
    const answers: Awaited<ReturnType<typeof read>>[] = [];
    for (let step = 0; step < 40; step += 1) {
      for (let acts = 0; acts < 4; acts += 1) await history.act();
      answers.push(await read(key, paths[step % 3] ?? ''));
    }
    const { text: now } = await read(key, 'leads?limit=100');
    for (const { id, text } of answers) {
      const contacts = text.match(/[\w.]+@shop\.example/g) ?? [];
      const isWhole = contacts.every((contact) => now.includes(contact));
      expect(await replay(id), text).toMatchObject({ result: isWhole ? 'equal' : 'not_equal' });
    }
  },
);

it("Another owner's request is not found, like one that does not exist", async () => {
  const { key } = await app.agent('acme');
  const { id } = await read(key, 'performance');
  const other = await person(app, ['owner'], 'leads');
  for (const asked of [id, '0197f2a1-6c3e-7000-8000-000000000001', 'none'])
    await expect(replay(asked, { as: other })).rejects.toThrow(/resource_not_found/);
  expect(await replay(id, { as: await person(app, ['owner'], 'acme') })).toMatchObject({
    result: 'equal',
  });
});

it('An agent gets its answer while the store of keys does not answer, and the answer is not recorded', async () => {
  const { key } = await app.agent('acme');
  const seal = vi.spyOn(app.service.deps.vault, 'seal');
  seal.mockRejectedValueOnce(new LogUnavailable('fault', 'no', 'away'));
  const { id } = await read(key, 'performance');
  expect(seal).toHaveBeenCalled();
  seal.mockRestore();
  expect(await replay(id)).toMatchObject({ result: 'not_recorded' });
});
