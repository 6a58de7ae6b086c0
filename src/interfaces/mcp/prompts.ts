import { z } from 'zod';
import { line } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { readInput } from '#src/calls/input-faults.ts';
import { refuse } from '#src/shared/outcome.ts';
import { type McpAnswer, mcpFaultOf, type McpRequest, resultOf } from './wire.ts';

const words = line(200);

const wholeDays = z
  .string()
  .refine((text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= LIMITS.PERFORMANCE_DAYS_MAX, {
    error: `must be a whole number from 1 to ${LIMITS.PERFORMANCE_DAYS_MAX}`,
  });

type Prompt = {
  name: string;
  title: string;
  description: string;
  arguments: z.ZodObject<Record<string, z.ZodType<string | undefined>>>;
  /** The task as text, with the arguments in it. */
  text(given: Readonly<Record<string, string | undefined>>): string;
};

const PROMPTS: readonly Prompt[] = [
  {
    name: 'promote_product',
    title: 'Promote a product',
    description: 'Find a ready-stock product, link it, and prepare what people approve',
    arguments: z.strictObject({
      product: words.describe('Words, sku or id of the product'),
      campaign: words.optional().describe('Name of the campaign, for reports'),
    }),
    text: ({ product = '', campaign }) =>
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
    arguments: z.strictObject({
      days: wholeDays.optional().describe('Length of the period in days, for example 28'),
    }),
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
  prompts: PROMPTS.map(({ text: _text, arguments: { shape }, ...entry }) => ({
    ...entry,
    arguments: Object.entries<z.ZodType>(shape).map(([name, schema]) => ({
      name,
      description: schema.description,
      required: !(schema instanceof z.ZodOptional),
    })),
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
  const read = readInput(prompt.arguments, sent);
  if ('faults' in read) {
    const errors = read.faults.map(({ pointer, ...fault }) => ({
      pointer: `/params/arguments${pointer}`,
      ...fault,
    }));
    return mcpFaultOf(refuse('parameter_invalid', 'The params are not valid.', { errors }), {
      status: 200,
    });
  }
  const { description, text } = prompt;
  const messages = [{ role: 'user', content: { type: 'text', text: text(read.value) } }];
  return { ok: true, result: JSON.stringify(resultOf(era, { description, messages })) };
};
