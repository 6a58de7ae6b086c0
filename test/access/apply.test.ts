/** The public application for access: from the form to the first key of the agent. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { listStoredMail } from '#src/delivery/mail.ts';
import { applicationStream, expireApplications } from '#src/access/applications.ts';
import { profileStream } from '#src/owners/profile.ts';
import { systemCall } from '#src/calls/handlers.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { FILES } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const REASON = { reason: 'Known promoter' };
const KEY = /trb_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/;

let app: TestApp;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  app.service.dispatcher.start();
});
afterAll(() => app.close());

type Fields = Record<string, string | string[]>;
const formFor = (owner: string, over: Fields = {}): Fields => ({
  name: `Ada of ${owner}`,
  postal_address: '1 High Street\r\nLondon',
  mailbox: `ada@${owner}.example`,
  owner_id: owner,
  agent_name: 'Letter agent',
  purpose: 'Our monthly letter',
  scopes: ['products:read', 'links:write'],
  ...over,
});
let networks = 0;
const post = (
  url: string,
  fields: Fields = {},
  { headers = {}, network = `198.51.100.${(networks += 1)}` }: Sent = {},
) =>
  app.send({
    method: 'POST',
    url,
    payload: new URLSearchParams(
      Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
    ).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    remoteAddress: network,
  });
type Sent = { headers?: Record<string, string>; network?: string };
const get = (url: string) => app.send({ method: 'GET', url });

/** Sends an application; resolves to the path of the link that is mailed. */
const apply = async (owner: string, over: Fields = {}): Promise<string> => {
  app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS);
  const fields = formFor(owner, over);
  expect((await post('/apply', fields)).status).toBe(200);
  return world.mailedPath(String(fields['mailbox']));
};
type Asked = { agent_id: string; owner_id: string; application_id?: string; outcome: string };
const requestOf = async (owner: string): Promise<Asked | undefined> => {
  const { body } = await app.desk('GET', '/access-requests?limit=100');
  return (body as { data: Asked[] }).data.find(({ owner_id }) => owner_id === owner);
};
/** Confirms an application; resolves to its link and the agent. */
const confirmed = async (owner: string): Promise<{ link: string; agent: string }> => {
  const link = await apply(owner);
  expect((await post(`${link}/confirm`, { owner_id: owner })).headers['location']).toBe(link);
  return { link, agent: (await requestOf(owner))?.agent_id ?? '' };
};
const decide = (agent: string, verb: string, body: object = REASON) =>
  app.desk('POST', `/agents/${agent}/${verb}`, body);
const idIn = (link: string): string =>
  Buffer.from(/([0-9a-f]+)\./.exec(link)?.[1] ?? '', 'hex').toString();
const typesIn = async (stream: string): Promise<string[]> =>
  (await app.service.deps.log.readStream(stream)).map(({ type }) => type);
const keysOf = async (owner: string): Promise<unknown[]> =>
  ((await app.desk('GET', `/keys?owner_id=${owner}`)).body as { data: unknown[] }).data;
const everything = async (): Promise<string> =>
  JSON.stringify(await app.service.deps.log.readAll({ after: 0, limit: 100_000 }));

