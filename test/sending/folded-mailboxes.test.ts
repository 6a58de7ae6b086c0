/** Limits and blocks of mail are those of a mailbox, however its address is typed; the message goes to what was typed. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { deliveryAddress } from '#contracts/mailbox.ts';
import { listStoredMail } from '#src/delivery/mail.ts';
import { MAIL_KINDS, type MailKind } from '#src/sending/mail.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { people } from '../support/world/people.ts';
import { buyerOver } from '../support/world/server-over.ts';

const WAIT_MS = LIMITS.CONFIRMATION_WAIT_MINUTES * 60_000;

let app: TestApp;
let acme: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
  app.service.dispatcher.start();
});
afterAll(() => app.close());
beforeEach(() => app.clock.advance(WAIT_MS));

let names = 0;
const post = async (url: string, fields: Record<string, string> = {}): Promise<void> => {
  const { status, text } = await app.send({
    method: 'POST',
    url,
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: `198.51.${Math.floor(names / 200)}.${((names += 1) % 200) + 1}`,
  });
  if (status >= 400) throw new Error(`${url}: ${text}`);
};

type LimitedKind =
  | 'rfq_confirmation'
  | 'privacy_link'
  | 'owner_mailbox'
  | 'application'
  | 'person_invitation';

/** How a person who is not the holder has a letter of each kind sent to an address; resolves to the handoff of an RFQ. */
const ASK: Record<LimitedKind, (email: string) => Promise<string>> = {
  async rfq_confirmation(email) {
    const { id, review_url } = await world.handoff(acme);
    const sent = { list_revision: 1, consent: true, contact: { name: 'Ada', email } };
    const outcome = await buyerOver(app.service.deps, review_url).send(sent);
    if (!outcome.ok) throw new Error(outcome.detail);
    return id;
  },
  async privacy_link(mailbox) {
    await post('/privacy', { mailbox });
    return '';
  },
  async owner_mailbox(mailbox) {
    names += 1;
    const profile = { name: 'Ada Ltd', postal_address: 'London', mailbox };
    const { status, text } = await app.desk('POST', `/owners/owner${names}/profile`, profile);
    if (status !== 200) throw new Error(text);
    return '';
  },
  async person_invitation(mailbox) {
    names += 1;
    const name = `Ada ${'BCDFGHJKLM'[names % 10]}${'nprstvwxyz'[Math.floor(names / 10) % 10]}`;
    const invited = await app.desk('POST', '/people', { name, mailbox, roles: ['staff'] });
    if (invited.status === 201) invitedId = (invited.body as { id: string }).id;
    else {
      const again = await app.desk('POST', `/people/${invitedId}/invite`, {});
      if (again.status !== 200) throw new Error(`${invited.text} ${again.text}`);
    }
    return '';
  },
  async application(mailbox) {
    names += 1;
    await post('/apply', {
      name: 'Ada Ltd',
      postal_address: 'London',
      mailbox,
      owner_id: `applicant${names}`,
      agent_name: 'Letter agent',
      purpose: 'Letters',
      scopes: 'products:read',
    });
    return '';
  },
};
/** The person whom the last invitation was for: another spelling of the mailbox is the same person. */
let invitedId = '';

const KINDS = Object.keys(ASK) as LimitedKind[];

/** The addresses of these spellings to which mail was sent, in the order of the messages. */
const mailedTo = async (spellings: readonly string[]): Promise<string[]> => {
  await world.caughtUp();
  await app.service.dispatcher.idle();
  const mails = await listStoredMail(join(app.directory, 'mail'));
  const addresses = spellings.map(deliveryAddress);
  return mails.flatMap(({ to }) =>
    addresses.includes(deliveryAddress(to)) ? [deliveryAddress(to)] : [],
  );
};

let mailboxes = 0;
/** Spellings of a mailbox that no other test has. */
const SPELLINGS: [string, () => string[]][] = [
  [
    'dots and tags of Gmail',
    () => {
      const n = (mailboxes += 1);
      return [
        `Ada.Byron${n}@gmail.com`,
        `adabyron${n}@gmail.com`,
        `a.d.a.b.y.r.o.n${n}+shop@Gmail.com`,
        `ADABYRON${n}+a+b@googlemail.com`,
        `a.dabyron${n}@ｇｍａｉｌ.com`,
      ];
    },
  ],
  [
    'tags of a provider that has them',
    () => {
      const n = (mailboxes += 1);
      return [`ada${n}@outlook.com`, `Ada${n}+1@outlook.com`, `ada${n}+2@OUTLOOK.com`];
    },
  ],
  [
    'capitals and forms of a domain',
    () => {
      const n = (mailboxes += 1);
      return [`jörg${n}@bücher.example`, `JO\u0308RG${n}@xn--bcher-kva.example`];
    },
  ],
];

it('Every kind of letter that anybody can have sent to an address is known', () => {
  const limited = (Object.keys(MAIL_KINDS) as MailKind[]).filter(
    (kind) => MAIL_KINDS[kind].isLimited,
  );
  expect(limited.toSorted()).toEqual(KINDS.toSorted());
});

describe.each(SPELLINGS)('A mailbox with %s', (_name, spelled) => {
  it.each(KINDS)(
    'A mailbox gets one letter in ten minutes, whatever is typed after the first %s',
    async (kind) => {
      const spellings = spelled();
      const [first = '', ...others] = spellings;
      await ASK[kind](first);
      expect(await mailedTo(spellings)).toEqual([deliveryAddress(first)]);
      for (const other of others) for (const each of KINDS) await ASK[each](other);
      expect(await mailedTo(spellings)).toEqual([deliveryAddress(first)]);
    },
  );

  it.each(['rfq_confirmation', 'owner_mailbox', 'application'] as const)(
    'A mailbox gets no letter in any spelling after "this was not me" of a letter of the kind %s',
    async (kind) => {
      const spellings = spelled();
      const [first = '', ...others] = spellings;
      const id = await ASK[kind](first);
      expect(await mailedTo(spellings)).toEqual([deliveryAddress(first)]);
      const link =
        kind === 'rfq_confirmation'
          ? await confirmationPath(app, { id })
          : await world.mailedPath(first);
      await post(`${link}/not-me`);
      for (const other of others) {
        app.clock.advance(WAIT_MS);
        for (const each of KINDS) await ASK[each](other);
        expect(await mailedTo(spellings)).toEqual([deliveryAddress(first)]);
      }
    },
  );
});
