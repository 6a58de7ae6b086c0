/** A person who refuses contact is masked everywhere, and no agent can ask who it is. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { pino } from 'pino';
import { openService } from '../support/world/open-service.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { confirmRfq } from '../support/world/confirmation.ts';
import { asAgent, configure, person } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let app: TestApp;
let acme: string;
let beta: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp({ STAFF_MAIL: 'staff@tributary.example' });
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
  beta = (await app.agent('beta')).key;
  await configure(app, 'acme');
});
afterAll(() => app.close());
// A record that has the time of a refusal counts as earlier.
beforeEach(() => app.clock.advance(MINUTE_MS));

const refuse = async (mailbox: string, more: object = {}): Promise<void> => {
  const { status, text } = await world.act('withdraw', mailbox, more);
  if (status >= 300) throw new Error(text);
  await world.caughtUp();
  app.clock.advance(MINUTE_MS);
};

/** The contacts of an owner's lead in the agent's list and at the desk. */
const contactsOf = async (key: string, owner: string, id: string): Promise<unknown[]> => {
  await world.caughtUp();
  const listed = await app.send({ method: 'GET', url: '/api/affiliate/v1/leads', key });
  const { data } = listed.body as { data: { id: string; contact: unknown }[] };
  const { body } = await app.desk('GET', `/leads/${id}?owner_id=${owner}`);
  return [data.find((lead) => lead.id === id)?.contact, (body as { contact: unknown }).contact];
};
const recordOf = async (key: string, input: object): Promise<object> => {
  const { app: application, deps } = app.service;
  const admitted = await application.records.admit(
    { credential: key, surface: 'mcp', requestId: deps.ids.uuid(), address: '192.0.2.1' },
    'readRecord',
  );
  if (!admitted.ok) throw new Error(admitted.code);
  const outcome = await application.records.perform(admitted.value, 'readRecord', {
    input: { ...input },
  });
  if (!outcome.ok) throw new Error(outcome.code);
  return outcome.value;
};
const rfqContact = async (id: string): Promise<unknown> => {
  const { body } = await app.desk('GET', `/handoffs/${id}/rfq`);
  return (body as { contact: unknown }).contact;
};

const ADA = (email: string) => ({ name: 'Ada Lovelace', email });
const MASKED = '[withdrawn]';

describe('A contact whose person refuses contact', () => {
  it('A contact whose person refuses contact is masked in leads, handoffs and RFQs of all owners, until it is allowed again', async () => {
    const email = 'all@shop.example';
    const one = await world.lead(acme, email);
    const two = (await world.handoff(beta, { email })).id;
    const three = await world.rfq(beta, email);
    await refuse(email);
    expect(await contactsOf(acme, 'acme', one)).toEqual([MASKED, MASKED]);
    expect(JSON.stringify(await recordOf(beta, { kind: 'handoff', id: two }))).not.toContain(email);
    expect(await rfqContact(three)).toBe(MASKED);
    const { text } = await world.act('export', email);
    expect(text).toContain(email);

    await world.act('lift', email);
    expect(await contactsOf(acme, 'acme', one)).toEqual([ADA(email), ADA(email)]);
    expect(await rfqContact(three)).toEqual(ADA(email));
  });

  it('A contact is masked for only one owner, if the person chose that', async () => {
    const email = 'one@shop.example';
    const [one, two] = [await world.rfq(acme, email), await world.rfq(beta, email)];
    await refuse(email, { owner_id: 'acme' });
    expect([await rfqContact(one), await rfqContact(two)]).toEqual([MASKED, ADA(email)]);
    await refuse(email);
    await world.act('lift', email, { owner_id: 'beta' });
    expect([await rfqContact(one), await rfqContact(two)]).toEqual([MASKED, ADA(email)]);
    const { body } = await world.act('find', email);
    expect(body).toMatchObject({
      contact: {
        refused: expect.arrayContaining([expect.objectContaining({ owner_id: null })]),
        exempt: ['beta'],
      },
    });
  });

  it('A refusal of contact withdraws a consent, and objects to another basis', async () => {
    const email = 'basis@shop.example';
    const one = await world.lead(acme, email);
    const two = (await world.handoff(beta, { email })).id;
    await world.caughtUp();
    const { body } = await world.act('withdraw', email);
    const { data } = body as { data: { id: string; right: string }[] };
    expect(Object.fromEntries(data.map(({ id, right }) => [id, right]))).toEqual({
      [one]: 'withdrawal',
      [two]: 'objection',
    });
  });

  it('A contact whose person refuses contact stays masked after a restart and after a rebuild of the read models', async () => {
    const email = 'restart@shop.example';
    const [id, leadId] = [await world.rfq(acme, email), await world.lead(acme, email)];
    await refuse(email);
    await app.desk('POST', '/projections/mailboxes/rebuild', {});
    await app.service.close();
    const service = await openService(app.service.config, {
      clock: app.clock,
      log: pino({ level: 'silent' }),
    });
    Object.assign(app.service, service);
    expect(await rfqContact(id)).toBe(MASKED);
    expect(await contactsOf(acme, 'acme', leadId)).toEqual([MASKED, MASKED]);
  });

  it('A contact whose person refuses contact gets no message to a lead of the owner, neither a new one nor an approved one', async () => {
    const email = 'message@shop.example';
    const external = freshKey();
    const { body } = await world.submitLead(acme, email, external);
    const { id } = body as { id: string };
    const message = (recipient_ref: string) => ({
      idempotency_key: freshKey(),
      channel: 'email',
      recipient_ref,
      subject: 'Mugs',
      text: 'Mugs are back in stock.',
    });
    const proposed = await asAgent(app, acme, 'requestMessage', message(id));
    const { id: request, content_sha256 } = (proposed as { value: Record<string, string> }).value;
    const approver = await person(app, ['owner'], 'acme');
    await app.send({
      method: 'POST',
      url: `/api/desk/v1/approvals/${request}/approve`,
      key: approver,
      payload: { content_sha256 },
      headers: { 'idempotency-key': freshKey() },
    });
    await refuse(email);
    for (const ref of [id, external])
      expect(await asAgent(app, acme, 'requestMessage', message(ref))).toMatchObject({
        code: 'state_conflict',
      });
    app.service.dispatcher.start();
    await app.service.dispatcher.idle();
    const { body: after } = await app.desk('GET', `/approvals/${request}`);
    expect(after).toMatchObject({
      request: { status: 'failed', status_reason: 'contact_refused' },
    });
  });
});