describe('An application', () => {
  it('An application leads from the form to a key that works, which is shown once', async () => {
    expect((await get('/apply')).text).toContain('Apply for access');
    const link = await apply('northgift');
    const [mail] = (await listStoredMail(join(app.directory, 'mail'))).filter(
      ({ to }) => to === 'ada@northgift.example',
    );
    expect(mail?.text).not.toMatch(/northgift|Ada of|Letter agent|letter/);
    expect(await everything()).not.toMatch(/Ada of|ada@northgift|northgift/);
    for (const method of ['GET', 'HEAD'] as const)
      expect((await app.send({ method, url: link })).status).toBe(200);
    const { text, headers } = await get(link);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    for (const shown of ['Ada of northgift', 'London', 'links:write', 'value="northgift"'])
      expect(text).toContain(shown);
    expect(await requestOf('northgift')).toBeUndefined();

    for (let times = 0; times < 2; times += 1)
      expect((await post(`${link}/confirm`, { owner_id: 'northgift' })).status).toBe(303);
    expect((await get(link)).text).toContain('Staff have your application');
    const asked = await requestOf('northgift');
    expect(asked).toMatchObject({ outcome: 'pending', application_id: idIn(link) });
    expect((await app.desk('GET', '/owners/northgift/profile')).body).toMatchObject({
      name: 'Ada of northgift',
      postal_address: '1 High Street\nLondon',
      mailbox_confirmed_at: expect.any(String) as string,
    });
    expect(await app.service.deps.vault.knows(idIn(link))).toBe('destroyed');
    expect((await post(`${link}/key`)).status).toBe(303);
    expect(await keysOf('northgift')).toEqual([]);

    const scopes = ['products:read'];
    await decide(asked?.agent_id ?? '', 'approve', { ...REASON, scopes });
    await world.caughtUp();
    expect(await world.mailedPath('ada@northgift.example')).toBe(link);
    const granted = await get(link);
    expect(granted.text).toMatch(/approved[^]*products:read[^]*Known promoter[^]*Issue the key/);
    const answers = await Promise.all([1, 2, 3].map(() => post(`${link}/key`)));
    const shown = answers.filter(({ text: page }) => KEY.test(page));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 303, 303]);
    expect(shown).toHaveLength(1);
    expect(shown[0]?.headers['cache-control']).toBe('no-store');
    const key = KEY.exec(shown[0]?.text ?? '')?.[0] ?? '';
    const connection = await app.send({ method: 'GET', url: '/api/affiliate/v1/connection', key });
    expect(connection.body).toMatchObject({ granted_scopes: scopes });
    expect((await get(link)).text).toContain('The key was issued');
    expect(await everything()).not.toContain(key);

    // Also once the key is revoked.
    const [{ id }] = (await keysOf('northgift')) as [{ id: string }];
    await app.desk('POST', `/keys/${id}/revoke`, { reason: 'Lost' });
    expect((await post(`${link}/key`)).status).toBe(303);
    expect(await keysOf('northgift')).toHaveLength(1);
  });

  it('An application is refused with a message for each field that is not valid, and nothing is stored', async () => {
    const { position } = await app.service.deps.log.head();
    const empty = await post('/apply', {});
    expect(empty.status).toBe(422);
    const fields = ['name', 'postal_address', 'mailbox', 'owner_id', 'agent_name', 'purpose'];
    for (const name of [...fields, 'scopes']) expect(empty.text).toContain(`href="#${name}"`);
    for (const over of [
      { mailbox: 'ada' },
      { mailbox: 'a@b.example, c@d.example' },
      { owner_id: 'Big Shop' },
      { owner_id: 'desk' },
      { owner_id: 'testshop' },
      { scopes: 'everything' },
      { name: 'A\u202eB' },
      { name: ['Ada', 'Bea'], purpose: '' },
    ]) {
      const answer = await post('/apply', formFor('faulty', over));
      expect(answer.status, JSON.stringify(over)).toBe(422);
    }
    const kept = await post('/apply', formFor('faulty', { name: '' }));
    expect(kept.text).toMatch(/value="ada@faulty\.example"[^]*value="products:read" checked/);
    const { key } = await app.agent('acme');
    const after = (await app.service.deps.log.head()).position;
    expect(after).toBeGreaterThan(position);
    const bearer = { headers: { authorization: `Bearer ${key}` } };
    expect((await post('/apply', formFor('faulty'), bearer)).status).toBe(403);
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await post('/apply', formFor('faulty'), foreign)).status).toBe(403);
    expect(await everything()).not.toContain('ApplicationReceived","data":{"faulty');
    expect(await requestOf('faulty')).toBeUndefined();
  });

  it('An application gets the same answer and the same events for every mailbox, and is limited for each network', async () => {
    const blocked = await apply('blocked');
    await post(`${blocked}/not-me`);
    const answers = [];
    for (const [n, mailbox] of [
      'ada@northgift.example',
      'new@x.example',
      'ada@blocked.example',
    ].entries()) {
      await app.service.dispatcher.idle();
      const { position: after } = await app.service.deps.log.head();
      const { status, text, headers } = await post('/apply', formFor(`same${n}`, { mailbox }));
      const written = await app.service.deps.log.readAll({ after, limit: 100 });
      const types = written.flatMap(({ type, meta }) =>
        meta.operation === 'applyForAccess' ? [type] : [],
      );
      answers.push({ status, text, names: Object.keys(headers).toSorted(), types });
    }
    expect(answers[0]?.types).toEqual(['MailQueued', 'ApplicationReceived']);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    const statuses = [];
    for (let n = 0; n <= LIMITS.PRIVACY_LINKS_PER_DAY; n += 1)
      statuses.push((await post('/apply', formFor(`many${n}`), { network: '203.0.113.9' })).status);
    expect(statuses).toEqual([...Array<number>(LIMITS.PRIVACY_LINKS_PER_DAY).fill(200), 429]);
  });

  it('An application that is not confirmed in seven days expires, and its key is destroyed', async () => {
    const link = await apply('lateshop');
    app.clock.advance(LIMITS.MAILED_LINK_DAYS * DAY_MS);
    expect((await get(link)).status).toBe(404);
    expect((await post(`${link}/confirm`, { owner_id: 'lateshop' })).status).toBe(404);
    const { deps } = app.service;
    const by = { ownerId: 'desk', signal: new AbortController().signal };
    const expire = () => expireApplications(deps, systemCall(deps, 'expireApplications', by));
    expect(await expire()).toBeGreaterThan(0);
    expect(await app.service.deps.vault.knows(idIn(link))).toBe('destroyed');
    expect(await typesIn(applicationStream(idIn(link)))).toEqual([
      'ApplicationReceived',
      'SubjectErased',
    ]);
    expect(await requestOf('lateshop')).toBeUndefined();
    await world.caughtUp();
    expect(await expire()).toBe(0);
  });

  it("An application by somebody else ends with the person's button, and the mailbox gets no more such mail", async () => {
    const link = await apply('stranger');
    expect((await post(`${link}/not-me`)).text).toContain('The application has ended');
    expect(await app.service.deps.vault.knows(idIn(link))).toBe('destroyed');
    expect((await get(link)).status).toBe(404);
    expect((await post(`${link}/confirm`, { owner_id: 'stranger' })).status).toBe(404);
    const { position: after } = await app.service.deps.log.head();
    await post('/apply', formFor('stranger'));
    await world.caughtUp();
    await app.service.dispatcher.idle();
    const later = await app.service.deps.log.readAll({ after, limit: 100 });
    const failed = later.find(({ type }) => type === 'MailFailed');
    expect(failed?.data).toMatchObject({ reason: 'blocked' });
  });

  it('An application ends with an erasure by the person whose mailbox it names, who sees it first', async () => {
    const link = await apply('erased');
    app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS);
    await post('/privacy', { mailbox: 'ada@erased.example' });
    const own = await world.mailedPath('ada@erased.example');
    expect((await get(own)).text).toContain(`An application for access, ${idIn(link)}`);
    const copy = await post(`${own}/export`);
    expect(JSON.parse(copy.text)).toMatchObject({
      data: [{ application: { purpose: 'Our monthly letter' } }],
    });
    expect((await post(`${own}/erase`, { confirmed: 'yes' })).text).toContain('Records erased: 1');
    expect(await app.service.deps.vault.knows(idIn(link))).toBe('destroyed');
    expect((await get(link)).status).toBe(404);
  });
});

