/** Texts are normalized where they enter: every text of every operation of the contract. */
import { describe, expect, it } from 'vitest';
import { identifier, text as textField } from '#contracts/fields.ts';
import { inputTexts } from '../support/world/input-texts.ts';

const BLANK = [
  '',
  ' ',
  '\t\n',
  '\u00a0',
  '\u3000',
  '\u2800',
  '\u200b',
  '\u200d',
  '\u00ad',
  '\u034f',
  '\ufe0f',
  '\u3164',
  '\ufeff',
  '\u00a0\u200d \u2800',
];

/** Texts that may be blank, and why. */
const MAY_BE_BLANK: Record<string, string> = {
  'importProducts /products/-/product/description': 'a product may have none: empty',
  // Names of the protocol, which no person reads.
  'a2a:SendMessage /messageId': 'any text is a valid id in A2A',
  'a2a:SendMessage /contextId': 'compared with an id of this service',
  'a2a:SendMessage /taskId': 'compared with an id of this service',
  'a2a:SendMessage /otherParts': 'a hash',
  'a2a:SendMessage /push/url': 'checked as a URL where it is registered',
};

/** What a holder of a link, a page or a protocol names: compared with what is stored, and never stored itself. */
const COMPARED =
  /^(?:a2a:(?:GetTask|SubscribeToTask|CancelTask|ListTasks|\w*PushNotificationConfigs?) |\w+ \/(?:address|attribution\/-|words|restore|add|owner_id|folded\/-|cursor)$|submitRfq \/shown|(?:agreeTo|decline)Quotation \/hash$|requestPrivacyLink \/mailbox$|\w*(?:SignIn|SignInCode|Invitation|Passkey|OpenId) \/(?:mailbox|browser|code|to|replaces|answer|asked|query|state|error)\b)/;

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: string) =>
  schema.safeParse(value).success;

describe('A blank text', () => {
  it('A blank text is refused in every field of every operation, however it is written', () => {
    const accepted = inputTexts().flatMap(({ at, schema }) =>
      at in MAY_BE_BLANK || COMPARED.test(at)
        ? []
        : BLANK.filter((blank) => accepts(schema, blank)).map(
            (blank) => `${at} ${JSON.stringify(blank)}`,
          ),
    );
    expect(accepted).toEqual([]);
  });
});

describe('A text', () => {
  it('A text is the same in every field when what surrounds it, or its composition, cannot be seen', () => {
    const plain = 'Frühling Café';
    const written = [
      ` ${plain}`,
      `${plain} `,
      `${plain}\u00a0`,
      `\u3000${plain}\u2800`,
      `${plain}\u200d`,
      'Fru\u0308hling Cafe\u0301',
      'Früh\u200dling Ca\ufe0ffé',
    ];
    const free = inputTexts().filter(
      ({ at, schema }) => accepts(schema, plain) && !(at in MAY_BE_BLANK) && !COMPARED.test(at),
    );
    expect(free.length).toBeGreaterThan(60);
    const different = free.flatMap(({ at, schema }) =>
      written.flatMap((one) =>
        schema.safeParse(one).data === plain ? [] : `${at} ${JSON.stringify(one)}`,
      ),
    );
    // The name of a person shows what is in it, and is refused.
    expect(different.filter((one) => !/^(?:issueDeskToken|invitePerson) \/name/.test(one))).toEqual(
      [],
    );
  });

  it.each([
    ['Persian', 'می\u200cخواهم'],
    ['a Persian ending of a Latin word', 'iPhone\u200cها'],
    ['an Arabic initial letter', 'ه\u200d.ش'],
    ['Hindi', 'क्\u200dष'],
    ['Malayalam', 'അവന്\u200d'],
    ['Sinhala', 'වාක්\u200dය'],
    ['a family', '👨\u200d👩\u200d👧\u200d👦'],
    ['a heart on fire', '❤\ufe0f\u200d🔥'],
    ['an astronaut', '👩🏽\u200d🚀'],
    ['a keycap', '1\ufe0f\u20e3'],
    ['a Japanese variant', '葛\u{e0100}'],
    ['the spacing of French', 'à 100\u202f%'],
  ])('A text keeps the joiners, selectors and spaces of %s', (_name, text) => {
    const { parse } = textField(100);
    expect([parse(text), parse(` ${text}\u00a0`)]).toEqual([text, text]);
    expect(parse(`${text} ${text}`)).toBe(`${text} ${text}`);
  });

  it('A text is normalized once: again changes nothing', () => {
    for (const one of [
      'a\u00ad\u200d b',
      '\u200dم\u00ad\u200cخ',
      '👩\u00ad\u200d👩',
      ' e\u00ad\u0301 ',
    ])
      for (const { parse } of [textField(100), identifier(100)])
        expect([parse(parse(one)), parse(one).normalize()]).toEqual([parse(one), parse(one)]);
  });
});

describe('A name by which records are found', () => {
  it.each(['external_id', 'campaign', 'sku', 'sub_ids', 'account_ref', 'recipient_ref'])(
    'A name as %s loses what cannot be seen in it, in every operation',
    (name) => {
      const fields = inputTexts().filter(({ at }) =>
        new RegExp(`/${name}(?:/-)?$`).test(at.replace('utm/campaign', '')),
      );
      expect(fields.length).toBeGreaterThan(0);
      for (const { at, schema } of fields)
        for (const one of [
          'spring sale\u200b',
          'spr\u200ding\u00a0sale',
          'spring  sale',
          '\ufeffspring sale',
          'spring\tsale\n',
          'spring\u2060 \u2800sale',
          'spring sale\ufe0f',
        ])
          expect(schema.parse(one), `${at} ${JSON.stringify(one)}`).toBe('spring sale');
    },
  );
});
