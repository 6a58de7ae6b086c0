import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { includesType, interceptAppends } from '../support/appends.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { verifies } from '../support/source/verifies.ts';

const URL = '/api/affiliate/v1/leads';
let app: TestApp;
let acme: string;
let rival: string;

beforeAll(async () => {
  app = await testApp();
  acme = (await app.agent('acme')).key;
  rival = (await app.agent('rival')).key;
});
afterAll(() => app.close());

const submit = (key: string, body: object, idempotencyKey = freshKey()) =>
  app.send({
    method: 'POST',
    url: URL,
    key,
    payload: body,
    headers: { 'idempotency-key': idempotencyKey },
  });
const company = { name: 'Corner Shop', country: 'GB' };
const person = (email: string) => ({
  contact: { name: 'Ada Byron', email },
  consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
});
const leads = async (key: string, query = '') => {
  const answer = await app.send({ method: 'GET', url: URL + query, key });
  return (answer.body as { data: Record<string, unknown>[] }).data;
};

describe('submitLead', () => {
  it('`submitLead` submits, amends and withdraws a lead by external_id', async () => {
    verifies('resources.lead');
    const first = await submit(
      acme,
      { external_id: 'crm-1', company, ...person('ada@one.example') },
      'k1',
    );
    expect(first).toMatchObject({
      status: 201,
      body: { state: 'submitted', contact: { name: 'Ada Byron' } },
    });
    const amended = await submit(acme, {
      external_id: 'crm-1',
      company: { ...company, name: 'Corner Shop Ltd' },
      ...person('ada@one.example'),
      interest: { note: 'Wants mugs' },
    });
    expect(amended).toMatchObject({
      status: 200,
      body: { version: 1, company: { name: 'Corner Shop Ltd' }, interest: { note: 'Wants mugs' } },
    });
    const replay = await submit(
      acme,
      { external_id: 'crm-1', company, ...person('ada@one.example') },
      'k1',
    );
    expect(replay.text).toBe(first.text);
    expect(replay.status).toBe(201);
    expect(replay.headers['idempotent-replayed']).toBe('true');
    const withdrawn = await submit(acme, { external_id: 'crm-1', withdraw: true });
    expect(withdrawn).toMatchObject({ status: 200, body: { state: 'withdrawn' } });
    const after = await submit(acme, { external_id: 'crm-1', company });
    expect(after).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
  });

  it('`submitLead` refuses a key that was used for another lead', async () => {
    await submit(acme, { external_id: 'crm-2', company }, 'k2');
    const other = await submit(acme, { external_id: 'crm-3', company }, 'k2');
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    expect(await leads(acme, '?external_id=crm-3')).toEqual([]);
  });

  it('`submitLead` accepts only countries of ISO 3166-1, and reports one fault for each other', async () => {
    for (const country of ['ZZ', 'EU', 'zz', 'GBR']) {
      const answer = await submit(acme, { external_id: 'crm-zz', company: { name: 'S', country } });
      expect(answer).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/company/country' }] },
      });
      expect((answer.body as { errors: object[] }).errors).toHaveLength(1);
    }
    for (const country of ['GB', 'XK', 'SS'])
      expect(
        (await submit(acme, { external_id: freshKey(), company: { name: 'S', country } })).status,
      ).toBe(201);
  });

  it('`submitLead` accepts no consent in the future, except within the tolerance for clocks', async () => {
    const consented = (obtained_at: string) => ({
      external_id: 'crm-early',
      company,
      ...person('early@buyer.example'),
      consent: { basis: 'consent', obtained_at },
    });
    for (const early of [
      '2999-01-01T00:00:00Z',
      '2026-11-20T10:05:01Z',
      '2026-11-20T10:00:00-01:00',
    ])
      expect(await submit(acme, consented(early))).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/consent/obtained_at', code: 'in_future' }] },
      });
    expect((await submit(acme, consented('2026-11-20T10:04:59Z'))).status).toBe(201);
    expect((await submit(acme, consented('2999-01-01T00:00:00Z'))).status).toBe(422);
  });

  it('`submitLead` refuses an e-mail address as external_id', async () => {
    expect(await submit(acme, { external_id: 'ada@one.example', company })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/external_id', code: 'pii_not_allowed' }] },
    });
  });

  it('`submitLead` does not use up the key when it refuses', async () => {
    const refused = await submit(
      acme,
      { external_id: 'crm-4', company, contact: person('x@y.example').contact },
      'k4',
    );
    expect(refused).toMatchObject({ status: 422, body: { code: 'consent_missing' } });
    const mended = await submit(
      acme,
      { external_id: 'crm-4', company, ...person('x@y.example') },
      'k4',
    );
    expect(mended.status).toBe(201);
  });

  it('`submitLead` answers a contact of another promoter with already_known and nothing else', async () => {
    await submit(acme, { external_id: 'crm-5', company, ...person('Shared@buyer.example') });
    const clash = await submit(rival, {
      external_id: 'r-1',
      company,
      ...person('shared@BUYER.example'),
    });
    expect(clash).toMatchObject({
      status: 201,
      body: { state: 'rejected', state_reason: 'already_known' },
    });
    expect(clash.text).not.toContain('acme');
    const own = await submit(acme, {
      external_id: 'crm-6',
      company,
      ...person('shared@buyer.example'),
    });
    expect(own).toMatchObject({ status: 201, body: { state: 'duplicate' } });
  });

  it('`submitLead` releases the contact when the lead is withdrawn', async () => {
    await submit(acme, { external_id: 'crm-7', company, ...person('free@buyer.example') });
    await submit(acme, { external_id: 'crm-7', withdraw: true });
    const next = await submit(rival, {
      external_id: 'r-2',
      company,
      ...person('free@buyer.example'),
    });
    expect(next).toMatchObject({ status: 201, body: { state: 'submitted' } });
  });

  it('`submitLead` replaces the whole content by an amendment, and releases a contact that the amendment omits', async () => {
    const left = person('left-out@buyer.example');
    const first = await submit(acme, {
      external_id: 'crm-10',
      company,
      ...left,
      interest: { note: 'Wants mugs' },
      metadata: { shelf: 3 },
    });
    const { contact, consent, interest, metadata, ...rest } = first.body as Record<string, object>;
    expect([contact, consent, interest, metadata]).not.toContain(undefined);
    const amended = await submit(acme, { external_id: 'crm-10', company });
    expect(amended.body).toEqual({ ...rest, version: 1, claim_released: true });
    expect(await leads(acme, '?external_id=crm-10')).toEqual([{ ...rest, version: 1 }]);
    const next = await submit(rival, { external_id: 'r-10', company, ...left });
    expect(next).toMatchObject({ body: { state: 'submitted' } });
  });

  it('`submitLead` refuses another source than the lead has, and does not claim the contact', async () => {
    const source = { kind: 'manual', ref: 'fair' };
    await submit(acme, { external_id: 'crm-11', company });
    const named = await submit(acme, { external_id: 'crm-11', company, source });
    expect(named).toMatchObject({ status: 200, body: { source } });
    const free = person('source@buyer.example');
    const other = { external_id: 'crm-11', company, source: { kind: 'manual' }, ...free };
    expect(await submit(acme, other)).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ pointer: '/source', code: 'fixed' }] },
    });
    expect(await leads(acme, '?external_id=crm-11')).toEqual([named.body]);
    const next = await submit(rival, { external_id: 'r-11', company, ...free });
    expect(next).toMatchObject({ body: { state: 'submitted' } });
  });

  it('`submitLead` releases the previous contact at once or on a retry, and amends the lead in both cases', async () => {
    const had = person('had@buyer.example');
    await submit(acme, { external_id: 'crm-12', company, ...had });
    const dying = interceptAppends(app.service.deps.log, async (appends, write) => {
      if (includesType(appends, 'LeadClaimReleased'))
        throw new LogUnavailable('fault', 'no', 'gone');
      return write(appends);
    });
    const amend = () =>
      submit(acme, { external_id: 'crm-12', company, ...person('has@buyer.example') }, 'k12');
    const amended = await amend();
    dying.restore();
    expect(amended).toMatchObject({
      status: 200,
      body: { contact: { email: 'has@buyer.example' } },
    });
    const clash = await submit(rival, { external_id: 'r-12', company, ...had });
    expect(clash).toMatchObject({ body: { state_reason: 'already_known' } });
    expect(await amend()).toMatchObject({ status: 200, text: amended.text });
    const free = await submit(rival, { external_id: 'r-13', company, ...had });
    expect(free).toMatchObject({ body: { state: 'submitted' } });
  });

  it('`submitLead` keeps a contact that a later amendment restored when an earlier amendment is retried', async () => {
    const [one, two] = [person('one@back.example'), person('two@back.example')];
    const say = (who: object, key?: string) =>
      submit(acme, { external_id: 'crm-14', company, ...who }, key);
    await say(one);
    await say(two, 'k14');
    await say(one);
    expect((await say(two, 'k14')).headers['idempotent-replayed']).toBe('true');
    const clash = await submit(rival, { external_id: 'r-14', company, ...one });
    expect(clash).toMatchObject({ body: { state_reason: 'already_known' } });
  });

  it('`submitLead` releases the contact when staff mark the lead as a duplicate, and the lead stays closed', async () => {
    const same = person('true@buyer.example');
    const lead = await submit(acme, { external_id: 'crm-15', company, ...same });
    const { id } = lead.body as { id: string };
    await app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to: 'duplicate' });
    const next = await submit(rival, { external_id: 'r-15', company, ...same });
    expect(next).toMatchObject({ body: { state: 'submitted' } });
    const again = await submit(acme, { external_id: 'crm-15', company });
    expect(again).toMatchObject({ status: 409 });
    expect((again.body as { detail: string }).detail).toContain('an external_id of its own');
  });

  it('`submitLead` does not change the state of a lead, which only staff move along the allowed states', async () => {
    verifies('service.6.staff');
    const lead = (await submit(acme, { external_id: 'crm-8', company })).body as { id: string };
    const move = (to: string, more = {}) =>
      app.desk('POST', `/leads/${lead.id}/move`, { owner_id: 'acme', to, ...more });
    expect(await move('won')).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect(await move('accepted')).toMatchObject({ status: 200, body: { state: 'accepted' } });
    expect((await move('contacted')).status).toBe(200);
    expect((await move('qualified')).status).toBe(200);
    const forged = await submit(acme, { external_id: 'crm-9', company, state: 'won' });
    expect(forged).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/state', code: 'unknown_field' }] },
    });
  });
});

