import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppendTooLarge } from '#src/ports/event-log.ts';
import { interceptAppends } from '../support/appends.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';

/* Regression tests for faults that reviews found. */

const V1 = '/api/affiliate/v1';
let app: TestApp;
let acme: string;
let rival: string;
beforeAll(async () => {
  app = await testApp();
  acme = (await app.agent('acme')).key;
  rival = (await app.agent('rival')).key;
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(() => app.close());

const post = (key: string, path: string, payload: object, idempotencyKey = freshKey()) =>
  app.send({
    method: 'POST',
    url: V1 + path,
    key,
    payload,
    headers: { 'idempotency-key': idempotencyKey },
  });
const company = { name: 'Shop', country: 'GB' };
const person = (email: string) => ({
  contact: { name: 'Ada', email },
  consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
});
const claimable = async (email: string): Promise<boolean> => {
  const sent = await post(rival, '/leads', { external_id: freshKey(), company, ...person(email) });
  const { state, id } = sent.body as { state: string; id: string };
  await app.desk('POST', `/leads/${id}/move`, { owner_id: 'rival', to: 'rejected' });
  return state === 'submitted';
};

describe('A refusal', () => {
  const detailOf = ({ body }: { body: { errors: { pointer: string; detail: string }[] } }) =>
    body.errors.map(({ pointer, detail }) => `${pointer} ${detail}`);

  it('A refusal of an expiry in the past or too far in the future states the limit', async () => {
    const list = { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
    const ends = (expires_at: string) => post(acme, '/handoffs', { ...list, expires_at });
    const past = await ends('2026-11-20T09:59:59Z');
    expect(detailOf(past)).toEqual(['/expires_at must lie in the future']);
    const far = await ends('2027-02-18T10:00:01Z');
    expect(detailOf(far)).toEqual(['/expires_at must lie within 90 days']);
    expect((await ends('2027-02-18T10:00:00Z')).status).toBe(201);
  });

  // 9999-12-31T23:59:59-23:59 is in the year 10000, which RFC 3339 cannot write.
  it('A refusal of a time in a year without four digits in UTC states the range', async () => {
    const detail = 'must be in the years 0000 to 9999 in UTC';
    const consent = { basis: 'consent', obtained_at: '0000-01-01T00:00:00+00:01' };
    const lead = { external_id: freshKey(), company, ...person('year@buyer.example'), consent };
    expect(detailOf(await post(acme, '/leads', lead))).toEqual([`/consent/obtained_at ${detail}`]);
    const since = encodeURIComponent('9999-12-31T23:59:59-23:59');
    const read = (url: string, key: string) => app.send({ method: 'GET', url, key });
    const leads = await read(`${V1}/leads?updated_since=${since}`, acme);
    expect(detailOf(leads)).toEqual([`/updated_since ${detail}`]);
    for (const name of ['state?owner_id=acme&at', 'diff?owner_id=acme&from']) {
      const answer = await read(`/api/desk/v1/audit/${name}=${since}`, app.deskToken);
      expect(answer.status, `${name} ${answer.text}`).toBe(400);
    }
  });

  it('A refusal of two idempotency keys in one request describes a single key', async () => {
    const twice = await post(acme, '/leads', { external_id: 'two', company }, 'one, one');
    expect(twice).toMatchObject({ status: 400, body: { code: 'idempotency_key_invalid' } });
    const { detail } = twice.body as { detail: string };
    expect(detail).toBe('Send one key of 1 to 255 of A-Z a-z 0-9 . _ : ~ + / = -.');
  });

  it.each(['%20', '!!!', '%E3%80%80', '%CC%81'])(
    'A search for %s is refused with an error and not an empty result',
    async (words) => {
      const answer = await app.send({ method: 'GET', url: `${V1}/products?q=${words}`, key: acme });
      expect(answer).toMatchObject({ status: 400, body: { code: 'parameter_invalid' } });
      const isBlank = decodeURIComponent(words).trim() === '';
      expect(detailOf(answer)).toEqual([
        isBlank ? '/q must not be empty' : '/q must contain a letter or a digit',
      ]);
    },
  );

  it.each(['7', '%C3%BC', '%E7%BC%B6', '%C2%BD', '%E3%8E%8F'])(
    'A search for %s, which contains a letter or a digit, is not refused',
    async (words) => {
      const answer = await app.send({ method: 'GET', url: `${V1}/products?q=${words}`, key: acme });
      expect(answer.status).toBe(200);
    },
  );
});

describe('getConnection', () => {
  it('`getConnection` links to every interface, and each link exists', async () => {
    const { body } = await app.send({ method: 'GET', url: `${V1}/connection`, key: acme });
    const { links } = body as { links: Record<string, string> };
    expect(links).toMatchObject({
      mcp: 'https://t.example/api/affiliate/mcp',
      mcp_status: 'https://t.example/api/affiliate/mcp/status',
      agent_card: 'https://t.example/.well-known/agent-card.json',
    });
    // Short links begin with this one, which is none itself.
    const { short_links: _, ...pages } = links;
    for (const [name, link] of Object.entries(pages)) {
      const { status } = await app.send({ method: 'GET', url: new URL(link).pathname });
      expect([name, status]).toEqual([name, name === 'mcp' ? 405 : 200]);
    }
  });
});

describe('A lead', () => {
  it('A lead shows the time of its consent in UTC, like all times', async () => {
    const { contact } = person('zone@buyer.example');
    const consent = { basis: 'consent', obtained_at: '2026-11-19T11:00:00+02:00' };
    const fields = { external_id: 'zone', company, contact, consent };
    const sent = await post(acme, '/leads', fields, 'zone-1');
    const shown = { consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00.000Z' } };
    expect(sent).toMatchObject({ status: 201, body: shown });
    const again = await post(acme, '/leads', fields, 'zone-1');
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.text).toBe(sent.text);
    const listed = await app.send({
      method: 'GET',
      url: `${V1}/leads?external_id=zone`,
      key: acme,
    });
    expect(listed.body).toMatchObject({ data: [shown] });
  });
});

describe('The desk', () => {
  it('The desk does not let an owner read a stream of another owner under its own name', async () => {
    const issued = await app.desk('POST', '/desk-tokens', {
      name: 'Acme',
      roles: ['owner'],
      owner_id: 'acme',
    });
    const { token } = issued.body as { token: string };
    const lead = await post(rival, '/leads', { external_id: 'secret', company });
    const name = (lead.body as { id: string }).id.slice(4);
    const peek = (stream: string) =>
      app.send({
        method: 'GET',
        url: `/api/desk/v1/events?owner_id=acme&stream=${stream}`,
        key: token,
      });
    expect((await peek(`rival-lead_${name}`)).status).toBe(404);
    expect((await peek('desk-token_abc')).status).toBe(404);
  });

  it('The desk refuses an idempotency key that was used for another owner', async () => {
    const ask = (owner: string) =>
      app.send({
        method: 'POST',
        url: '/api/desk/v1/agents',
        key: app.deskToken,
        payload: { owner_id: owner, name: 'A', purpose: 'P', scopes: ['leads:read'] },
        headers: { 'idempotency-key': 'one-for-all' },
      });
    expect((await ask('alpha')).status).toBe(201);
    expect(await ask('beta')).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    });
  });

  it('The desk refuses an access request for a suspended agent, which would reinstate it', async () => {
    const { agentId, key } = await app.agent('odd');
    await app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Odd' });
    const request = { owner_id: 'odd', agent_id: agentId, name: 'A', purpose: 'P' };
    const again = await app.desk('POST', '/agents', { ...request, scopes: ['links:write'] });
    expect(again).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect((await post(key, '/links', {})).body).toMatchObject({ code: 'agent_suspended' });
  });

  it('The desk renames an approved agent only with an approval', async () => {
    const { agentId, key } = await app.agent('named', ['leads:read']);
    const wish = {
      owner_id: 'named',
      agent_id: agentId,
      name: 'Your bank',
      purpose: 'P',
      scopes: ['leads:read', 'links:write'],
    };
    await app.desk('POST', '/agents', wish);
    const name = async () =>
      (
        (await app.send({ method: 'GET', url: `${V1}/connection`, key })).body as {
          agent: { name: string };
        }
      ).agent.name;
    const pending = { name: 'Your bank', purpose: 'P', scopes: wish.scopes };
    const record = async () =>
      ((await app.desk('GET', '/agents?owner_id=named')).body as { data: object[] }).data[0];
    expect(await name()).toBe('Test agent');
    expect(await record()).toMatchObject({ name: 'Test agent', pending });
    const deny = () => app.desk('POST', `/agents/${agentId}/deny`, { reason: 'No bank' });
    expect((await deny()).status).toBe(200);
    expect(await record()).not.toHaveProperty('pending');
    expect(await deny()).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    await app.desk('POST', '/agents', { ...wish, scopes: ['leads:read'] });
    await atDesk(app, { path: `/agents/${agentId}/approve`, body: { reason: 'Fine' } });
    expect(await name()).toBe('Your bank');
  });
});

describe('A contact', () => {
  it('A contact is not claimed by a lead that was refused', async () => {
    await post(acme, '/leads', { external_id: 'gone', company });
    await post(acme, '/leads', { external_id: 'gone', withdraw: true });
    const late = await post(acme, '/leads', {
      external_id: 'gone',
      company,
      ...person('late@x.example'),
    });
    expect(late.status).toBe(409);
    expect(await claimable('late@x.example')).toBe(true);
    await post(acme, '/leads', { external_id: 'k-1', company }, 'spent');
    const reused = await post(
      acme,
      '/leads',
      { external_id: 'k-2', company, ...person('reused@x.example') },
      'spent',
    );
    expect(reused.status).toBe(422);
    expect(await claimable('reused@x.example')).toBe(true);
  });

  it('A contact is released when its lead is amended with another contact', async () => {
    await post(acme, '/leads', { external_id: 'moved', company, ...person('old@x.example') });
    await post(acme, '/leads', { external_id: 'moved', company, ...person('new@x.example') });
    expect(await claimable('old@x.example')).toBe(true);
    expect(await claimable('new@x.example')).toBe(false);
  });
});

describe('A log that accepts less than our own limit', () => {
  it('A log that accepts less than our own limit is answered with payload_too_large, to agents and at the desk', async () => {
    const { restore } = interceptAppends(app.service.deps.log, () =>
      Promise.reject(new AppendTooLarge('1 MiB at most')),
    );
    try {
      const tooLarge = { status: 413, body: { code: 'payload_too_large' } };
      expect(await post(acme, '/leads', { external_id: 'big', company })).toMatchObject(tooLarge);
      const request = { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['leads:read'] };
      expect(await app.desk('POST', '/agents', request)).toMatchObject(tooLarge);
    } finally {
      restore();
    }
  });
});

describe('A key', () => {
  it('An idempotency key is also used up by a write that changes nothing', async () => {
    await post(acme, '/leads', { external_id: 'noop', company });
    await post(acme, '/leads', { external_id: 'noop', withdraw: true });
    expect((await post(acme, '/leads', { external_id: 'noop', withdraw: true }, 'w1')).status).toBe(
      200,
    );
    const other = await post(acme, '/leads', { external_id: 'other', company }, 'w1');
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
  });

  it("A rotation's key counts as a live API key", async () => {
    const { keyId } = await app.agent('rotor');
    const rotated = await app.desk('POST', `/keys/${keyId}/rotate`, {});
    const { id } = rotated.body as { id: string };
    const second = await app.desk('POST', `/keys/${id}/rotate`, {});
    expect(second.status).toBe(409);
    const { detail } = second.body as { detail: string };
    expect(detail).toMatch(new RegExp(`${keyId} \\(.+, rotating\\).+Revoke one of them first`));
    expect(detail).toContain(id);
  });
});

describe('An erasure', () => {
  it('An erasure is final for a handoff: neither a retry nor its buyer can use it', async () => {
    const body = {
      title: 'L',
      buyer: { email: 'b@x.example' },
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    };
    const created = await post(acme, '/handoffs', body, 'erased-1');
    const { id, review_url } = created.body as { id: string; review_url: string };
    await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    expect(await post(acme, '/handoffs', body, 'erased-1')).toMatchObject({
      status: 410,
      body: { code: 'resource_erased' },
    });
    const sent = await app.send({
      method: 'POST',
      url: `${new URL(review_url).pathname}/send`,
      payload: 'list_revision=1&name=B&email=b%40x.example&consent=yes',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(sent.status).toBe(409);
  });

  it('An erasure is final for a lead without personal data', async () => {
    const bare = { external_id: 'bare', company };
    const created = await post(acme, '/leads', bare, 'bare-1');
    const { id } = created.body as { id: string };
    const erased = await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    expect(erased.body).toMatchObject({ key: 'never' });
    const retried = await post(acme, '/leads', bare, 'bare-1');
    const later = await post(acme, '/leads', { ...bare, ...person('back@x.example') });
    for (const answer of [retried, later])
      expect(answer).toMatchObject({ status: 410, body: { code: 'resource_erased' } });
  });
});

describe('The source of a lead', () => {
  it('The source of a lead is refused if its reference is not an id of its kind', async () => {
    const ref = `lnk_${'0'.repeat(24)}`;
    for (const source of [
      { kind: 'handoff', ref },
      { kind: 'link', ref: 'bare' },
    ])
      expect(
        await post(acme, '/leads', { external_id: freshKey(), company, source }),
      ).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/source/ref' }] },
      });
  });
});

describe('A performance file', () => {
  it("A performance file's headers name its position and the next page", async () => {
    const answer = await app.send({
      method: 'GET',
      url: `${V1}/performance?limit=2&as_of=3`,
      key: acme,
      headers: { accept: 'text/csv' },
    });
    expect(answer.headers['as-of']).toMatch(/^3\b/);
    expect(answer.headers['link']).toMatch(/cursor=.+>; rel="next"$/);
    const offset = await app.send({
      method: 'GET',
      url: `${V1}/performance?time_zone=%2B00:01`,
      key: acme,
    });
    expect(offset).toMatchObject({ status: 400, body: { errors: [{ pointer: '/time_zone' }] } });
  });
});
