/** The operation that reports performance. */
import { z } from 'zod';
import { deskQuery } from '#contracts/desk-operation.ts';
import { performanceExample } from '#contracts/examples/records.ts';
import {
  asOf,
  campaign,
  category,
  cursor,
  date,
  handoffId,
  id,
  line,
  linkId,
  list,
  ownerSpace,
  page,
  productId,
  unstored,
  upperCase,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { channel } from '#contracts/links/records.ts';
import { defineOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import {
  COUNTRY_UNIQUES_MIN,
  DIMENSIONS,
  GRANULARITIES,
  METRICS,
  metricNames,
  OTHER_COUNTRIES,
  PRODUCT_OF,
  reportRow,
  shownMetrics,
  VISITOR_BURST_SECONDS,
} from './records.ts';

/** The numbers that count so by product, as text. */
const named = (kind: (typeof PRODUCT_OF)[keyof typeof PRODUCT_OF]): string =>
  new Intl.ListFormat('en').format(
    Object.entries(PRODUCT_OF).flatMap(([name, one]) => (one === kind ? [name] : [])),
  );

const PERFORMANCE_TYPES = ['text/csv', 'application/x-ndjson'] as const;

/** A country as rows name it. Any two letters: a proxy may name a country that is not in the list. */
const countryShown = z
  .string()
  .overwrite((text) => (text === OTHER_COUNTRIES ? text : upperCase(text)))
  .regex(new RegExp(`^(?:[A-Z]{2}|${OTHER_COUNTRIES})$`), {
    error: `must be an ISO 3166-1 alpha-2 code, or ${OTHER_COUNTRIES}`,
  })
  .describe(`ISO 3166-1 alpha-2 code, or ${OTHER_COUNTRIES}`);

/** Guidance only for HTTP: tools do not answer files. */
export const OF_FILES =
  ' Send Accept: text/csv or application/x-ndjson for a file: it has all rows, at most ' +
  `${LIMITS.PERFORMANCE_FILE_ROWS_MAX}, unless limit or cursor asks for a page; the Link header of a page names ` +
  'the next one. In CSV, amounts are decimals, as 8772.63 GBP, and amounts of several currencies are separated by |.';
export const OF_FILE_LIMIT = '; a file has all rows unless limit or cursor is sent';

export const getPerformance = defineOperation({
  kind: 'query',
  recordsAnswers: true,
  scope: 'performance:read',
  http: { method: 'GET', path: '/performance', status: 200 },
  summary: "Read the owner's performance by day, week or month",
  guidance:
    'clicks_raw counts every request; clicks_valid excludes bots, previews, prefetches, embedded requests and ' +
    'HEAD; clicks_unique counts each visitor once per link and UTC day: an address and a user agent, and one for clicks ' +
    `of one network address that follow each other within ${VISITOR_BURST_SECONDS} s. clicks_surplus are those of clicks_raw beyond ` +
    `${LIMITS.ADDRESS_VISITS_PER_MINUTE} a minute of one network address to one link; they have no country and are ` +
    'counted within two minutes. rfqs_submitted counts RFQs that their buyers confirmed by mail, and those that staff ' +
    'confirmed, which rfqs_confirmed_by_staff also counts; rfqs_unconfirmed those sent and not confirmed. ' +
    'A confirmed mailbox proves no buyer, so rfqs_taken_up, rfq_lines and rfq_value count from the moment when staff take the ' +
    `RFQ up. By product_id and category, ${named('line')} count for each line's own, and charges for null; ` +
    `${named('each')} count an RFQ once for each product and category that it has, so these rows do not add up to ` +
    'totals; all other numbers, and all other dimensions, are those of the source.' +
    OF_FILES +
    ` Countries with fewer than ${COUNTRY_UNIQUES_MIN} unique clicks, in the requested period and with the ` +
    `requested filters, are counted together as ${OTHER_COUNTRIES} in every row; a filter on such a country finds ` +
    'no clicks. as_of=<position> answers with the log as it was at that position: send as_of.position of the first ' +
    'answer, and neither pages nor totals change while visits are recorded.',
  brief:
    'clicks_valid excludes bots and previews; clicks_unique counts each visitor once per link and UTC day. Countries ' +
    `with fewer than ${COUNTRY_UNIQUES_MIN} unique clicks are counted as ${OTHER_COUNTRIES}. For pages that do not ` +
    'change, send as_of.position of the first answer as as_of. A page ends at limit or at ' +
    `${LIMITS.TOOL_RESULT_BYTES_MAX / 1_024} KiB of text; rows_left says how many rows of it are left.`,
  next: 'createLink for products that perform well.',
  input: z.strictObject({
    from: date.optional().describe('First day, in time_zone; default: 29 days before to'),
    to: date.optional().describe('Last day, inclusive; default: today'),
    granularity: z.enum(GRANULARITIES).default('day').describe('Period of a row'),
    time_zone: line(64).default('UTC').describe('IANA name, for example Europe/London'),
    group_by: list(z.enum(DIMENSIONS).meta({ id: 'Dimension' }), LIMITS.PERFORMANCE_GROUPS_MAX)
      .meta({ uniqueItems: true })
      .optional()
      .describe('Up to two fields; each combination of their values has its own rows'),
    compare_to: z
      .enum(['previous_period', 'previous_year'])
      .optional()
      .describe('The preceding period of equal length, or the same dates one year earlier'),
    metrics: list(z.enum(metricNames).meta({ id: 'Metric' }), metricNames.length)
      .meta({ uniqueItems: true })
      .optional()
      .describe('Only these numbers'),
    zeros: z
      .enum(['show', 'omit'])
      .default('show')
      .describe('omit: leaves out numbers that are 0, and empty lists'),
    link_id: linkId.optional(),
    campaign: unstored
      .identifier(64)
      .optional()
      .describe(campaign.description ?? ''),
    channel: channel.optional(),
    product_id: productId.optional(),
    category: category.optional(),
    country: countryShown.optional(),
    agent_id: id('agt').optional().describe("Id of one of the owner's agents"),
    handoff_id: handoffId.optional(),
    client: unstored.identifier(64).optional().describe('Name of the assistant, or other'),
    names: z.int().min(0).max(1).optional().describe('1: names beside ids'),
    include: z
      .enum(['empty'])
      .optional()
      .describe('Also rows of links or campaigns without events, if they are grouped'),
    as_of: z
      .int()
      .min(0)
      .optional()
      .describe('A log position, for example as_of.position of an earlier answer'),
    limit: z
      .int()
      .min(1)
      .max(LIMITS.PERFORMANCE_PAGE_ROWS_MAX)
      .optional()
      .describe(`Rows per page; default ${LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT}${OF_FILE_LIMIT}`),
    cursor: cursor.optional(),
  }),
  output: z.object({
    data: z.array(reportRow),
    totals: shownMetrics,
    comparison_totals: shownMetrics.optional(),
    period: z.object({
      from: date,
      to: date,
      granularity: z.enum(GRANULARITIES),
      time_zone: z.string(),
    }),
    comparison_period: z.object({ from: date, to: date }).optional(),
    page,
    as_of: asOf,
    classifier_version: z
      .int()
      .describe(
        'Version of the rules for clicks_valid and clicks_unique. 2 since 2026-11-28: clicks that were recorded before, and ' +
          'are close together, are several visitors if their user agents differ',
      ),
  }),
  problems: ['scope_missing', 'parameter_invalid', 'answer_too_large', ...PAGE_PROBLEMS],
  alsoAs: PERFORMANCE_TYPES,
  examples: [
    {
      name: `a day (at most ${LIMITS.PERFORMANCE_DAYS_MAX} days in one call)`,
      input: { from: '2026-11-20', to: '2026-11-20', granularity: 'day' },
      output: performanceExample,
    },
  ],
});

const { as_of: _position, ...counted } = getPerformance.input.shape;

const showPerformance = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/performance',
  summary: "Show an owner's performance by day, week or month",
  guidance:
    'Has the fields and the rules of getPerformance, and counts from the same read models. auditPerformance counts from ' +
    'the log itself, also at an earlier moment.',
  problems: [
    'role_missing',
    'parameter_invalid',
    'resource_not_found',
    'cursor_invalid',
    'cursor_expired',
    'read_model_rebuilding',
  ],
  fields: {
    owner_id: ownerSpace,
    ...counted,
    order_by: z
      .enum(METRICS)
      .optional()
      .describe('Rows with the most of this number first; there is no further page then'),
  },
  output: getPerformance.output,
  example: {
    name: 'a day',
    input: { owner_id: 'acme', from: '2026-11-20', to: '2026-11-20' },
    output: performanceExample,
  },
});

export const performanceDeskOperations = { showPerformance };
