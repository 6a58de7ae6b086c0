/** Metrics and dimensions of a report. */
import { z } from 'zod';
import { money } from '#contracts/fields.ts';

export const DIMENSIONS = [
  'link_id',
  'campaign',
  'channel',
  'sub_id_1',
  'sub_id_2',
  'sub_id_3',
  'product_id',
  'category',
  'country',
  'agent_id',
  'handoff_id',
  'client',
] as const;

export type Dimension = (typeof DIMENSIONS)[number];

/** The counters, in their order in every row and in the stored cells. */
export const METRICS = [
  'clicks_raw',
  'clicks_valid',
  'clicks_unique',
  'handoffs_created',
  'handoffs_opened',
  'handoffs_declined',
  'rfqs_submitted',
  'leads_submitted',
  'leads_accepted',
  'leads_qualified',
  'leads_won',
  'clicks_surplus',
  'lists_created',
  'rfqs_won',
  'rfqs_unconfirmed',
  'rfqs_confirmed_by_staff',
  'rfqs_taken_up',
  'rfq_lines',
  'won_lines',
] as const;

export type Metric = (typeof METRICS)[number];

/** The values, which are amounts per currency. */
export const VALUES = ['rfq_value', 'won_value'] as const;

/**
 * Which `product_id` and `category` a number counts for. `source`: those of the link, or of the source of the list or lead.
 * `line`: each line of an RFQ counts for its own, and charges for none; a lead that is won without an RFQ for its source. `each`: an
 * RFQ counts once for each of its lines' products and categories. All other dimensions are those of the source.
 */
export const PRODUCT_OF = {
  clicks_raw: 'source',
  clicks_valid: 'source',
  clicks_unique: 'source',
  handoffs_created: 'source',
  handoffs_opened: 'source',
  handoffs_declined: 'source',
  rfqs_submitted: 'each',
  leads_submitted: 'source',
  leads_accepted: 'source',
  leads_qualified: 'source',
  leads_won: 'source',
  clicks_surplus: 'source',
  lists_created: 'source',
  rfqs_won: 'each',
  rfqs_unconfirmed: 'source',
  rfqs_confirmed_by_staff: 'each',
  rfqs_taken_up: 'each',
  rfq_lines: 'line',
  won_lines: 'line',
  rfq_value: 'line',
  won_value: 'line',
} as const satisfies Record<Metric | (typeof VALUES)[number], 'source' | 'line' | 'each'>;

/** The dimensions that lines have of their own. */
export const LINE_DIMENSIONS = ['product_id', 'category'] as const satisfies readonly Dimension[];

/** Whether the rows of a report by this dimension add up to its totals. */
export const addsUp = (name: keyof typeof PRODUCT_OF, dimension: Dimension): boolean =>
  PRODUCT_OF[name] !== 'each' || !(LINE_DIMENSIONS as readonly Dimension[]).includes(dimension);

/** Clicks of one network address on one link that follow each other within this time are those of one visitor. */
export const VISITOR_BURST_SECONDS = 30;

/**
 * A country with fewer unique clicks than this could identify a person. The rule applies to the whole
 * period and filters of a call, not to each row; otherwise the hidden rows could be computed as the difference
 * of sums.
 */
export const COUNTRY_UNIQUES_MIN = 3;

/** The name under which those countries are counted together, so that sums stay complete. */
export const OTHER_COUNTRIES = 'other';

/** The name under which the clients after the first PERFORMANCE_CLIENTS_MAX of an owner are counted together. */
export const OTHER_CLIENTS = 'other';

export const GRANULARITIES = ['day', 'week', 'month', 'total'] as const;

export const metrics = z.object({
  ...(Object.fromEntries(METRICS.map((name) => [name, z.int().min(0)])) as Record<
    Metric,
    z.ZodInt
  >),
  rfq_value: z
    .array(money)
    .describe(
      'Indicative totals of rfqs_taken_up, one per currency; currencies are never added up',
    ),
  won_value: z.array(money).describe('Of RFQs and leads won; set by staff'),
});

/** The numbers that a call can choose. */
export const metricNames = Object.keys(metrics.shape) as (keyof z.infer<typeof metrics>)[];

/** Those that a call chooses, without zeros if it wishes so. */
export const shownMetrics = metrics.partial();

const rowOf = <Numbers extends z.ZodObject>(numbers: Numbers) =>
  z.object({
    bucket_start: z.string().describe('First day of the bucket in the requested time zone'),
    dimensions: z
      .partialRecord(z.enum(DIMENSIONS), z.string().nullable())
      .describe(
        `Value of each field of group_by, null if there is none. A country with fewer than ` +
          `${COUNTRY_UNIQUES_MIN} unique clicks in the period is counted as ${OTHER_COUNTRIES}`,
      ),
    names: z
      .partialRecord(z.enum(DIMENSIONS), z.string())
      .optional()
      .describe('With names=1: product and campaign of a link, title of a product or handoff'),
    metrics: numbers,
    comparison: numbers
      .optional()
      .describe('Metrics of the days of the comparison period that match the days of this row'),
  });

/** A row before its numbers are chosen. */
const countedRow = rowOf(metrics);

export const reportRow = rowOf(shownMetrics).meta({ id: 'PerformanceRow' });

export type ReportRow = z.infer<typeof countedRow>;

export type ShownRow = z.infer<typeof reportRow>;