describe('The owner of an application', () => {
  it('The owner of an application must not exist yet or have been prepared by staff', async () => {
    await app.agent('busy');
    const profile = { name: 'P', postal_address: 'P', mailbox: 'p@p.example' };
    await app.desk('POST', '/owners/profiled/profile', profile);
    await app.desk('POST', '/desk-tokens', { name: 'Ada', roles: ['owner'], owner_id: 'tokened' });
    const settings = { mode: 'owner_controlled', approvals_required: 1, channels: FILES };
    expect((await app.desk('POST', '/outreach/settled', settings)).status).toBe(200);
    for (const owner of ['busy', 'profiled', 'tokened', 'settled']) {
      const answer = await post('/apply', formFor(owner));
      expect(answer.status, owner).toBe(422);
      expect(answer.text).toContain('href="#owner_id"');
    }
  });

  it('An applicant chooses another owner if the first one was taken meanwhile', async () => {
    const first = await apply('wanted');
    const second = await apply('wanted', { mailbox: 'bea@wanted.example', name: 'Bea' });
    expect((await post(`${first}/confirm`, { owner_id: 'wanted' })).status).toBe(303);
    const before = await typesIn(profileStream('wanted'));
    const prepared = ['busy', 'profiled', 'tokened', 'settled'];
    for (const owner_id of ['wanted', ...prepared, 'claims', 'testwanted', 'a-b', '']) {
      const refused = await post(`${second}/confirm`, { owner_id });
      expect(refused.status, owner_id).toBe(422);
      expect(refused.text).toMatch(/not confirmed[^]*id="owner_id-fault"/);
    }
    expect(await typesIn(profileStream('wanted'))).toEqual(before);
    expect(await requestOf('wanted')).toMatchObject({ application_id: idIn(first) });
    expect((await post(`${second}/confirm`, { owner_id: 'wanted2' })).status).toBe(303);
    expect(await requestOf('wanted2')).toMatchObject({ application_id: idIn(second) });
  });

  it('An owner is created by one of two confirmations that arrive at once', async () => {
    const links = [await apply('raced'), await apply('raced', { mailbox: 'bea@raced.example' })];
    const answers = await Promise.all(
      links.map((link) => post(`${link}/confirm`, { owner_id: 'raced' })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 422]);
    expect(await typesIn(profileStream('raced'))).toEqual([
      'OwnerProfileSet',
      'OwnerMailboxConfirmed',
    ]);
  });
});

