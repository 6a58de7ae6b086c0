/** How staff read, in words, how an RFQ came about: at the desk, in the inbox, and in their letter. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { asAgent } from '../support/world/outreach.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

const BROWSER = {
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'same-origin',
  'user-agent': 'Mozilla/5.0',
};

let app: TestApp;
let key: string;
const pages = reviews({ app: () => app, key: () => key });
beforeAll(async () => {
  app = await testApp({ STAFF_MAIL: 'sales@house.example', RFQS_PER_DAY: '100000' });
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

type How = {
  email: string;
  named?: string;
  asKey?: string;
  headers?: Record<string, string>;
  afterMs?: number;
  isUnconfirmed?: boolean;
};

/** Makes a list, sends it and confirms it by HTTP requests with these headers. */
const rfq = async ({ email, named, asKey = key, headers = BROWSER, afterMs = 0, ...how }: How) => {
  const buyer = named === undefined ? {} : { email: named };
  const { id, path } = await pages.handoff({ buyer }, asKey);
  app.clock.advance(afterMs);
  const fields = { ...CONTACT, email, list_revision: '1' };
  expect((await pages.post(`${path}/send`, fields, headers)).status).toBe(303);
  if (how.isUnconfirmed) return id;
  const owner = asKey === key ? {} : { ownerId: 'globex' };
  const confirm = await confirmationPath(app, { id, ...owner });
  const pressed = await pages.post(`${confirm}/confirm`, { list_revision: '1' }, headers);
  expect(pressed.status, pressed.text).toBe(303);
  return id;
};

const evidenceOf = async (id: string): Promise<string[]> => {
  const { body } = await app.desk('GET', `/handoffs/${id}/rfq`);
  return (body as { evidence: string[] }).evidence;
};

describe('The evidence of an RFQ', () => {
  it.each([
    [
      'named@shop.example',
      'other@shop.example',
      'confirmed from a different mailbox than the one the agent named',
    ],
    [
      'Same@Shop.example',
      'same@shop.example',
      'confirmed from the same mailbox as the one the agent named',
    ],
    [
      undefined,
      'nobody@shop.example',
      'confirmed from a mailbox of its own choice: the agent named none',
    ],
  ])(
    'An agent that named %s and a request from %s are shown to staff as "%s"',
    async (named, email, text) => {
      const id = await rfq({ email, afterMs: 3_600_000, ...(named !== undefined && { named }) });
      expect(await evidenceOf(id)).toEqual([text]);
    },
  );

  it('Staff read of an unconfirmed RFQ that it was sent, not that it was confirmed', async () => {
    const id = await rfq({ email: 'un@shop.example', afterMs: 3_600_000, isUnconfirmed: true });
    expect(await evidenceOf(id)).toEqual([
      'sent with a mailbox of its own choice: the agent named none',
    ]);
  });

  it('Staff read of a program that opens, sends and confirms a list its speed and its missing headers', async () => {
    const [fast] = [await rfq({ email: 'fast@shop.example', headers: {} })];
    expect(await evidenceOf(fast)).toContain(
      "opened, sent and confirmed within 0 seconds of its creation by a client without a browser's headers",
    );
    const slow = await rfq({ email: 'slow@shop.example', headers: {}, afterMs: 7_200_000 });
    expect(await evidenceOf(slow)).toContain(
      "opened, sent and confirmed by a client without a browser's headers",
    );
    const person = await rfq({ email: 'person@shop.example', afterMs: 4_000 });
    expect(await evidenceOf(person)).toContain(
      'opened, sent and confirmed within 4 seconds of its creation',
    );
  });

  it('A list that a browser opened is not told as one that a program made alone', async () => {
    const { id, path } = await pages.handoff({});
    await pages.post(`${path}/open`, {}, BROWSER);
    app.clock.advance(3_600_000);
    const fields = { ...CONTACT, email: 'half@shop.example', list_revision: '1' };
    await pages.post(`${path}/send`, fields, {});
    expect((await evidenceOf(id)).join()).not.toContain('headers');
  });

  it('The lists that one mailbox confirmed for several promoters within a week are counted', async () => {
    const { key: other } = await app.agent('globex');
    const email = 'busy@shop.example';
    for (let n = 0; n < 3; n += 1) {
      await rfq({ email: n === 1 ? 'b.usy+x@shop.example' : email, afterMs: 700_000 });
    }
    const id = await rfq({ email, asKey: other, afterMs: 700_000 });
    const words = (await evidenceOf(id)).find((one) =>
      one.startsWith('the same mailbox confirmed'),
    );
    expect(words).toBe('the same mailbox confirmed 3 lists of 2 promoters this week');
    app.clock.advance(8 * 86_400_000);
    const later = await rfq({ email, afterMs: 700_000 });
    expect((await evidenceOf(later)).join()).not.toContain('this week');
  });

  it('Staff read of a mailbox that it is at the domain of the promoter, and nothing of a domain of many people', async () => {
    const set = (mailbox: string) =>
      app.desk('POST', '/owners/acme/profile', {
        name: 'Acme',
        postal_address: '1 High Street',
        mailbox,
      });
    const text = "the mailbox is at the domain of the promoter's own mailbox";
    expect((await set('office@acme.example')).status).toBe(200);
    const own = await rfq({ email: 'friend@acme.example', afterMs: 3_600_000 });
    expect(await evidenceOf(own)).toContain(text);
    await set('office@gmail.com');
    const shared = await rfq({ email: 'anybody@gmail.com', afterMs: 3_600_000 });
    expect(await evidenceOf(shared)).not.toContain(text);
  });

  it('The inbox and the letter to staff have the same words, and no answer to an agent has them', async () => {
    const id = await rfq({ email: 'inbox@shop.example', named: 'x@shop.example', headers: {} });
    const words = await evidenceOf(id);
    expect(words).toHaveLength(2);
    const { body } = await app.desk('GET', '/rfqs?limit=100');
    const { data } = body as { data: { handoff_id: string; evidence: string[] }[] };
    expect(data.find(({ handoff_id }) => handoff_id === id)?.evidence).toEqual(words);
    const events = await app.service.deps.log.readAll({ after: 0, limit: 100_000 });
    const queued = events.findLast(
      ({ type, data: mail }) =>
        type === 'MailQueued' &&
        (mail as { kind: string; record: string }).kind === 'rfq_notice' &&
        (mail as { record: string }).record === id,
    );
    const sealed = (queued?.data as { sealed_message: string } | undefined)?.sealed_message ?? '';
    const [opened] = await app.service.deps.vault.unseal([sealed]);
    expect(JSON.parse(typeof opened === 'string' ? opened : '{}')).toMatchObject({
      facts: { evidence: words },
    });
    const day = new Date(app.clock.now()).toISOString().slice(0, 10);
    const period = { from: day, to: day, granularity: 'total', group_by: ['handoff_id'] };
    const asked = await asAgent(app, key, 'getPerformance', period);
    expect(asked).toMatchObject({ ok: true });
    for (const word of words) expect(JSON.stringify(asked)).not.toContain(word);
  });
});
