import { describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { z } from 'zod';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { attributionQuestion } from '#contracts/tasks/skills.ts';
import { INVISIBLE } from '#contracts/texts.ts';
import { parseInput, readInput } from '#src/calls/input.ts';

const { createHandoff, createLink, getPerformance, listLeads, requestMessage } = agentOperations;
const { searchProducts, submitLead } = agentOperations;

type Raw = Record<string, unknown>;

/** Returns the faults as lines of pointer, code and detail. */
const faultsOf = ({ input }: { input: Parameters<typeof readInput>[0] }, raw: Raw): string[] => {
  const read = readInput(input, raw);
  if (!('faults' in read)) throw new Error('was taken');
  return read.faults.map(
    ({ pointer, code, detail, value }) =>
      `${pointer} ${code}: ${detail}${value === undefined ? '' : ` "${value}"`}`,
  );
};

const list = (more: Raw): Raw => ({
  idempotency_key: 'a',
  title: 'List',
  line_items: [{ sku: 'MUG-1', quantity: 6 }],
  ...more,
});
const of = (quantity: unknown): Raw => list({ line_items: [{ sku: 'MUG-1', quantity }] });
const AT = '/line_items/0/quantity';

describe('A fault', () => {
  it.each<[unknown, string]>([
    [1.5, 'invalid_type: must be a whole number from 1 to 100000000 "1.5"'],
    ['six', 'invalid_type: must be a whole number from 1 to 100000000 "six"'],
    [null, 'invalid_type: must be a whole number from 1 to 100000000, not null'],
    [0, 'too_small: must be at least 1 "0"'],
    [1e20, 'too_big: must be at most 100000000 "100000000000000000000"'],
    [undefined, 'required: is required'],
  ])('A fault of the quantity %j states once what is allowed', (quantity, words) => {
    expect(faultsOf(createHandoff, of(quantity))).toEqual([`${AT} ${words}`]);
  });

  it.each(['1e3', '99999999999999999999', 'six', '4\u00a0'])(
    'A fault of the query parameter %s does not mention the type text, because all parameters are text',
    (text) => {
      const shown = text.replace('\u00a0', '⟨U+00A0⟩');
      expect(faultsOf(searchProducts, { at_quantity: text })).toEqual([
        `/at_quantity invalid_type: must be a whole number from 1 to 100000000 "${shown}"`,
      ]);
      expect(faultsOf(getPerformance, { as_of: text })).toEqual([
        `/as_of invalid_type: must be a whole number of at least 0 "${shown}"`,
      ]);
    },
  );

  it('A field with another type is one fault and counts as one field', () => {
    const raw = { idempotency_key: 'a', target: { kind: 'product', ref: 'A' }, campaign: [] };
    const words = 'must be text of 1 to 64 characters, not a list';
    expect(faultsOf(createLink, raw)).toEqual([`/campaign invalid_type: ${words}`]);
    const target = { kind: 'search', ref: 'a\n\u0000b' };
    const twice = parseInput(createLink, { idempotency_key: 'a', target, slug: '-' });
    expect(twice).toMatchObject({ refusal: { detail: '2 fields are not valid.' } });
  });

  it('A fault names choices, formats and lengths', () => {
    const metadata = { a: {}, b: 'x\ny', 'C!': 1 };
    expect(faultsOf(createHandoff, list({ metadata, title: '', expires_at: 'soon' }))).toEqual([
      '/title too_small: must not be empty ""',
      '/expires_at invalid_format: must be a time like 2026-11-21T09:30:00Z "soon"',
      '/metadata/a invalid_type: must be text of 1 to 500 characters or a number or true or false',
      '/metadata/b custom: must be one line "x⟨U+000A⟩y"',
      '/metadata/C! invalid_key: a name must be 1 to 40 characters of a-z, 0-9 and _',
    ]);
    const lead = {
      idempotency_key: 'a',
      external_id: 'x'.repeat(129),
      company: { name: 'A', country: 'GB', website: 'ftp://a.example' },
      contact: { name: 'A', email: 'a', phone: '1' },
      consent: { basis: 'trust', obtained_at: '2026-01-20T09:00:00Z' },
      withdraw: 'yes',
    };
    expect(faultsOf(submitLead, lead)).toEqual([
      `/external_id too_big: must have at most 128 characters "${'x'.repeat(60)}…"`,
      '/company/website invalid_format: must be an http or https URL "ftp://a.example"',
      '/contact/email invalid_format: must be an e-mail address, like ada@example.com "a"',
      '/contact/phone invalid_format: must be a number like +442071838750 "1"',
      '/consent/basis invalid_value: must be one of consent, legitimate_interest, contract "trust"',
      '/withdraw invalid_type: must be true or false "yes"',
    ]);
    expect(
      faultsOf(getPerformance, { from: 'x', group_by: ['country', 'link_id', 'channel'] }),
    ).toEqual([
      '/from invalid_format: must be a day like 2026-11-21 "x"',
      '/group_by too_big: must have at most 2 items',
    ]);
  });
});

describe('The value of a fault', () => {
  const lead = (company: Raw): Raw => ({
    idempotency_key: 'a',
    external_id: 'x',
    company: { name: 'A', country: 'GB', ...company },
  });
  const websiteOf = (website: string): unknown => {
    const read = readInput(submitLead.input, lead({ website }));
    if ('value' in read) return read.value.company?.website;
    expect(read.faults).toHaveLength(1);
    return faultsOf(submitLead, lead({ website }))[0]?.replace(/^\S+ \S+ /, '');
  };

  it.each([
    ['www.example.org', 'must begin with https:// "www.example.org"'],
    ['example.org/a?b', 'must begin with https:// "example.org/a?b"'],
    ['www.example.org:8080', 'must begin with https:// "www.example.org:8080"'],
    ['bücher.example', 'must begin with https:// "bücher.example"'],
    ['ftp://a.example', 'must be an http or https URL "ftp://a.example"'],
    ['javascript:alert(1)', 'must be an http or https URL "javascript:alert(1)"'],
    ['shop', 'must begin with https:// "shop"'],
    ['https://', 'must be a web address "https://"'],
    ['https://a b/', 'must be a web address "https://a b/"'],
    ['https://a.example/a b', 'contains U+0020, which must be escaped "https://a.example/a b"'],
    ['https://bücher.example/', 'contains U+00FC, which must be escaped "https://bücher.example/"'],
    ['ftp://ann:secret@a.example', 'must be an http or https URL'],
    [
      'https://a.example/\u200bx',
      'contains U+200B, an invisible character "https://a.example/⟨U+200B⟩x"',
    ],
    [
      'https://a.example/\u202e',
      'contains U+202E, a bidirectional character "https://a.example/⟨U+202E⟩"',
    ],
    ['https://ann:secret@a.example', 'must not contain a user or a password'],
  ])('A value that is the URL %s names its one cause', (website, detail) => {
    expect(websiteOf(website)).toBe(detail);
  });

  it.each([
    ['a\u200bb', 'contains U+200B, an invisible character "a⟨U+200B⟩b"'],
    ['a\u202eb', 'contains U+202E, a bidirectional character "a⟨U+202E⟩b"'],
    ['a\u0000b', 'contains U+0000, a control character "a⟨U+0000⟩b"'],
    ['a\ud800b', 'contains half of a surrogate pair "a\ufffdb"'],
    ['a\nb', 'must be one line "a⟨U+000A⟩b"'],
    ['a\n\u202eb', 'contains U+202E, a bidirectional character "a⟨U+000A⟩⟨U+202E⟩b"'],
    ['', 'must not be empty ""'],
    ['\u00a0', 'must not be empty "⟨U+00A0⟩"'],
  ])(
    'A value that is the name %j has its invisible characters written out, with one cause',
    (name, detail) => {
      expect(faultsOf(submitLead, lead({ name }))).toEqual([
        expect.stringMatching(/^\/company\/name (?:custom|too_small): /),
      ]);
      expect(faultsOf(submitLead, lead({ name }))[0]).toContain(`: ${detail}`);
    },
  );

  it('The value of a fault is cut, and left out where it is like a credential or personal', () => {
    const country = `g\u200b${'x'.repeat(100)}`;
    const [fault = ''] = faultsOf(submitLead, lead({ country }));
    expect(fault).toMatch(/; U\+200B in it cannot be seen "g⟨U\+200B⟩x{58}…"$/);
    const key = `trb_live_${'a'.repeat(12)}_${'b'.repeat(49)}`;
    expect(faultsOf(submitLead, lead({ country: key })).join()).not.toContain('bbb');
    expect(faultsOf(submitLead, lead({ name: 'x'.repeat(201) })).join()).toMatch(/"x{60}…"$/);
    const personal = `ada@shop.example\n\u200b${'x'.repeat(201)}`;
    expect(faultsOf(submitLead, lead({ name: personal }))).toEqual([
      '/company/name pii_not_allowed: must not contain an e-mail address or a telephone number; write a handle like @shop@example.social',
    ]);
  });

  it.each([
    [submitLead, (country: string) => lead({ country }), 'company.country'],
    [createHandoff, (country: string) => list({ buyer: { country } }), 'buyer.country'],
    [getPerformance, (country: string) => ({ country }), 'country'],
  ] as const)(
    'A value that is a country may be written in lower case: %#',
    (operation, make, path) => {
      for (const spelled of ['gb', 'Gb', ' GB ', 'gB\u00a0']) {
        const read = readInput(operation.input as never, make(spelled));
        expect(read).toHaveProperty(`value.${path}`, 'GB');
      }
      for (const other of ['ß', 'ﬁ', 'g', 'gbr', '1b', ''])
        expect(readInput(operation.input as never, make(other))).toHaveProperty('faults');
    },
  );

  it('A value that is the country of all rare ones stays in lower case', () => {
    expect(readInput(getPerformance.input, { country: 'other' })).toHaveProperty(
      'value.country',
      'other',
    );
  });

  it.each([
    ['en_gb', 'en-GB'],
    ['EN-gb', 'en-GB'],
    ['zh-hant-tw', 'zh-Hant-TW'],
    ['DE', 'de'],
    [' pt_BR ', 'pt-BR'],
  ])('A value that is the language %s is stored as %s', (locale, stored) => {
    expect(readInput(createHandoff.input, list({ locale }))).toHaveProperty('value.locale', stored);
  });
});

describe('An unknown field', () => {
  const hintsOf = (operation: { input: Parameters<typeof readInput>[0] }, raw: Raw): string[] =>
    faultsOf(operation, raw).filter((fault) => fault.includes('unknown_field'));

  it.each(['note', 'buyer_note', 'noteToBuyer', 'note-to-buyer', 'NOTE_TO_BUYER', 'note_to_byer'])(
    'The fault of the unknown field %s names the closest known field',
    (name) => {
      expect(hintsOf(createHandoff, list({ [name]: 'Hello' }))).toEqual([
        `/${name} unknown_field: is not a field of this operation; did you mean note_to_buyer?`,
      ]);
    },
  );

  it('An unknown field names a known one of the same object, at any depth', () => {
    const raw = list({ buyer: { mail: 'a@b.example' }, line_items: [{ sku: 'A', qty: 1 }] });
    expect(hintsOf(createHandoff, raw).join()).toMatch(
      /\/buyer\/mail .* mean email\?.*\/line_items\/0\/qty .* mean quantity\?/,
    );
  });

  it('An unknown field names no other one where none is alike', () => {
    expect(hintsOf(createHandoff, list({ zzz: 1, ['x'.repeat(10_000)]: 1 })).join()).not.toContain(
      'mean',
    );
  });

  it('An unknown field is compared with the known ones in bounded time', () => {
    const raw = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`line_item${i}`, 1]));
    const hints = hintsOf(createHandoff, list(raw));
    expect(hints).toHaveLength(LIMITS.FAULTS_MAX + 1);
    expect(hints.filter((hint) => hint.includes('mean'))).toHaveLength(20);
  });
});

