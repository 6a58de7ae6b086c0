import { z } from 'zod';
import { inToolWords } from './wording.ts';

/** A JSON Schema 2020-12, as far as we look into it. */
export type Schema = {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  required?: string[];
  $ref?: string;
};

/** Said where the contract leaves a field to its name; a model has nothing else to go by. */
const FIELDS: Record<string, string> = {
  account_ref: 'The account, by the name the owner gives it',
  agent_id: 'Id of one of the agents of the owner',
  basis: 'The lawful basis of processing',
  brand: 'Exact name of the brand',
  buyer: 'Who the list is for, as far as known',
  campaign: 'Your name for the campaign; reports group by it',
  categories: 'Names of categories',
  category: 'Exact name of a category',
  channel: 'The kind of channel; reports group by it',
  company: 'Name of the company',
  content: 'utm_content',
  country: 'ISO 3166-1 alpha-2 code',
  currency: 'ISO 4217 code',
  email: 'E-mail address',
  evidence_url: 'Where the consent can be looked up',
  external_id: 'Your own reference',
  granularity: 'Length of a row',
  handoff_id: 'Id of a handoff of yours',
  interest: 'What the lead asked for',
  kind: 'Which of these it is',
  lead_time_max_days: 'Days to dispatch, at most',
  line_items: 'What the buyer may want; each names its product by product_id or by sku',
  link_id: 'Id of a link of yours',
  locale: 'BCP 47 tag of the language of the page, for example en-GB',
  medium: 'utm_medium',
  name: 'Full name',
  network: 'The social network',
  note: 'A remark',
  note_to_buyer: 'Shown to the buyer above the list',
  origin: 'Country of origin, ISO 3166-1 alpha-2 code',
  outbound_id: 'Id of the outreach request, as request_… answered it',
  phone: 'Number in E.164 form',
  product_id: 'Id of a product, as search_products answers it',
  product_ids: 'Ids of products',
  quantity: 'Pieces',
  quantity_hint: 'Pieces wanted, about',
  reason: 'Why, for the people who decide',
  role: 'Position in the company',
  ship_from: 'Country it is sent from, ISO 3166-1 alpha-2 code',
  sku: "The product's stock-keeping unit, instead of product_id",
  sort: 'Order of the rows',
  source: 'Where it came from',
  state: 'Only leads in this state',
  sub_ids: 'Up to three tags of yours; reports group by each',
  subject: 'Subject line',
  term: 'utm_term',
  text: 'The exact text that people approve and that is sent',
  text_version: 'Version of the consent text that was shown',
  title: 'Shown to the buyer as the title of the list',
  website: 'Web address of the company',
  withdraw: 'true withdraws the lead',
  withdraw_reason: 'Why it is withdrawn',
};

/** Those that JSON Schema names; of any other, the pattern stays. */
const FORMATS: ReadonlySet<string | undefined> = new Set(['date', 'date-time', 'email', 'uri']);

const LONG = Number.MAX_SAFE_INTEGER;

/** What a reader of the schema gains nothing from goes; what a client would trip over, too. */
const trimmed = (node: Schema, io: 'input' | 'output'): void => {
  // The pattern of a date has 200 characters, and says what the format says.
  if (FORMATS.has(node.format)) delete node.pattern;
  else delete node.format;
  if (node.minimum === -LONG) delete node.minimum;
  if (node.maximum === LONG) delete node.maximum;
  // An answer may gain a field in a later release; a request may not carry an unknown one.
  if (io === 'output' && node.additionalProperties === false) delete node.additionalProperties;
  if (node.description !== undefined) node.description = inToolWords(node.description);
};

/** Each field with a sentence: its own, or what its name means everywhere. */
const described = (node: Schema): void => {
  for (const [name, property] of Object.entries(node.properties ?? {})) {
    const said = FIELDS[name];
    if (said !== undefined) property.description ??= inToolWords(said);
    described(property);
  }
  if (node.items) described(node.items);
};

/** A list of types as alternatives of one each: some clients take a type for a text. */
const eitherType = ({ type, ...rest }: Schema): Schema =>
  Array.isArray(type)
    ? { ...rest, anyOf: type.map((one: string) => ({ type: one })) }
    : { ...(type !== undefined && { type }), ...rest };

/** Named schemas in their places: a tool's schema stands alone, and some clients follow no $ref. */
const inlined = (node: unknown, named: Record<string, unknown>): unknown => {
  if (Array.isArray(node)) return node.map((item) => inlined(item, named));
  if (typeof node !== 'object' || node === null) return node;
  const {
    $ref,
    $defs: _defs,
    $schema: _schema,
    $id: _id,
    ...rest
  } = node as Schema & {
    [name: `$${string}`]: unknown;
  };
  const members = Object.entries(rest).map(([name, value]) => [name, inlined(value, named)]);
  const own = eitherType(Object.fromEntries(members) as Schema);
  if (typeof $ref !== 'string') return own;
  const { id: _named, ...target } = inlined(
    named[$ref.slice('#/$defs/'.length)],
    named,
  ) as Schema & {
    id?: string;
  };
  return { ...target, ...own };
};

/** A zod schema as a tool shows it: one object, without references, each field described. */
export const toolSchema = (schema: z.ZodType, io: 'input' | 'output'): Schema => {
  const made = z.toJSONSchema(schema, {
    io,
    reused: 'inline',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => trimmed(jsonSchema as Schema, io),
  }) as Schema & { $defs?: Record<string, unknown> };
  const whole = { type: 'object', ...(inlined(made, made.$defs ?? {}) as Schema) };
  if (io === 'input') described(whole);
  return whole;
};
