/** A new generation of the key that hashes mailboxes: what was stored under the one before is found and binds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { withNewSecrets } from '../support/world/new-secrets.ts';
import { people } from '../support/world/people.ts';

const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
const MUTE = 'mute.d@gmail.com';
const KEPT = 'kept@shop.example';
const HELD = 'held@shop.example';

type Lead = { id: string };
type Found = { data: { id: string; match: string }[] };

let shared: { EVENT_LOG_URL: string; ROOT_KEY: string };
let before: TestApp;
let app: TestApp;
let key: string;
let beta: string;
let world: ReturnType<typeof people>;
let [muted, kept] = ['', ''];

beforeAll(async () => {
  const { url } = await logServer();
  shared = { EVENT_LOG_URL: url, ROOT_KEY };
  before = await testApp(shared);
  ({ key } = await before.agent('acme'));
  ({ key: beta } = await before.agent('beta'));
  const old = people(before);
  muted = await old.lead(key, MUTE);
  kept = ((await old.submitLead(key, KEPT, 'crm-kept')).body as Lead).id;
  await old.lead(key, HELD);
  await old.act('withdraw', MUTE);
  await before.service.close();
  app = await testApp(await withNewSecrets(shared));
  expect((await app.send({ url: '/api/affiliate/v1/leads', key })).status).toBe(401);
  ({ key } = await app.agent('acme'));
  ({ key: beta } = await app.agent('beta'));
  world = people(app);
  await world.caughtUp();
});
afterAll(async () => {
  await before.close();
  await app.close();
  await endLogServers();
});

const find = async (email: string): Promise<Found> => {
  await world.caughtUp();
  return (await world.act('find', email)).body;
};
const listed = async (id: string): Promise<unknown> => {
  const { body } = await app.send({ method: 'GET', url: '/api/affiliate/v1/leads', key });
  const { data } = body as { data: { id: string; contact: unknown }[] };
  return data.find((one) => one.id === id)?.contact;
};

describe('After a new generation of the mailbox key', () => {
  it("A lead's claim from before the rotation still holds", async () => {
    expect((await world.submitLead(beta, HELD)).body).toMatchObject({ state: 'rejected' });
  });

  it('Records of both generations of the mailbox key are found once, exactly or as another spelling', async () => {
    const { log } = app.service.deps;
    const { position } = await log.head();
    const amended = (await world.submitLead(key, KEPT.toUpperCase(), 'crm-kept')).body as Lead;
    expect(amended.id).toBe(kept);
    const folded = await world.lead(beta, 'other+tag@gmail.com');
    const [event] = await log.readAll({ after: position, limit: 1, types: ['LeadAmended'] });
    expect(event?.data).toMatchObject({ mailbox_keys: { mailbox: expect.stringMatching(/^2\./) } });
    const { data } = await find(KEPT);
    expect(data).toEqual([{ id: kept, owner_id: 'acme', match: 'exact', erased: false }]);
    expect(await find('other@gmail.com')).toMatchObject({
      data: [{ id: folded, match: 'folded' }],
    });
    expect(await find('muted@gmail.com')).toMatchObject({ data: [{ id: muted, match: 'folded' }] });
  });

  it("A person who refused contact before the mailbox key's rotation is masked, refused to agents, and can allow it again", async () => {
    expect(await listed(muted)).toBe('[withdrawn]');
    expect((await world.submitLead(beta, MUTE)).body).toMatchObject({ state: 'rejected' });
    const { body } = await world.act('lift', MUTE);
    expect(body).toMatchObject({ contact: { refused: [] } });
    await world.caughtUp();
    expect(await listed(muted)).toMatchObject({ email: MUTE });
    await world.act('withdraw', MUTE, { owner_id: 'acme' });
    await world.caughtUp();
    expect(await listed(muted)).toBe('[withdrawn]');
    const { log } = app.service.deps;
    const events = await log.readAll({ after: 0, limit: 1_000, types: ['PrivacyRequestRecorded'] });
    const ofMuted = events.filter(({ data }) => (data as { action: string }).action !== 'find');
    expect(new Set(ofMuted.map(({ stream }) => stream)).size).toBe(1);
  });
});
