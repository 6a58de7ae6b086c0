import { describe, expect, it } from 'vitest';
import { canonicalAddress, deliveryAddress } from '#contracts/mailbox.ts';
import { mailboxOf } from '#src/shared/mailbox.ts';
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
