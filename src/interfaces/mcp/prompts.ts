import { line } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { pointerOf } from '#src/app/pipeline/input-faults.ts';
import {
  mcpFaultOf,
  invalidParams,
  isRecord,
  resultOf,
  type McpAnswer,
  type McpRequest,
} from './wire.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';

type Argument = {
  name: string;
  description: string;
  required: boolean;
  accepts(text: string): boolean;
  /** The fault of a text that is not accepted. */
  detail: string;
};

const words = {
  accepts: (text: string) => line(200).safeParse(text).success,
  detail: 'must be one line of 1 to 200 characters',
};

const days = {
  accepts: (text: string) =>
    /^[1-9]\d{0,3}$/.test(text) && Number(text) <= LIMITS.PERFORMANCE_DAYS_MAX,
  detail: `must be a whole number from 1 to ${LIMITS.PERFORMANCE_DAYS_MAX}`,
};

type Prompt = {
  name: string;
  title: string;
  description: string;
  arguments: readonly Argument[];
  /** The task as text, with the arguments in it. */
  text(given: Record<string, string>): string;
};

const PROMPTS: readonly Prompt[] = [
  {
    name: 'promote_product',
    title: 'Promote a product',
    description: 'Find a ready-stock product, link it, and prepare what people approve',
    arguments: [
      { name: 'product', description: 'Words, sku or id of the product', required: true, ...words },
      {
        name: 'campaign',
        description: 'Name of the campaign, for reports',
        required: false,
        ...words,
      },
    ],
    text: ({ product, campaign }) =>
      [
        `Promote a wholesale product of the catalog. What to look for, as the user said it: "${product}".`,
        ...(campaign === undefined ? [] : [`The campaign is called "${campaign}".`]),
        '1. get_connection: see which scopes are granted; leave out the steps that are not open.',
        '2. search_products: choose one published product; prices are indicative, stock is a signal.',
        '3. create_link to it, with an idempotency_key of its own. Show its disclosure beside it.',
        '4. request_social_post or request_message: propose one text with the link and the disclosure. ' +
          'People approve exactly that text; get_outbound_request shows what they decided.',
        '5. create_handoff when a buyer wants a list: give review_url to the buyer, who alone can send the RFQ.',
      ].join('\n'),
  },
  {
    name: 'review_performance',
    title: 'Review performance',
    description: 'Compare a period with the one before and say what to do next',
    arguments: [
      {
        name: 'days',
        description: 'Length of the period in days, for example 28',
        required: false,
        ...days,
      },
    ],
    text: ({ days = '28' }) =>
      [
        `Review how the promotion did over the last ${days} days, compared with the days before.`,
        '1. get_performance with granularity total and compare_to previous_period; then again with ' +
          'group_by campaign, and with group_by link_id.',
        '2. list_leads with state accepted, qualified and won, if leads:read is granted.',
        '3. Say which links and campaigns gained or lost, in clicks_unique, handoffs and leads, and what ' +
          'to do next. Name the numbers as they are; amounts are minor units, never summed across currencies.',
      ].join('\n'),
  },
];

export const promptList = (): object => ({
  prompts: PROMPTS.map(({ text: _text, ...entry }) => ({
    ...entry,
    arguments: entry.arguments.map(
      ({ accepts: _accepts, detail: _detail, ...argument }) => argument,
    ),
  })),
});

/** prompts/get: answers the task as a message of the user. */
export const getPrompt = ({ era, params }: McpRequest): McpAnswer => {
  const { name, arguments: sent = {} } = params;
  const prompt = PROMPTS.find((entry) => entry.name === name);
  if (!prompt)
    return mcpFaultOf(refuse('route_not_found', 'There is no such prompt; see prompts/list.'), {
      code: -32602,
      status: 200,
    });
  if (!isRecord(sent))
    return invalidParams('/params/arguments', 'invalid_type', 'must be an object');
  const unknown = Object.keys(sent).find((field) =>
    prompt.arguments.every((argument) => argument.name !== field),
  );
  if (unknown !== undefined) {
    const pointer = `/params/arguments${pointerOf([unknown])}`;
    return invalidParams(pointer, 'unknown_field', 'is not an argument of this prompt');
  }
  const given: Record<string, string> = {};
  for (const { name: field, required, accepts, detail } of prompt.arguments) {
    const pointer = `/params/arguments/${field}`;
    const value = sent[field];
    if (value === undefined && required) return invalidParams(pointer, 'required', 'is required');
    if (value === undefined) continue;
    if (typeof value !== 'string' || !accepts(value))
      return invalidParams(pointer, 'invalid', detail);
    given[field] = value;
  }
  const { description, text } = prompt;
  const messages = [{ role: 'user', content: { type: 'text', text: text(given) } }];
  return { ok: true, result: JSON.stringify(resultOf(era, { description, messages })) };
};
