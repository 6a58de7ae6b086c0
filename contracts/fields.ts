/** Schemas of single fields that operations share, and their errors. */
import { z } from 'zod';
import { CURRENCIES_DATE, DECIMALS } from './currencies.ts';
import { LIMITS } from './limits.ts';
import { TEST_PREFIX } from './spaces.ts';
import {
  codePointOf,
  HIDDEN,
  INVISIBLE,
  trimmedText,
  visibleText,
  withoutLooseJoiners,
} from './texts.ts';

/** ISO 3166-1 alpha-2, and XK, which is in common use for Kosovo but not in the standard. */
const CODES =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT ' +
  'BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ' +
  'ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT ' +
  'HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS ' +
  'LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI ' +
  'NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG ' +
  'SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG ' +
  'UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW';

export const COUNTRIES: ReadonlySet<string> = new Set(CODES.split(' '));

/** Characters of the part of an e-mail address before its `@`. */
const LOCAL = '[\\p{L}\\p{N}\\p{M}.!#$%&\'*+=?^_`{|}~"-]';

/** What follows the `@` of the id of a group chat of Teams or WhatsApp. */
const GROUPS = String.raw`(?:thread\.(?:tacv2|v2|skype)|unq\.gbl\.spaces|g\.us)(?![\p{L}\p{N}.])`;

/**
 * An e-mail address, or a telephone number in international form. Does not match order numbers, and identifiers of social
 * networks: ids, URNs, handles like `@shop`, `@shop@mastodon.social`, `!shop@lemmy.world` and `acct:shop@mastodon.social`, and
 * groups of Teams and WhatsApp.
 */
const ADDRESS = new RegExp(
  `(?<!${LOCAL}|@|acct:)(?!!)${LOCAL}+@(?!${GROUPS})[^\\s@]+[.。]\\p{L}{2}|` +
    String.raw`(?<![\p{L}\d])\+\(?\d(?:[\s()./\p{Pd}]{0,2}\d){7}`,
  'u',
);

const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Refuses contact details of a person, for a text that is stored unencrypted. Full-width letters are read as the plain
 * ones, and what cannot be seen is not read.
 */
export const impersonal = (schema: z.ZodString) =>
  schema.refine((value) => !ADDRESS.test(value.normalize('NFKC').replaceAll(UNSEEN, '')), {
    error:
      'must not contain an e-mail address or a telephone number; write a handle like @shop@example.social',
    params: { code: 'pii_not_allowed' },
  });

/** What was accepted, and the caller may not have meant. */
const RECORD_WARNINGS = ['source_not_live', 'external_id_in_use'] as const;

export type RecordWarning = { code: (typeof RECORD_WARNINGS)[number]; id: string };

export const recordWarnings = z
  .array(
    z.object({
      code: z
        .enum(RECORD_WARNINGS)
        .describe(
          'source_not_live: nothing is credited to the source. A list is live for the attribution window from its making, a ' +
            'link from its last click, and a new link without a click while it is active. external_id_in_use: another link or ' +
            'handoff of the owner has this external_id',
        ),
      id: z.string().describe('The record that the warning is about'),
    }),
  )
  .describe('What was accepted, and may not be what you meant');

/** Why a text may have contact details. Every other text that a caller gives is refused with them. */
const EXEMPTIONS = {
  encrypted: 'stored encrypted, and erased with the personal data of its record',
  hashed: 'stored as a hash only',
  product: 'of a product, which staff publish',
  staff: 'the identity of a person of staff',
  unstored: 'read, and not stored',
  url: 'a web address, which the caller publishes',
} as const;
export type Exemption = keyof typeof EXEMPTIONS;

/** The exemption of each text that has one. Schemas that are derived from one inherit it. */
export const exemptions = z.registry<{ exemption: Exemption }>();

export const exempt = <Schema extends z.ZodType>(exemption: Exemption, schema: Schema): Schema => {
  exemptions.add(schema, { exemption });
  return schema;
};

const HALF_PAIR = 'contains half of a surrogate pair';

const kindOf = (character: string): string => {
  if (/\p{Bidi_Control}/u.test(character)) return 'a bidirectional character';
  if (/\p{Cc}/u.test(character)) return 'a control character';
  return INVISIBLE.test(character) ? 'an invisible character' : 'which must be escaped';
};

/** Refuses the characters of a pattern; the error names the first one, and its kind. */
const without = <Schema extends z.ZodType<string>>(schema: Schema, pattern: RegExp) =>
  schema.refine((value) => !pattern.test(value), {
    error: ({ input }) => {
      const [character = ''] = pattern.exec(String(input)) ?? [];
      return `contains ${codePointOf(character)}, ${kindOf(character)}`;
    },
  });