describe('A new lead with a contact whose person refuses contact', () => {
  /** What an answer says besides ids, times and the address. */
  const facts = ({ status, text, headers }: Awaited<ReturnType<typeof world.submitLead>>) => ({
    status,
    text: text
      .replaceAll(/(led|agt)_[0-9a-z]{24}|[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z|test-\d+/g, '…')
      .replaceAll(/[\w.+-]+@[\w.]+/g, 'EMAIL'),
    headers: Object.keys(headers).toSorted(),
  });

  it('A new lead with a contact whose person refuses contact gets the answer of a contact that another promoter has, even when it is read later', async () => {
    const [known, refused] = ['known@shop.example', 'refused@shop.example'];
    await world.lead(acme, known);
    await world.lead(acme, refused);
    await refuse(refused);
    const one = await world.submitLead(beta, known);
    const other = await world.submitLead(beta, refused.toUpperCase());
    expect(facts(other)).toEqual(facts(one));
    expect(other.body).toMatchObject({ state: 'rejected', state_reason: 'already_known' });
    const read = async (answer: { body: object }) => {
      const { id } = answer.body as { id: string };
      const [contact] = await contactsOf(beta, 'beta', id);
      return (contact as { name: string }).name;
    };
    expect([await read(one), await read(other)]).toEqual(['Ada Lovelace', 'Ada Lovelace']);

    const amended = async (email: string) => {
      const external = freshKey();
      await world.submitLead(beta, `${external}@shop.example`, external);
      return facts(await world.submitLead(beta, email, external));
    };
    expect(await amended(refused)).toEqual(await amended(known));
    const { body } = await world.submitLead(beta, 'refused+x@shop.example');
    expect(body).toMatchObject({ state: 'submitted' });
  });

  it('Twenty new leads with contacts that refuse contact end the contact submissions of their agent for the day, and alert staff', async () => {
    const { key } = await app.agent('gamma');
    const many = Array.from({ length: 20 }, (_, n) => `${n}.probe@shop.example`);
    for (const email of many.slice(0, 10)) await world.lead(acme, email);
    for (const email of many.slice(10)) await refuse(email);
    for (const email of many) {
      const { body } = await world.submitLead(key, email);
      expect(body).toMatchObject({ state: 'rejected' });
    }
    const { log } = app.service.deps;
    using reads = vi.spyOn(log, 'readStream');
    const stopped = await world.submitLead(key, 'unknown@shop.example');
    const count = reads.mock.calls.findIndex(([stream]) => stream.startsWith('gamma-known_'));
    expect(await reads.mock.results[count]?.value).toHaveLength(1);
    expect(stopped.body).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(stopped.headers['retry-after'])).toBeGreaterThan(0);
    const events = await log.readBack({ upTo: (await log.head()).position, limit: 500 });
    const mails = events.filter(({ data }) => 'kind' in data && data.kind === 'contacts_stopped');
    expect(mails).toHaveLength(1);

    expect((await world.submitLead(acme, 'unknown@shop.example')).status).toBe(201);
    app.clock.advance(DAY_MS);
    expect((await world.submitLead(key, 'tomorrow@shop.example')).status).toBe(201);
  });
});

describe('A confirmed RFQ', () => {
  it('A confirmed RFQ allows contact by its promoter again, and by no other', async () => {
    const email = 'asks@shop.example';
    const [one, two] = [await world.rfq(acme, email), await world.rfq(beta, email)];
    await refuse(email);
    await confirmRfq(app, { id: one });
    expect([await rfqContact(one), await rfqContact(two)]).toEqual([
      expect.objectContaining({ email }),
      MASKED,
    ]);
  });
});

describe('An erasure of a person', () => {
  it('An erasure of a person refuses contact from then on, unless that is declined', async () => {
    for (const [email, more, state] of [
      ['gone@shop.example', {}, 'rejected'],
      ['back@shop.example', { allow_contact: true }, 'submitted'],
    ] as const) {
      await world.lead(acme, email);
      await world.caughtUp();
      await world.act('erase', email, more);
      expect((await world.submitLead(beta, email)).body).toMatchObject({ state });
    }
  });
});