describe('A field that is stored in plaintext', () => {
  const link = (more: Raw): Raw => ({
    idempotency_key: 'a',
    target: { kind: 'product', ref: 'MUG-1' },
    ...more,
  });
  const REFUSED =
    'pii_not_allowed: must not contain an e-mail address or a telephone number; write a handle like @shop@example.social';

  it.each([
    'ada@shop.example',
    'for Ada <ada@shop.example>, please',
    'mailto:a.b+c@müller.de',
    '\uff41da＠shop．example',
    '+442071838750',
    'tel:+1 (202) 555-0123',
    '＋49 30/1234567',
  ])('A field that is stored in plaintext refuses %s', (text) => {
    const own = { external_id: text, metadata: { note: text } };
    const mine = ['/external_id', '/metadata/note'];
    expect(faultsOf(createLink, link({ ...own, campaign: text, sub_ids: ['a', text] }))).toEqual(
      ['/external_id', '/campaign', '/sub_ids/1', '/metadata/note'].map((at) => `${at} ${REFUSED}`),
    );
    expect(faultsOf(createHandoff, list({ ...own, title: text }))).toEqual(
      ['/title', ...mine].map((at) => `${at} ${REFUSED}`),
    );
    expect(faultsOf(submitLead, { idempotency_key: 'a', ...own })).toEqual(
      mine.map((at) => `${at} ${REFUSED}`),
    );
    const message = { idempotency_key: 'a', channel: 'email', text: 'Hello' };
    expect(
      faultsOf(requestMessage, { ...message, recipient_ref: text, external_id: text }).sort(),
    ).toEqual(['/external_id', '/recipient_ref'].map((at) => `${at} ${REFUSED}`));
  });

  it.each([
    'order-555156',
    'PO+20261122',
    '00441632960000',
    '+1234567',
    '48 mugs @ 2.50, +10 %',
    '@shop, 48@2.50',
    '2026-11-22T09:00:00+02:00',
  ])('A field that is stored in plaintext accepts %s', (text) => {
    const own = { external_id: text, metadata: { note: text, count: 442_071_838_750 } };
    const results = [
      readInput(createLink.input, link({ ...own, campaign: text, sub_ids: [text] })),
      readInput(createHandoff.input, list({ ...own, title: text })),
      readInput(submitLead.input, { idempotency_key: 'a', ...own }),
    ];
    expect(results).not.toContainEqual(expect.objectContaining({ faults: expect.anything() }));
  });

  it('A field that is stored in plaintext can be read in older records with values that are refused today', () => {
    const mail = 'ada@shop.example';
    expect(readInput(listLeads.input, { external_id: mail })).toHaveProperty('value');
    expect(readInput(getPerformance.input, { campaign: mail })).toHaveProperty('value');
    for (const { output, examples } of [createLink, createHandoff, submitLead])
      expect(
        output.safeParse({ ...(examples[0]?.output as object), metadata: { mail } }).success,
      ).toBe(true);
  });
});