const anyText = (max: number) =>
  without(
    z
      .string()
      .overwrite(withoutLooseJoiners)
      .overwrite(trimmedText)
      .min(1)
      .max(max)
      .refine((value) => value.isWellFormed(), { error: HALF_PAIR }),
    HIDDEN,
  );

const anyLine = (max: number) =>
  anyText(max).refine((value) => !/[\n\t]/.test(value), { error: 'must be one line' });

const anyIdentifier = (max: number) =>
  z
    .string()
    .overwrite(visibleText)
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), { error: HALF_PAIR });

/**
 * Text of 1 to `max` characters, without what cannot be seen around it. Line breaks and tabs are allowed; hidden
 * characters, lone surrogates and contact details are not.
 */
export const text = (max: number) => impersonal(anyText(max));

export const line = (max: number) => impersonal(anyLine(max));

/** A name by which records are found and grouped, of 1 to `max` characters, without what cannot be seen. */
export const identifier = (max: number) => impersonal(anyIdentifier(max));

const exemptAs = (exemption: Exemption) => ({
  text: (max: number) => exempt(exemption, anyText(max)),
  line: (max: number) => exempt(exemption, anyLine(max)),
  identifier: (max: number) => exempt(exemption, anyIdentifier(max)),
});
export const encrypted = exemptAs('encrypted');
export const ofProduct = exemptAs('product');
export const staffIdentity = exemptAs('staff');
export const unstored = exemptAs('unstored');
/** A text that is compared with what is stored, or counted, in any form. */
export const compared = exempt('unstored', z.string());

export const id = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-z]{24}$`), { error: `must be an id like ${prefix}_…` });

const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');
/** Whether a time has a year of four digits in UTC, as RFC 3339 needs; its offset can move it out of them. */
export const hasYear = (text: string): boolean => {
  const at = Date.parse(text);
  return at >= FIRST_MS && at <= LAST_MS;
};

export const time = z.iso
  .datetime({ offset: true, abort: true })
  .refine(hasYear, { error: 'must be in the years 0000 to 9999 in UTC' })
  .describe('RFC 3339, for example 2026-11-21T09:30:00Z');
export const date = z.iso.date().describe('A day, for example 2026-11-21');
/** The spelling of a code that people also write in lower case. Other letters have none: `ß` would become `SS`. */
export const upperCase = (code: string): string =>
  code.trim().replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());

export const currency = z
  .string()
  .overwrite(upperCase)
  .regex(/^[A-Z]{3}$/, { error: 'must be an ISO 4217 code like GBP' })
  .describe('ISO 4217 code');
/** The currency of an amount that is entered. Records can have one that a later list lacks. */
export const listedCurrency = currency.refine((code) => DECIMALS.has(code), {
  error: `is not a currency of ISO 4217 (list of ${CURRENCIES_DATE})`,
});
export const country = z
  .string()
  .overwrite(upperCase)
  .regex(/^[A-Z]{2}$/, { error: 'must be an ISO 3166-1 alpha-2 code like GB', abort: true })
  .describe('ISO 3166-1 alpha-2 code');
/** The country of a company. Feeds and proxies may also name countries that are not in the list. */
export const homeCountry = country.refine((code) => COUNTRIES.has(code), {
  error: 'is not an ISO 3166-1 country code',
});
export const quantity = z.int().min(1).max(100_000_000).describe('Pieces');
/** The scheme of a URL; `shop.example:8080` has none. */
const SCHEME = /^[a-z][a-z\d+.-]*:(?!\d)/i;

/** A URL in printable ASCII, without a credential: people read it, and machines send it. */
const webAddress = (protocol: RegExp, schemes: string) => {
  const address = z
    .url({
      protocol,
      abort: true,
      error: ({ input }) => {
        const given = String(input);
        if (!SCHEME.test(given.trim()) && URL.canParse(`https://${given}`))
          return 'must begin with https://';
        return URL.canParse(given) ? `must be an ${schemes} URL` : 'must be a web address';
      },
    })
    .max(2_048);
  return exempt(
    'url',
    without(address, /[^!-~]/u).refine(
      (value) => new URL(value).username === '' && new URL(value).password === '',
      { error: 'must not contain a user or a password', params: { code: 'credential' } },
    ),
  );
};

export const url = webAddress(/^https?$/, 'http or https');
export const httpsUrl = webAddress(/^https$/, 'https');

export const money = z.object({
  amount: z.int().min(0).describe('Minor units: 85 is 0.85 GBP'),
  currency,
});

/** An amount that is entered. */
export const enteredMoney = z.strictObject({ ...money.shape, currency: listedCurrency });