describe('listLeads', () => {
  it('`listLeads` lists the leads of the owner only, newest first, in pages', async () => {
    verifies('resources.own-records');
    const all = await leads(acme, '?limit=100');
    expect(all.length).toBeGreaterThan(5);
    expect(new Set(all.map(({ owner_id }) => owner_id))).toEqual(new Set(['acme']));
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const answer = await app.send({ method: 'GET', url: `${URL}?limit=2${cursor}`, key: acme });
      const { data, page } = answer.body as {
        data: { id: string }[];
        page: { next_cursor: string | null };
      };
      seen.push(...data.map(({ id }) => id));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor);
    expect(seen).toEqual(all.map(({ id }) => id));
    const [first] = all;
    const foreign = await leads(rival, `?limit=100`);
    expect(foreign.some(({ id }) => id === first?.['id'])).toBe(false);
  });

  it('`listLeads` filters by state, and refuses a cursor of another owner', async () => {
    const withdrawn = await leads(acme, '?state=withdrawn');
    expect(withdrawn.map(({ state }) => state)).toEqual(['withdrawn', 'withdrawn']);
    const answer = await app.send({ method: 'GET', url: `${URL}?limit=1`, key: acme });
    const { next_cursor } = (answer.body as { page: { next_cursor: string } }).page;
    const stolen = await app.send({
      method: 'GET',
      url: `${URL}?limit=1&cursor=${next_cursor}`,
      key: rival,
    });
    expect(stolen).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('`listLeads` shows a lead as lapsed if staff did not accept it in time', async () => {
    await submit(acme, { external_id: 'old', company });
    app.clock.advance(91 * 86_400_000);
    expect(await leads(acme, '?external_id=old')).toMatchObject([{ state: 'lapsed' }]);
    app.clock.advance(-91 * 86_400_000);
  });
});

describe('Personal data of a lead', () => {
  it('Personal data of a lead is sealed in the log and unreadable after an erasure', async () => {
    const { id } = (
      await submit(acme, { external_id: 'gdpr', company, ...person('erase.me@buyer.example') })
    ).body as {
      id: string;
    };
    const events = await app.desk('GET', '/events?owner_id=acme&limit=1000');
    expect(events.text).not.toContain('erase.me');
    expect(await leads(acme, '?external_id=gdpr')).toMatchObject([
      { contact: { email: 'erase.me@buyer.example' } },
    ]);
    const erased = await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked for it' });
    expect(erased).toMatchObject({ status: 200, body: { key: 'destroyed' } });
    expect(await leads(acme, '?external_id=gdpr')).toMatchObject([{ contact: '[erased]' }]);
    const again = await submit(acme, {
      external_id: 'gdpr',
      company,
      ...person('erase.me@buyer.example'),
    });
    expect(again).toMatchObject({ status: 410, body: { code: 'resource_erased' } });
  });
});
