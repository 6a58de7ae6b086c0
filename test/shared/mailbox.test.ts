import { describe, expect, it } from 'vitest';
import { canonicalAddress, deliveryAddress } from '#contracts/mailbox.ts';
import {
  chosenMatches,
  companyDomains,
  isSameAddress,
  isSameMailbox,
  mailboxOf,
} from '#src/shared/mailbox.ts';
import { inputTexts } from '../support/world/input-texts.ts';

describe('The mailbox of an address', () => {
  it.each([
    ['Ada.Byron+shop@Gmail.com', 'adabyron@gmail.com'],
    ['ada.byron@googlemail.com', 'adabyron@gmail.com'],
    ['ada.byron+a+b@outlook.com', 'ada.byron@outlook.com'],
    ['ada+shop@proton.me', 'ada@proton.me'],
    ['ada.byron@icloud.com', 'ada.byron@icloud.com'],
    ['ada.byron@ｇｍａｉｌ.com', 'adabyron@gmail.com'],
  ])('The mailbox of %s is %s, as its provider documents', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });

  it.each([
    ['Ada.Byron+Shop@Buyer.example', 'ada.byron+shop@buyer.example'],
    ['ada+shop@mail.gmail.com', 'ada+shop@mail.gmail.com'],
    ['"a@b+c"@buyer.example', '"a@b+c"@buyer.example'],
    ['+shop@outlook.com', '+shop@outlook.com'],
  ])('The address %s is only compared without regard to case, as %s', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });
});

describe('Two addresses', () => {
  it.each([
    ['Ada@Shop.example', 'ada@shop.example', true, true],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example', true, true],
    ['ada.byron@gmail.com', 'AdaByron+shop@googlemail.com', false, true],
    ['ada+a@outlook.com', 'ada+b@outlook.com', false, true],
    ['ada.byron@outlook.com', 'adabyron@outlook.com', false, false],
    ['ada+a@shop.example', 'ada+b@shop.example', false, false],
    ['ada@gmail.com', 'ada@outlook.com', false, false],
    ['ada@gmail.com', 'bob@gmail.com', false, false],
  ])(
    'Two addresses, %s and %s, are the same address: %s, and the same mailbox: %s',
    (one, other, isAddress, isMailbox) => {
      for (const [a, b] of [
        [one, other],
        [other, one],
      ] as const)
        expect([isSameAddress(a, b), isSameMailbox(a, b)]).toEqual([isAddress, isMailbox]);
    },
  );
});

describe('The records that were found by an address', () => {
  const found = [
    { id: 'led_1', match: 'folded' as const },
    { id: 'led_2', match: 'exact' as const },
    { id: 'led_3', match: 'folded' as const },
  ];

  it.each([
    ['only the exact one without a choice', [], ['led_2']],
    ['the folded one that is named, in the order of the search', ['led_1'], ['led_1', 'led_2']],
    [
      'each once, whether it is exact or named twice',
      ['led_3', 'led_2', 'led_3'],
      ['led_2', 'led_3'],
    ],
    ['no other one for an id that was not found', ['led_9'], ['led_2']],
  ])('The records that were found by an address include %s', (_name, named, ids) => {
    expect(chosenMatches(found, named).map(({ id }) => id)).toEqual(ids);
  });
});

describe('The domains that tell a company', () => {
  it.each<[string, string | undefined, string | undefined, string[]]>([
    ['of an address', 'Ada@Shop.example', undefined, ['shop.example']],
    ['of an address with an @ in quotes', '"a@b"@shop.example', undefined, ['shop.example']],
    ['of a page', undefined, 'https://Shop.example:8443/about', ['shop.example']],
    ['of a page without its www', undefined, 'https://www.shop.example/', ['shop.example']],
    ['of a page with www elsewhere', undefined, 'https://my-www.example/', ['my-www.example']],
    ['of a page below it', undefined, 'https://eu.www.shop.example/', ['eu.www.shop.example']],
    [
      'of both, the one of the address first',
      'ada@mail.example',
      'https://shop.example',
      ['mail.example', 'shop.example'],
    ],
    [
      'once for both',
      'ada@BÜCHER.example',
      'https://www.bücher.example',
      ['xn--bcher-kva.example'],
    ],
    ['of the page beside a provider', 'ada@gmail.com', 'https://shop.example', ['shop.example']],
    [
      'of the address beside a network',
      'ada@shop.example',
      'https://www.facebook.com/shop',
      ['shop.example'],
    ],
    ['without providers and networks', 'ada@qq.com', 'https://www.etsy.com/shop', []],
    ['below a provider', 'ada@shop.gmail.com', undefined, ['shop.gmail.com']],
    ['of nothing', undefined, undefined, []],
  ])('The domains that tell a company are those %s', (_name, email, website, domains) => {
    expect(companyDomains(email, website)).toEqual(domains);
  });
});