const OWNER = '[a-z][a-z0-9]{2,31}';

/** The owner of lists that credit no promoter. No promoter can have this name, because it begins with `_`. */
export const DIRECT_OWNER = '_direct';

/** The owner of records: a promoter, or its test space. */
export const ownerSpace = z
  .string()
  .regex(new RegExp(`^(?:(?:${TEST_PREFIX})?${OWNER}|${DIRECT_OWNER})$`), {
    error: `must be the name of an owner, or ${TEST_PREFIX} and the name, or ${DIRECT_OWNER}`,
  })
  .describe(
    `The promoter, or ${TEST_PREFIX}{owner} for its test space, or ${DIRECT_OWNER} for lists without a promoter`,
  );

/** Owners of streams that belong to no promoter. */
export const SYSTEM_OWNERS: readonly string[] = ['catalog', 'claims', 'codes', 'desk', 'notary'];

export const ownerId = z
  .string()
  .regex(new RegExp(`^(?!${TEST_PREFIX})${OWNER}$`), {
    error: `must be 3 to 32 characters of a-z and 0-9, and start with a letter but not with ${TEST_PREFIX}`,
  })
  .refine((owner) => !SYSTEM_OWNERS.includes(owner), { error: 'is reserved' })
  .describe(
    'The promoter. Contains no dash, because a stream name is the owner, a dash and the rest',
  );

export const idempotencyKey = exempt(
  'hashed',
  z
    .string()
    .min(1)
    .max(LIMITS.IDEMPOTENCY_KEY_CHARS_MAX)
    .regex(/^[A-Za-z0-9._:~+/=-]+$/, { error: 'must consist of A-Z a-z 0-9 . _ : ~ + / = -' }),
).describe('One per intent, the same on every retry');

const flat = (text: z.ZodString) =>
  z
    .record(
      z.string().regex(/^[a-z0-9_]{1,40}$/, {
        error: 'a name must be 1 to 40 characters of a-z, 0-9 and _',
      }),
      z.union([text, z.number(), z.boolean()]),
    )
    .refine((value) => Object.keys(value).length <= LIMITS.METADATA_MEMBERS_MAX, {
      error: `at most ${LIMITS.METADATA_MEMBERS_MAX} members`,
    })
    .meta({ maxProperties: LIMITS.METADATA_MEMBERS_MAX })
    .describe('Your own flat notes');

export const metadata = flat(line(500)).describe(
  'Your own flat notes. No personal data: e-mail addresses and telephone numbers are refused',
);

/** Metadata as a record shows it: older records may have what is refused now. */
export const shownMetadata = flat(anyLine(500));

export const limit = z
  .int()
  .min(1)
  .max(LIMITS.PAGE_ROWS_MAX)
  .default(LIMITS.PAGE_ROWS_DEFAULT)
  .describe('Rows per page');

/** What names the next page. Clients that repeat a call send an empty one for the first page. */
export const pageMarks = z.registry<{ isEmptyFirst: true }>();

export const pageMark = <Schema extends z.ZodType>(schema: Schema): Schema => {
  pageMarks.add(schema, { isEmptyFirst: true });
  return schema;
};

/** The position of the next page of a desk list. */
export const before = pageMark(z.int().min(1))
  .optional()
  .describe('next_before of the previous page');
export const nextBefore = z.int().nullable().describe('null on the last page');
export const cursor = pageMark(line(500).describe('next_cursor of the previous page'));

/** Fields by which records are filtered and grouped. */
export const sku = ofProduct.identifier(64);
export const campaign = identifier(64).describe(
  'Your name for the campaign; reports can be grouped by it',
);
export const externalId = identifier(128).describe(
  'Your own reference; need not be unique. No e-mail address or telephone number',
);
export const linkId = id('lnk').describe('Id of one of your links');
export const handoffId = id('hnd').describe('Id of one of your handoffs');
export const productId = id('prd').describe('Id of a product, from an answer of searchProducts');
export const category = ofProduct
  .line(100)
  .describe('Name of a category in any case; includes its subcategories');

/** A list; in a query, one comma-separated value. */
export const list = <Item extends z.ZodType<string>>(item: Item, max: number) =>
  z.array(item).min(1).max(max);

/** The last members of every record: the number of its later events, and their times. */
export const versioned = { version: z.int(), created_at: time, updated_at: time };

/** The log position that an answer reflects. */
export const asOf = z.object({
  position: z.int().min(0),
  at: time.nullable().describe('Time of the event at that position; null if the log is empty'),
});

export const page = z.object({
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
  rows_left: z
    .int()
    .optional()
    .describe(
      'Over MCP: rows of this page that did not fit into the result; the next page begins with them',
    ),
});
