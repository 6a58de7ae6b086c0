/** Staff find, export and erase what is stored of a person, in all owners and kinds of records. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import type { BuyerContact } from '#contracts/handoffs/operations.ts';
import { expireConfirmations } from '#src/handoffs/confirm-rfq.ts';
import { contactSubjectOf } from '#src/handoffs/render-handoff.ts';
import { systemCall } from '#src/calls/handlers.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { people, PROOF } from '../support/world/people.ts';
import { buyerOver } from '../support/world/server-over.ts';

type Matches = { data: { id: string; owner_id: string; match: string; erased: boolean }[] };

let app: TestApp;
let acme: string;
let beta: string;
let submitLead: ReturnType<typeof people>['submitLead'];
let lead: ReturnType<typeof people>['lead'];
let handoff: ReturnType<typeof people>['handoff'];
let rfq: ReturnType<typeof people>['rfq'];
let act: ReturnType<typeof people>['act'];
let caughtUp: ReturnType<typeof people>['caughtUp'];
beforeAll(async () => {
  app = await testApp();
  ({ submitLead, lead, handoff, rfq, act, caughtUp } = people(app));
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
  beta = (await app.agent('beta')).key;
});
afterAll(() => app.close());

const find = async (mailbox: string): Promise<Matches['data']> =>
  ((await act('find', mailbox)).body as Matches).data;
const ids = (found: { id: string }[]): string[] => found.map(({ id }) => id).toSorted();

describe('findPersonalData', () => {
  it('`findPersonalData` finds the leads, the handoffs and the RFQs of an address in all owners', async () => {
    const email = 'find@shop.example';
    const records = [
      await lead(acme, email),
      await rfq(beta, 'FIND@shop.example'),
      (await handoff(beta, { email })).id,
    ];
    await lead(acme, 'other@shop.example');
    await caughtUp();
    expect(ids(await find(email))).toEqual(records.toSorted());
  });

  it('`findPersonalData` marks another spelling of the same mailbox as folded', async () => {
    const [exact, folded] = [
      await lead(acme, 'fold.ed@gmail.com'),
      await rfq(acme, 'folded+list@googlemail.com'),
    ];
    await caughtUp();
    const found = await find('fold.ed@gmail.com');
    expect(Object.fromEntries(found.map(({ id, match }) => [id, match]))).toEqual({
      [exact]: 'exact',
      [folded]: 'folded',
    });
  });

  it('`findPersonalData` records the proof and the person at the desk, and no address', async () => {
    await find('recorded@shop.example');
    const { log } = app.service.deps;
    const [event] = await log.readBack({ upTo: (await log.head()).position, limit: 1 });
    expect(event).toMatchObject({ type: 'PrivacyRequestRecorded', data: { proof: PROOF } });
    expect(event?.meta.actor).toMatch(/^desk:/);
    expect(JSON.stringify(event)).not.toContain('recorded@');
  });

  it('`findPersonalData` is refused without the role, and to the key of an agent', async () => {
    const { body } = await app.desk('POST', '/desk-tokens', { name: 'Sam', roles: ['staff'] });
    const { token } = body as { token: string };
    for (const action of ['find', 'export', 'withdraw', 'lift', 'erase']) {
      const send = (key: string) =>
        app.send({
          method: 'POST',
          url: `/api/desk/v1/privacy/${action}`,
          key,
          payload: { mailbox: 'ada@shop.example', proof: PROOF },
          headers: { 'idempotency-key': freshKey() },
        });
      expect((await send(token)).body).toMatchObject({ code: 'role_missing' });
      expect((await send(acme)).status).toBe(401);
    }
  });
});

describe('exportPersonalData', () => {
  it('`exportPersonalData` shows the lead, the list and the contact of the person, and no credential', async () => {
    const email = 'export@shop.example';
    const [leadId, rfqId] = [await lead(acme, email), await rfq(beta, email)];
    await caughtUp();
    const { body, text } = await act('export', email);
    expect(body).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({
          id: leadId,
          lead: expect.objectContaining({ contact: { name: 'Ada Lovelace', email } }),
        }),
        expect.objectContaining({
          id: rfqId,
          handoff: expect.objectContaining({ title: 'List' }),
          contact: { name: 'Ada Lovelace', email },
        }),
      ]),
    });
    expect(text).not.toContain('/h/');
  });

  it('`exportPersonalData` shows every field of a contact that a buyer can send', async () => {
    const contact: Required<BuyerContact> = {
      name: 'Ada Lovelace',
      email: 'whole@shop.example',
      company: 'Engines Ltd',
      phone: '+44 20 7946 0000',
      country: 'GB',
      message: 'Before the end of May, please.',
    };
    const { review_url } = await handoff(beta);
    await buyerOver(app.service.deps, review_url).send({
      list_revision: 1,
      consent: true,
      contact,
    });
    await caughtUp();
    const { body } = await act('export', contact.email);
    expect(body).toMatchObject({ data: [{ contact }] });
  });
});

describe('erasePersonalData', () => {
  const isErased = async (id: string): Promise<boolean> =>
    (await app.service.deps.vault.knows(id)) === 'destroyed';

  it('`erasePersonalData` erases exact matches, withdraws open RFQs and releases claims', async () => {
    const email = 'erase@shop.example';
    const [one, sent] = [await lead(acme, email), await rfq(beta, email)];
    await caughtUp();
    const { body: answer } = await act('erase', email, { allow_contact: true });
    expect(ids((answer as Matches).data)).toEqual([one, sent].toSorted());
    expect([await isErased(one), await isErased(sent)]).toEqual([true, true]);
    const { body } = await app.desk('GET', `/handoffs/${sent}/rfq`);
    expect(body).toMatchObject({ state: 'withdrawn', contact: '[erased]' });
    expect((await find(email)).map(({ erased }) => erased)).toEqual([true, true]);
    expect((await submitLead(beta, email)).body).toMatchObject({ state: 'submitted' });
  });

  it('`erasePersonalData` erases a folded match only if it is named', async () => {
    const [one, two] = [await lead(acme, 'y.es@gmail.com'), await rfq(acme, 'yes@gmail.com')];
    await caughtUp();
    await act('erase', 'yes+all@gmail.com');
    expect([await isErased(one), await isErased(two)]).toEqual([false, false]);
    await act('erase', 'yes+all@gmail.com', { folded: [one] });
    expect([await isErased(one), await isErased(two)]).toEqual([true, false]);
    const other = await lead(acme, 'not-yes@shop.example');
    await caughtUp();
    const refused = await act('erase', 'yes@gmail.com', { folded: [other] });
    expect(refused.body).toMatchObject({ errors: [{ pointer: '/folded/0' }] });
  });

  it('`erasePersonalData` continues after an interruption, and leaves records that came later', async () => {
    const email = 'twice@shop.example';
    const before = [await lead(acme, email), await rfq(beta, email)];
    await caughtUp();
    const key = freshKey();
    const noRoom = new LogUnavailable('full', 'unknown', 'no room');
    vi.spyOn(app.service.deps.vault, 'destroy').mockRejectedValueOnce(noRoom);
    expect((await act('erase', email, {}, key)).body).toMatchObject({
      code: 'storage_unavailable',
    });
    const { body: later } = await submitLead(acme, email);
    await caughtUp();
    const { body } = await act('erase', email, {}, key);
    expect(ids((body as Matches).data)).toEqual(before.toSorted());
    expect(await Promise.all(before.map(isErased))).toEqual([true, true]);
    expect(await isErased((later as { id: string }).id)).toBe(false);
  });
});

describe('The profile of an owner', () => {
  const PROFILE = { name: 'Ada', postal_address: 'London', mailbox: 'office@owner.example' };
  const set = (over: object = {}) =>
    app.desk('POST', '/owners/acme/profile', { ...PROFILE, ...over });
  const read = () => app.desk('GET', '/owners/acme/profile');

  it("An owner's profile is found by its mailbox, exported and erased, and a profile that replaced it stays", async () => {
    await set();
    const replaced = { ...PROFILE, mailbox: 'press@owner.example' };
    await set(replaced);
    await caughtUp();
    const [former] = await find(PROFILE.mailbox);
    expect(former).toMatchObject({ owner_id: 'acme', match: 'exact', erased: true });
    expect((await act('erase', PROFILE.mailbox)).status).toBe(200);
    expect((await read()).body).toMatchObject(replaced);

    const { body } = await act('export', replaced.mailbox);
    expect(body).toMatchObject({ data: [{ owner_id: 'acme', profile: replaced }] });
    const erased = (await act('erase', replaced.mailbox)).body as Matches;
    expect(erased.data).toEqual([{ id: expect.stringMatching(/^own_/), owner_id: 'acme' }]);
    expect((await read()).status).toBe(404);
    expect(await app.service.deps.vault.knows(erased.data[0]?.id ?? '')).toBe('destroyed');
    expect((await act('export', replaced.mailbox)).body).toMatchObject({ data: [{ notes: [] }] });
  });

  it("An owner's profile is erased by the same call after an interruption", async () => {
    await set();
    await caughtUp();
    const key = freshKey();
    const noRoom = new LogUnavailable('full', 'unknown', 'no room');
    vi.spyOn(app.service.deps.vault, 'destroy').mockRejectedValueOnce(noRoom);
    const allow = { allow_contact: true };
    expect((await act('erase', PROFILE.mailbox, allow, key)).status).toBe(503);
    const { body } = await act('erase', PROFILE.mailbox, allow, key);
    const ends = (body as Matches).data.map(({ id }) => app.service.deps.vault.knows(id));
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['destroyed']));
  });
});

describe('A handoff whose RFQ was never confirmed', () => {
  const SENT = { list_revision: 1, consent: true };
  const expire = async (): Promise<void> => {
    const { deps } = app.service;
    app.clock.advance((LIMITS.CONFIRMATION_DAYS + 1) * 86_400_000);
    const by = { ownerId: '', signal: new AbortController().signal };
    await expireConfirmations(deps, systemCall(deps, 'expireConfirmations', by));
  };
  const disown = async (id: string): Promise<void> => {
    const path = await confirmationPath(app, { id, ownerId: 'acme' });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const url = `${path}/not-me`;
    expect((await app.send({ method: 'POST', url, payload: '', headers })).status).toBeLessThan(
      400,
    );
  };

  it('A handoff whose RFQ was never confirmed is found by the mailbox of the RFQ until that contact is destroyed, and is not erased afterwards', async () => {
    for (const [name, end] of [
      ['disowned', disown],
      ['expired', expire],
    ] as const) {
      const email = `${name}@typed.example`;
      const { id, review_url } = await handoff(acme);
      const contact = { name: 'Bob', email };
      await buyerOver(app.service.deps, review_url).send({ ...SENT, contact });
      await caughtUp();
      expect(ids(await find(email))).toEqual([id]);
      await end(id);
      await caughtUp();
      expect(await find(email)).toEqual([]);
      const { body } = await act('erase', email);
      expect((body as Matches).data).toEqual([]);
      expect(await app.service.deps.vault.knows(id)).not.toBe('destroyed');
    }
  });

  it('A handoff whose RFQ was never confirmed loses only the RFQ when the mailbox of the RFQ is erased, even by a repeated call', async () => {
    const email = 'typed-by-another@typed.example';
    const { id, review_url } = await handoff(acme, { email: 'buyer@entered.example' });
    const contact = { name: 'Bob', email };
    await buyerOver(app.service.deps, review_url).send({ ...SENT, contact });
    await caughtUp();
    const key = freshKey();
    const noRoom = new LogUnavailable('full', 'unknown', 'no room');
    vi.spyOn(app.service.deps.vault, 'destroy').mockRejectedValueOnce(noRoom);
    expect((await act('erase', email, {}, key)).status).toBe(503);
    const { body } = await act('erase', email, {}, key);
    expect((body as Matches).data).toEqual([{ id, owner_id: 'acme', only: 'rfq' }]);
    await caughtUp();
    expect(await find(email)).toEqual([]);
    const { deps } = app.service;
    expect(await deps.vault.knows(contactSubjectOf(id, 1))).toBe('destroyed');
    expect(await deps.vault.knows(id)).toBe('key');
    // The handoff stays open: its buyer can send the list.
    const own = { name: 'Ann', email: 'buyer@entered.example' };
    await buyerOver(deps, review_url).request({ ...SENT, contact: own });
    await caughtUp();
    expect((await act('erase', own.email)).body).toMatchObject({ data: [{ id }] });
    expect(await deps.vault.knows(id)).toBe('destroyed');
  });

  it('A handoff whose RFQ was never confirmed is erased as a whole when the agent entered the same mailbox', async () => {
    const email = 'same@entered.example';
    const { id, review_url } = await handoff(acme, { email });
    await buyerOver(app.service.deps, review_url).send({ ...SENT, contact: { name: 'B', email } });
    await caughtUp();
    const { data } = (await act('erase', email)).body as Matches;
    expect(data).toEqual([{ id, owner_id: 'acme' }]);
    expect(await app.service.deps.vault.knows(id)).toBe('destroyed');
  });

  it('A handoff whose RFQ was never confirmed is found by the mailbox that the agent entered, without the contact that another person sent', async () => {
    const entered = 'entered@agent.example';
    const { id, review_url } = await handoff(acme, { email: entered });
    const contact = { name: 'Bob', email: 'bob@sent.example' };
    await buyerOver(app.service.deps, review_url).request({ ...SENT, contact });
    await caughtUp();
    const { body, text } = await act('export', entered);
    expect(body).toMatchObject({ data: [{ id }] });
    expect(text).not.toContain(contact.email);
    const own = await act('export', contact.email);
    expect(own.body).toMatchObject({ data: [{ id, contact }] });
    expect(own.text).not.toContain(entered);
  });
});