describe('The canonical form of an address', () => {
  it.each([
    'bob@bücher.example',
    'Bob@BÜCHER.example',
    'bob@bu\u0308cher.example',
    'bob@xn--bcher-kva.example',
    'BOB@XN--BCHER-KVA.Example',
    'bob@bücher。example',
    'bob@ｂücher．example',
    'bob@bü\u00adcher.example',
  ])('The canonical form of an address is the same for %s', (email) => {
    expect(canonicalAddress(email)).toBe('bob@xn--bcher-kva.example');
  });

  it.each([
    ['JÖRG@example.org', 'jörg@example.org'],
    ['jo\u0308rg@example.org', 'jörg@example.org'],
    ['straße@straße.example', 'straße@xn--strae-oqa.example'],
    ['ada@strasse.example', 'ada@strasse.example'],
    ['@', '@'],
    ['ada@1.2', 'ada@1.2'],
    ['ada@a/b?c#d', 'ada@a/b?c#d'],
    ['ada@É/b', 'ada@é/b'],
  ])('The canonical form of the address %s is %s', (email, canonical) => {
    expect(canonicalAddress(email)).toBe(canonical);
    expect(canonicalAddress(canonical)).toBe(canonical);
  });

  it('The canonical form of an address is not what mail is sent to: a server may tell capitals before the @ apart', () => {
    expect(deliveryAddress('Jo\u0308rg@BÜCHER.example')).toBe('Jörg@xn--bcher-kva.example');
  });
});

/** Every field of the contract that takes an address. */
const fields = inputTexts().filter(
  ({ at, schema }) => /\/(?:email|mailbox)$/.test(at) || schema.meta()?.['format'] === 'idn-email',
);

describe('Every field for a mailbox', () => {
  it('Every field for a mailbox is known: of leads, handoffs, buyers, owners, applicants and the desk', () => {
    expect(fields.map(({ at }) => at).toSorted()).toEqual([
      'allowContact /mailbox',
      'applyForAccess /mailbox',
      'confirmOwnerMailbox /mailbox',
      'createHandoff /buyer/email',
      'erasePersonalData /mailbox',
      'exportPersonalData /mailbox',
      'findPersonalData /mailbox',
      'invitePerson /mailbox',
      'refuseContact /mailbox',
      // Their handlers check them, within a limit for each network.
      'requestPrivacyLink /mailbox',
      'setOwnerProfile /mailbox',
      'startSignIn /mailbox',
      'submitLead /contact/email',
      'submitRfq /contact/email',
    ]);
  });

  const checked = fields.filter(({ at }) => !/^(?:requestPrivacyLink|startSignIn) /.test(at));

  it.each([
    'ada@shop.example',
    'Ada.Byron+shop@Gmail.com',
    "o'neil@shop.example",
    'jörg@example.org',
    'ada@bücher.example',
    'ada@xn--bcher-kva.example',
    'पता@उदाहरण.example',
    '用户@例子.example',
    'ada@a.b.c.museum',
    `${'a'.repeat(64)}@shop.example`,
  ])('Every field for a mailbox accepts %s as it was typed, without what surrounds it', (email) => {
    for (const { at, schema } of checked)
      for (const typed of [email, ` ${email}`, `${email}\u00a0`, `${email}\u200b`])
        expect(schema.safeParse(typed).data, at).toBe(email);
  });

  it.each([
    'ada',
    'ada@',
    '@shop.example',
    'ada@shop',
    'ada@localhost',
    'ada@@shop.example',
    'ada@shop..example',
    '.ada@shop.example',
    'ada.@shop.example',
    'a..da@shop.example',
    'ada@-shop.example',
    'ada@shop-.example',
    'ada@shop.example.',
    'ada@192.0.2.1',
    'ada@[192.0.2.1]',
    'ada@1.2',
    'ada lovelace@shop.example',
    'ada@shop .example',
    'Ada <ada@shop.example>',
    'ada@shop.example,bob@shop.example',
    '"ada"@shop.example',
    'ada@shop.example/x',
    'ada@shop.example:25',
    'ada@shop%2eexample',
    'a\u200bda@shop.example',
    'a\u202eda@shop.example',
    'ada@sh\u200dop.example',
    `${'é'.repeat(33)}@shop.example`,
    `ada@${'a'.repeat(64)}.example`,
    `ada@${'abcdefgh.'.repeat(28)}example`,
    'ada@shop.example\nbcc: bob@shop.example',
  ])('Every field for a mailbox refuses %j', (email) => {
    for (const { at, schema } of checked) expect(schema.safeParse(email).success, at).toBe(false);
  });
});
