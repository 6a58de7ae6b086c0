/** Which numbers of an owner an event changes. */
import type { EventData, EventType } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { PerformanceTail } from '#src/ports/performance-rows.ts';
import { typedEvent } from '../projection.ts';

/** Indexes of the metrics that a fact can count. Equal to the order of METRICS. */
export const METRIC = {
  clicks_raw: 0,
  clicks_valid: 1,
  clicks_unique: 2,
  handoffs_created: 3,
  handoffs_opened: 4,
  handoffs_declined: 5,
  rfqs_submitted: 6,
  leads_submitted: 7,
  leads_accepted: 8,
  leads_qualified: 9,
  leads_won: 10,
  clicks_surplus: 11,
  lists_created: 12,
  rfqs_won: 13,
  rfqs_unconfirmed: 14,
  rfqs_confirmed_by_staff: 15,
} as const;

export const COUNTED_TYPES = {
  VisitRecorded: METRIC.clicks_raw,
  HandoffCreated: METRIC.handoffs_created,
  HandoffOpenedByBuyer: METRIC.handoffs_opened,
  HandoffDeclinedByBuyer: METRIC.handoffs_declined,
  RfqSubmittedByBuyer: METRIC.rfqs_submitted,
  RfqConfirmedByBuyer: METRIC.rfqs_submitted,
  RfqConfirmedByStaff: METRIC.rfqs_submitted,
  LeadSubmitted: METRIC.leads_submitted,
  LeadAccepted: METRIC.leads_accepted,
  LeadQualified: METRIC.leads_qualified,
  LeadWon: METRIC.leads_won,
  VisitsSummed: METRIC.clicks_surplus,
  BuyerListCreated: METRIC.lists_created,
  RfqWon: METRIC.rfqs_won,
  RfqOutcomeCorrected: METRIC.rfqs_won,
  LeadOutcomeCorrected: METRIC.leads_won,
} as const satisfies Partial<Record<EventType, number>>;

export type CountedType = keyof typeof COUNTED_TYPES;
/** What an event counts, and when, in epoch milliseconds. */
export type NumberChange = { at: number; metric: number; detail: PerformanceTail['facts'][number] };

/**
 * Whether the event counts: another lead can count for the same RFQ, a correction can concern losses only, and an RFQ that
 * is sent again unconfirmed counts already.
 */
export const changesNumbers = (event: FoldEvent): boolean => {
  const { type, data } = typedEvent<CountedType>(event);
  if ('uncounted' in data && data.uncounted) return false;
  if (type === 'RfqSubmittedByBuyer') return data.confirmation?.first_at === undefined;
  return type === 'RfqOutcomeCorrected' || type === 'LeadOutcomeCorrected'
    ? data.from.state === 'won' || data.to.state === 'won'
    : true;
};

/** What an event counts; `clickOf` names the metric of a visit. */
export const numbersOf = (
  event: FoldEvent,
  clickOf: (visit: EventData<'VisitRecorded'>) => number,
): NumberChange[] => {
  const { type, data, at } = typedEvent<CountedType>(event);
  const metric = COUNTED_TYPES[type];
  const one = (detail: NumberChange['detail'], of: number = metric, when = at): NumberChange[] => [
    { at: when, metric: of, detail },
  ];
  switch (type) {
    case 'VisitRecorded':
      return one(data.country ?? '', clickOf(data));
    case 'VisitsSummed':
      return one(data.visits);
    case 'RfqSubmittedByBuyer':
      return data.confirmation ? one(0, METRIC.rfqs_unconfirmed) : one(moneyOf(data.totals));
    case 'RfqConfirmedByBuyer':
    case 'RfqConfirmedByStaff':
      return [
        // It is not unconfirmed any more, so the number of the day on which it was sent changes.
        ...one(-1, METRIC.rfqs_unconfirmed, data.submitted_at),
        ...one(moneyOf(data.totals)),
        ...(type === 'RfqConfirmedByStaff' ? one(0, METRIC.rfqs_confirmed_by_staff) : []),
      ];
    case 'RfqWon':
      return one(moneyOf(data.values));
    case 'LeadWon':
      return one(data.value ? moneyOf([data.value]) : 0);
    case 'RfqOutcomeCorrected':
      return one(differenceOf(data.from, data.to), metric, data.outcome_at);
    case 'LeadOutcomeCorrected':
      return one(differenceOf(wonOf(data.from), wonOf(data.to)), metric, data.outcome_at);
    default:
      return one(0);
  }
};

type Amounts = readonly { amount: number; currency: string }[];

const moneyOf = (amounts: Amounts): (number | string)[] =>
  amounts.flatMap(({ amount, currency }) => [amount, currency]);

type Outcome = { state: string; values?: Amounts | undefined };

const wonOf = ({
  state,
  value,
}: {
  state: string;
  value?: Amounts[number] | undefined;
}): Outcome => ({
  state,
  values: value && [value],
});

/** How an outcome that became another one changes the number of those won, which comes first, and their values. */
const differenceOf = (from: Outcome, to: Outcome): (number | string)[] => {
  const wonBefore = from.state === 'won' ? (from.values ?? []) : [];
  const won = to.state === 'won' ? (to.values ?? []) : [];
  return [
    Number(to.state === 'won') - Number(from.state === 'won'),
    ...moneyOf(wonBefore.map(({ amount, currency }) => ({ amount: -amount, currency }))),
    ...moneyOf(won),
  ];
};