describe('The faults of all operations', () => {
  const ODD = [
    null,
    [],
    {},
    '',
    'x',
    'x'.repeat(9_000),
    'a\u0000b',
    'x\u00a0\u200by',
    7,
    -1,
    1.5,
    1e20,
    true,
    [{}],
  ];
  type Node = { properties?: Record<string, Node>; items?: Node; anyOf?: Node[] };

  /** Returns the input with each field replaced in turn, including nested fields. */
  const variants = (node: Node): unknown[] => [
    ...ODD,
    ...Object.entries(node.properties ?? {}).flatMap(([name, field]) =>
      variants(field).map((value) => ({ [name]: value })),
    ),
    ...(node.items ? variants(node.items).map((value) => [value]) : []),
    ...(node.anyOf ?? []).flatMap(variants),
  ];

  const inputs = [
    ...Object.values({ ...agentOperations, ...deskOperations, ...holderOperations }).map(
      ({ input }): z.ZodType => input,
    ),
    attributionQuestion,
  ];
  const nodeOf = (input: z.ZodType) =>
    z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Node;

  it('The faults of all operations contain no message of the validation library, and name one cause of each value that they show', () => {
    const odd = new Set<string>();
    let faults = 0;
    for (const input of inputs)
      for (const raw of variants(nodeOf(input))) {
        const read = readInput(input, raw);
        if (!('faults' in read)) continue;
        faults += read.faults.length;
        expect(new Set(read.faults.map(({ pointer }) => pointer)).size).toBe(read.faults.length);
        for (const { pointer, detail, code, value } of read.faults) {
          if (/Invalid|expected|received|Too |\bint\b|union|undefined/.test(`${code} ${detail}`))
            odd.add(`${code} ${detail}`);
          expect(detail + (value ?? '')).not.toMatch(INVISIBLE);
          const given = pointer
            .split('/')
            .slice(1)
            .reduce<unknown>((at, name) => (at as Raw | null | undefined)?.[name], raw);
          const isShown = ['string', 'number', 'boolean'].includes(typeof given);
          if (isShown && !['unknown_field', 'invalid_key'].includes(code))
            expect(value?.[0], `${pointer} ${detail}`).toBe(String(given)[0]);
          expect(value?.length ?? 0).toBeLessThan(100);
        }
      }
    expect(faults).toBeGreaterThan(1_000);
    expect([...odd]).toEqual([]);
  });

  /** Returns each object in an input, and what makes an input of its members. */
  type Place = { names: string[]; inputOf: (members: Raw) => unknown };
  const placesOf = ({ properties, items, anyOf = [] }: Node): Place[] => [
    ...(properties ? [{ names: Object.keys(properties), inputOf: (members: Raw) => members }] : []),
    ...Object.entries(properties ?? {}).flatMap(([name, field]) =>
      placesOf(field).map(({ names, inputOf }) => ({
        names,
        inputOf: (members: Raw) => ({ [name]: inputOf(members) }),
      })),
    ),
    ...(items ? placesOf(items) : []).map(({ names, inputOf }) => ({
      names,
      inputOf: (members: Raw) => [inputOf(members)],
    })),
    ...anyOf.flatMap(placesOf),
  ];

  it('The faults of all operations name the closest field for a slip in the name of each', () => {
    const slips = (name: string): string[] => [
      name.slice(0, -1),
      name.slice(0, 1) + name.slice(2),
      `${name}s`,
      name.slice(0, -2) + name.slice(-1) + name.slice(-2, -1),
      name.replaceAll(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase()),
      name.replaceAll('_', '-'),
      name.toUpperCase(),
    ];
    let compared = 0;
    for (const input of inputs)
      for (const { names, inputOf } of placesOf(nodeOf(input)))
        for (const name of names)
          for (const slip of slips(name).filter((one) => one.length > 4 && !names.includes(one))) {
            compared += 1;
            const hints = faultsOf({ input }, inputOf({ [slip]: 1 }) as Raw);
            expect(hints.join('\n'), slip).toContain(
              `/${slip} unknown_field: is not a field of this operation; did you mean ${name}?`,
            );
          }
    expect(compared).toBeGreaterThan(1_000);
  });
});
