/** A refusal of contact binds the person, however the recipient of a message is written. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { asAgent, configure, person } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;

let app: TestApp;
let key: string;
let approver: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  ({ key } = await app.agent('acme'));
  await configure(app, 'acme');
  approver = await person(app, ['owner'], 'acme');
});
afterAll(() => app.close());
beforeEach(() => app.clock.advance(MINUTE_MS));

type Fields = Record<string, unknown>;
const propose = async (recipient_ref: string) => {
  const outcome = await asAgent(app, key, 'requestMessage', {
    idempotency_key: freshKey(),
    channel: 'email',
    recipient_ref,
    text: 'Mugs are back in stock.',
  });
  return outcome as unknown as { ok: boolean; code?: string; value: Fields & { target: Fields } };
};
const approve = ({ id, content_sha256 }: Fields) =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/approvals/${String(id)}/approve`,
    key: approver,
    payload: { content_sha256 },
    headers: { 'idempotency-key': freshKey() },
  });
const show = async (id: unknown) =>
  (await app.desk('GET', `/approvals/${String(id)}`)).body as unknown as {
    recipient_fault?: string;
    request: { status: string; status_reason?: string };
  };

let leads = 0;
const newLead = async () => {
  leads += 1;
  const external = `Crm Straße-${leads}`;
  const email = `ada${leads}@shop.example`;
  const { body } = await world.submitLead(key, email, external);
  await world.caughtUp();
  return { id: (body as { id: string }).id, external, email };
};

type Lead = { id: string; external: string };
const SPELLINGS: [string, (lead: Lead) => string][] = [
  ['the id', ({ id }) => id],
  ['lead: and the id', ({ id }) => `lead:${id}`],
  ['the id in capitals', ({ id }) => `LEAD: ${id.toUpperCase()}`],
  ['the id among other words', ({ id }) => `crm/${id} (Ada)`],
  ['the id in full-width letters', ({ id }) => id.replace('led', 'ｌｅｄ')],
  ['the id with a joiner', ({ id }) => id.replace('_', '_\u200d')],
  ['the external_id', ({ external }) => external],
  ['the external_id in capitals', ({ external }) => external.toUpperCase()],
  ['the external_id in small letters', ({ external }) => external.toLowerCase()],
  ['the external_id with spaces around it', ({ external }) => `  ${external}\u00a0`],
  ['the external_id with other spaces in it', ({ external }) => external.replace(' ', ' \u3000 ')],
  ['the external_id without its space', ({ external }) => external.replace(' ', '')],
  ['lead: and the external_id', ({ external }) => `lead:${external}`],
  [
    'the external_id with what cannot be seen',
    ({ external }) => external.replace('m', 'm\u00ad\u200b'),
  ],
  [
    'the external_id decomposed and in full-width letters',
    ({ external }) => external.replace('C', 'Ｃ'),
  ],
];

describe.each(SPELLINGS)('A recipient that is written as %s', (_name, spell) => {
  it('A recipient in another spelling is the lead in what people approve, and is refused once its person refuses contact', async () => {
    const lead = await newLead();
    const { value } = await propose(spell(lead));
    expect(value.target).toMatchObject({ lead_id: lead.id });
    expect((await show(value['id'])).recipient_fault).toBeUndefined();
    await world.act('withdraw', lead.email);
    expect(await propose(spell(lead))).toMatchObject({ ok: false, code: 'state_conflict' });
    // What was proposed before can no longer be approved, and whoever decides sees why.
    expect((await show(value['id'])).recipient_fault).toContain('refuses contact');
    const { status, body } = await approve(value);
    expect([status, body]).toMatchObject([409, { code: 'state_conflict' }]);
  });
});

describe('A recipient that names no lead', () => {
  it('A recipient that names no lead is shown as such to the people who decide', async () => {
    const { value } = await propose('list:cafes');
    expect(value.target).not.toHaveProperty('lead_id');
    expect((await show(value['id'])).recipient_fault).toContain('names no lead');
    expect((await approve(value)).status).toBe(200);
  });

  it('A recipient that names no lead is checked again when a lead gets that name', async () => {
    const name = `late-${freshKey()}`;
    const { value } = await propose(name.toUpperCase());
    const email = `${name}@shop.example`;
    await world.submitLead(key, email, name);
    await world.act('withdraw', email);
    await world.caughtUp();
    expect((await approve(value)).status).toBe(409);
  });
});

describe('An approved message', () => {
  it('An approved message is not sent to a lead whose person meanwhile refuses contact or was erased', async () => {
    const [refused, erased, open] = [await newLead(), await newLead(), await newLead()];
    const requests: Fields[] = [];
    for (const { external } of [refused, erased, open]) {
      const { value } = await propose(`lead:${external.toUpperCase()}`);
      expect((await approve(value)).status).toBe(200);
      requests.push(value);
    }
    await world.act('withdraw', refused.email);
    await world.act('erase', erased.email, { allow_contact: true });
    expect(await propose(erased.id)).toMatchObject({ ok: false, code: 'state_conflict' });
    app.service.dispatcher.start();
    await app.service.dispatcher.idle();
    const shown = await Promise.all(requests.map(({ id }) => show(id)));
    expect(shown.map(({ request: { status, status_reason } }) => [status, status_reason])).toEqual([
      ['failed', 'contact_refused'],
      ['failed', 'contact_refused'],
      ['confirmed', undefined],
    ]);
  });
});

describe('A lead whose key is lost', () => {
  it.each(['missing', 'damaged'] as const)(
    'A lead whose key is %s is contacted by no message: it is unknown whether its person refuses contact',
    async (lost) => {
      const lead = await newLead();
      const [{ value: approved }, { value: waiting }] = [
        await propose(lead.id),
        await propose(lead.id),
      ];
      expect((await approve(approved)).status).toBe(200);
      const unseal = vi
        .spyOn(app.service.deps.vault, 'unseal')
        .mockImplementation(async (texts) => texts.map(() => ({ key: lost })));
      try {
        expect(await propose(lead.id)).toMatchObject({ ok: false, code: 'state_conflict' });
        expect((await show(waiting['id'])).recipient_fault).toContain('cannot be read');
        const { status, body } = await approve(waiting);
        expect(status).toBe(409);
        expect(body['detail']).toContain('missing or damaged');
        app.service.dispatcher.start();
        await app.service.dispatcher.idle();
        const { request } = await show(approved['id']);
        expect(request).toMatchObject({ status: 'failed', status_reason: 'contact_unreadable' });
      } finally {
        unseal.mockRestore();
      }
    },
  );
});
