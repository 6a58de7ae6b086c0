import { describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { attributionQuestion } from '#contracts/tasks/skills.ts';
import { parseInput, readInput } from '#src/calls/input.ts';

const { createHandoff, createLink, getPerformance, listLeads, requestMessage } = agentOperations;
const { searchProducts, submitLead } = agentOperations;

type Raw = Record<string, unknown>;

/** Returns the faults as lines of pointer, code and detail. */
const faultsOf = ({ input }: { input: Parameters<typeof readInput>[0] }, raw: Raw): string[] => {
  const read = readInput(input, raw);
  if (!('faults' in read)) throw new Error('was taken');
  return read.faults.map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`);
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
    [1.5, 'invalid_type: must be a whole number from 1 to 100000000'],
    ['6', 'invalid_type: must be a whole number from 1 to 100000000, not text'],
    [null, 'invalid_type: must be a whole number from 1 to 100000000, not null'],
    [0, 'too_small: must be at least 1'],
    [1e20, 'too_big: must be at most 100000000'],
    [undefined, 'required: is required'],
  ])('of the quantity %j states once what is allowed', (quantity, words) => {
    expect(faultsOf(createHandoff, of(quantity))).toEqual([`${AT} ${words}`]);
  });

  it.each(['1e3', '99999999999999999999', 'six'])(
    'of the query parameter %s does not mention the type text, because all parameters are text',
    (text) => {
      expect(faultsOf(searchProducts, { at_quantity: text })).toEqual([
        '/at_quantity invalid_type: must be a whole number from 1 to 100000000',
      ]);
      expect(faultsOf(getPerformance, { as_of: text })).toEqual([
        '/as_of invalid_type: must be a whole number of at least 0',
      ]);
    },
  );

  it('of a field with another type is one fault and counts as one field', () => {
    const raw = { idempotency_key: 'a', target: { kind: 'product', ref: 'A' }, campaign: [] };
    const words = 'must be text of 1 to 64 characters, not a list';
    expect(faultsOf(createLink, raw)).toEqual([`/campaign invalid_type: ${words}`]);
    const target = { kind: 'search', ref: 'a\n\u0000b' };
    const twice = parseInput(createLink, { idempotency_key: 'a', target, slug: '-' });
    expect(twice).toMatchObject({ refusal: { detail: '2 fields are not valid.' } });
  });

  it('names choices, formats and lengths', () => {
    const metadata = { a: {}, b: 'x\ny', 'C!': 1 };
    expect(faultsOf(createHandoff, list({ metadata, title: '', expires_at: 'soon' }))).toEqual([
      '/title too_small: must not be empty',
      '/expires_at invalid_format: must be a time like 2026-11-21T09:30:00Z',
      '/metadata/a invalid_type: must be text of 1 to 500 characters or a number or true or false',
      '/metadata/b custom: must be one line',
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
      '/external_id too_big: must have at most 128 characters',
      '/company/website invalid_format: must be an http or https URL',
      '/contact/email invalid_format: must be an e-mail address, like ada@example.com',
      '/contact/phone invalid_format: must be a number like +442071838750',
      '/consent/basis invalid_value: must be one of consent, legitimate_interest, contract',
      '/withdraw invalid_type: must be true or false',
    ]);
    expect(
      faultsOf(getPerformance, { from: 'x', group_by: ['country', 'link_id', 'channel'] }),
    ).toEqual([
      '/from invalid_format: must be a day like 2026-11-21',
      '/group_by too_big: must have at most 2 items',
    ]);
  });
});

describe('A field that is stored in plaintext', () => {
  const link = (more: Raw): Raw => ({
    idempotency_key: 'a',
    target: { kind: 'product', ref: 'MUG-1' },
    ...more,
  });
  const REFUSED = 'pii_not_allowed: must not contain an e-mail address or a telephone number';

  it.each([
    'ada@shop.example',
    'for Ada <ada@shop.example>, please',
    'mailto:a.b+c@müller.de',
    '\uff41da＠shop．example',
    '+442071838750',
    'tel:+1 (202) 555-0123',
    '＋49 30/1234567',
  ])('refuses %s', (text) => {
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
  ])('accepts %s', (text) => {
    const own = { external_id: text, metadata: { note: text, count: 442_071_838_750 } };
    const results = [
      readInput(createLink.input, link({ ...own, campaign: text, sub_ids: [text] })),
      readInput(createHandoff.input, list({ ...own, title: text })),
      readInput(submitLead.input, { idempotency_key: 'a', ...own }),
    ];
    expect(results).not.toContainEqual(expect.objectContaining({ faults: expect.anything() }));
  });

  it('can be read in older records with values that are refused today', () => {
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
  const ODD = [null, [], {}, '', 'x', 'x'.repeat(9_000), 'a\u0000b', 7, -1, 1.5, 1e20, true, [{}]];
  type Node = { properties?: Record<string, Node>; items?: Node };

  /** Returns the input with each field replaced in turn, including nested fields. */
  const variants = (node: Node): unknown[] => [
    ...ODD,
    ...Object.entries(node.properties ?? {}).flatMap(([name, field]) =>
      variants(field).map((value) => ({ [name]: value })),
    ),
    ...(node.items ? variants(node.items).map((value) => [value]) : []),
  ];

  it('contain no message of the validation library', async () => {
    const { z } = await import('zod');
    const inputs = [
      ...Object.values({ ...agentOperations, ...deskOperations }).map(({ input }) => input),
      attributionQuestion,
    ];
    const odd = new Set<string>();
    let faults = 0;
    for (const input of inputs) {
      const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Node;
      for (const raw of variants(schema)) {
        const read = readInput(input, raw);
        if (!('faults' in read)) continue;
        faults += read.faults.length;
        for (const { detail, code } of read.faults)
          if (/Invalid|expected|received|Too |\bint\b|union|undefined/.test(`${code} ${detail}`))
            odd.add(`${code} ${detail}`);
      }
    }
    expect(faults).toBeGreaterThan(1_000);
    expect([...odd]).toEqual([]);
  });
});