describe('The link of a confirmed application', () => {
  it('The link of a confirmed application shows a denial with its reason, and issues no key for an agent that is not approved', async () => {
    const { link, agent } = await confirmed('refused');
    await decide(agent, 'deny', { reason: 'No such company' });
    expect((await get(link)).text).toMatch(/was denied[^]*No such company/);
    const other = await confirmed('paused');
    await decide(other.agent, 'approve');
    await decide(other.agent, 'suspend', { reason: 'Unpaid' });
    expect((await get(other.link)).text).toMatch(/is suspended[^]*Unpaid/);
    for (const one of [link, other.link]) {
      expect((await post(`${one}/key`)).status).toBe(303);
      expect((await post(`${one}/not-me`)).status).toBe(303);
    }
    for (const owner of ['refused', 'paused']) expect(await keysOf(owner)).toEqual([]);
  });

  it("The link of a confirmed application ends with another mailbox of the owner, with the profile's removal, and after 30 days", async () => {
    const names = ['moved', 'removed', 'aged'];
    const all = [];
    for (const name of names) {
      const one = await confirmed(name);
      await decide(one.agent, 'approve');
      all.push(one.link);
    }
    const same = { name: 'Aged Ltd', postal_address: 'P', mailbox: 'ada@aged.example' };
    await app.desk('POST', '/owners/aged/profile', same);
    expect((await get(all[2] ?? '')).text).toContain('Issue the key');
    const other = { ...same, mailbox: 'new@moved.example' };
    await app.desk('POST', '/owners/moved/profile', other);
    await app.desk('POST', '/owners/removed/profile/remove', { reason: 'Left' });
    for (const link of all.slice(0, 2)) {
      expect((await get(link)).status).toBe(404);
      expect((await post(`${link}/key`)).status).toBe(404);
    }
    app.clock.advance(LIMITS.APPLICATION_DAYS * DAY_MS);
    expect((await post(`${all[2]}/key`)).status).toBe(404);
    for (const name of names) expect(await keysOf(name)).toEqual([]);
  });

  it('The link of a confirmed application is its only credential: no guess and no mailbox link opens the page', async () => {
    const { link, agent } = await confirmed('guessed');
    await decide(agent, 'approve');
    const guesses = [
      `${link.slice(0, -1)}${link.endsWith('0') ? '1' : '0'}`,
      link.replace(Buffer.from('apl_').toString('hex'), Buffer.from('apm_').toString('hex')),
      link.slice(0, -1),
      `/apply/${idIn(link)}`,
      '/apply/guessed',
    ];
    for (const guess of guesses) {
      expect((await get(guess)).status, guess).toBe(404);
      for (const button of ['confirm', 'key', 'not-me']) {
        const answer = await post(`${guess}/${button}`, { owner_id: 'other' });
        expect(answer.status, `${guess}/${button}`).toBe(404);
      }
    }
    expect((await get(link.replace('/apply/', '/mailbox/'))).status).toBe(404);
    expect(await keysOf('guessed')).toEqual([]);
  });
});
