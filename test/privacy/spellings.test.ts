/** All spellings of an address are one mailbox: for claims, refusals, find, export, erase, lift, /privacy and limits. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;

let app: TestApp;
let acme: string;
let beta: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
  beta = (await app.agent('beta')).key;
  app.service.dispatcher.start();
});
afterAll(() => app.close());
// A record that has the time of a refusal counts as earlier, and a mailbox waits between two messages.
beforeEach(() => app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS));

let names = 0;
/** Two spellings of a mailbox that no other test has. */
const SPELLINGS: [string, () => [string, string]][] = [
  [
    'a domain and its ASCII form',
    () => pair('bob', 'bücher.example', 'bob', 'xn--bcher-kva.example'),
  ],
  [
    'a domain in capitals and decomposed',
    () => pair('bob', 'BÜCHER.example', 'bob', 'bu\u0308cher.example'),
  ],
  [
    'a domain with the full stop of Japanese',
    () => pair('bob', '例え。example', 'BOB', 'xn--r8jz45g.example'),
  ],
  [
    'a composed and a decomposed local part',
    () => pair('jörg', 'shop.example', 'JO\u0308RG', 'Shop.example'),
  ],
  [
    'a folded provider in full-width letters',
    () => pair('a.da', 'gmail.com', 'ada', 'ｇｍａｉｌ.com'),
  ],
];
const pair = (one: string, at: string, other: string, otherAt: string): [string, string] => {
  names += 1;
  return [`${one}${names}@${at}`, `${other}${names}@${otherAt}`];
};

describe.each(SPELLINGS)('Two spellings of one mailbox: %s', (_name, spelled) => {
  it('Two spellings of one mailbox are one for refusals, and for what lifts them', async () => {
    const [one, other] = spelled();
    const refused = await world.act('withdraw', one);
    expect(refused.body).toMatchObject({ contact: { refused: [{ owner_id: null }] } });
    app.clock.advance(MINUTE_MS);
    const { status, body } = await world.submitLead(acme, other);
    expect([status, body]).toMatchObject([
      201,
      { state: 'rejected', state_reason: 'already_known' },
    ]);
    expect((await world.act('lift', other)).body).toEqual({ contact: { refused: [], exempt: [] } });
    expect((await world.submitLead(acme, one)).body).toMatchObject({ state: 'submitted' });
  });

  it('Two spellings of one mailbox are one for claims, and for what is found, exported and erased', async () => {
    const [one, other] = spelled();
    const lead = await world.lead(acme, one);
    expect((await world.submitLead(beta, other)).body).toMatchObject({ state: 'rejected' });
    const records = [
      lead,
      await world.rfq(beta, other),
      (await world.handoff(acme, { email: one })).id,
    ];
    await world.caughtUp();
    type Answer = { data: { id: string; match: string; contact?: { email: string } }[] };
    for (const spelling of [one, other]) {
      const { data } = (await world.act('find', spelling)).body as Answer;
      expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(records));
    }
    const folded = one.includes('gmail') ? { folded: [lead, records[2]] } : {};
    const exported = await world.act('export', other, folded);
    expect((exported.body as Answer).data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(records),
    );
    // What was typed is shown as it was typed.
    expect(exported.text).toContain(JSON.stringify(one.trim()).slice(1, -1));
    const erased = await world.act('erase', other, { ...folded, allow_contact: true });
    expect((erased.body as Answer).data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(records),
    );
    const { data } = (await world.act('find', one)).body as {
      data: { id: string; erased: boolean }[];
    };
    expect(data.filter(({ id }) => id === lead)).toMatchObject([{ erased: true }]);
  });

  it('Two spellings of one mailbox are one for /privacy', async () => {
    const [one, other] = spelled();
    const lead = await world.lead(acme, one);
    await world.caughtUp();
    const { status } = await app.send({
      method: 'POST',
      url: '/privacy',
      payload: new URLSearchParams({ mailbox: other }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      remoteAddress: `198.51.100.${(names += 1)}`,
    });
    expect(status).toBe(200);
    const page = await app.send({ method: 'GET', url: await world.mailedPath(other) });
    expect(page.text).toContain(lead);
  });

  it('Two spellings of one mailbox are one for the limit of messages to a mailbox', async () => {
    const [one, other] = spelled();
    const asked: number[] = [];
    for (const mailbox of [one, other]) {
      const before = await sentMail();
      await app.send({
        method: 'POST',
        url: '/privacy',
        payload: new URLSearchParams({ mailbox }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        remoteAddress: `198.51.100.${(names += 1)}`,
      });
      asked.push((await sentMail()) - before);
    }
    expect(asked).toEqual([1, 0]);
  });
});

const sentMail = async (): Promise<number> => {
  await world.caughtUp();
  await app.service.dispatcher.idle();
  const { log } = app.service.deps;
  const events = await log.readBack({ upTo: (await log.head()).position, limit: 100_000 });
  return events.filter(({ type }) => type === 'MailSent').length;
};
