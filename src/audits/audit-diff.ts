/** The operation that shows what changed between two moments of an owner's history. */
import type { z } from 'zod';
import { AUDITED_KIND_NAMES, type AuditedKind } from '#contracts/audits/operations.ts';
import type { EventType } from '#contracts/registries/events.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { LIMITS } from '#contracts/limits.ts';
import { type Metric, METRICS } from '#contracts/performance/records.ts';
import { foldEventOf, type Position, type StoredEvent } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';
import { done, isRefusal, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import { AUDITED, agentNameOf } from './audited-records.ts';
import { auditedRange, type Moment, renderMoment } from './moments.ts';
import { withPeople } from '#src/access/independence.ts';
import type { Replay } from './replays.ts';
import { type AuditHandler, countReplay, type OwnerAuditDeps } from './audit-state.ts';

type Answer = z.output<DeskOperations['auditDiff']['output']>;
type Change = Answer['changes'][number];
type NumberChange = Answer['numbers'][number];

/** Who caused an event. Audit records and events of agents name the agent in their data. */
export const causeOf = ({ data, meta }: Pick<StoredEvent, 'data' | 'meta'>) => ({
  actor: meta.actor,
  ...present({ agent_id: (data as { agent_id?: string }).agent_id }),
  request_id: meta.request,
});

const KIND_OF: ReadonlyMap<string, readonly AuditedKind[]> = Map.groupBy(
  AUDITED_KIND_NAMES,
  (kind) => AUDITED[kind].readModel,
);

/** Adds the event to the fold and describes what it changed in records. */
const applyEvent = async (
  replay: Replay,
  owner: string,
  event: StoredEvent,
): Promise<Change | undefined> => {
  const folded = foldEventOf(event);
  const place = replay.placesOf(folded).find(({ readModel }) => KIND_OF.has(readModel));
  const kind =
    place && KIND_OF.get(place.readModel)?.find((one) => AUDITED[one].scope(owner) === place.scope);
  const before = place && replay.peek(place);
  // Folds may change a row in place, so its status is read before.
  const from = kind && before ? AUDITED[kind].status(before) : null;
  replay.add(folded);
  const after = place && replay.peek(place);
  return kind && after ? await describe(replay, { owner, event, kind, from, after }) : undefined;
};

const describe = async (
  replay: Replay,
  {
    owner,
    event,
    kind,
    from,
    after,
  }: { owner: string; event: StoredEvent; kind: AuditedKind; from: string | null; after: Row },
): Promise<Change> => {
  const { id, name, status, hasEnded } = AUDITED[kind];
  const to = status(after);
  const moved = hasEnded(after) ? 'ended' : 'moved';
  const cause = causeOf(event);
  return {
    position: event.position,
    at: iso(event.meta.at),
    change: from === null ? 'made' : from === to ? 'amended' : moved,
    kind,
    id: id(after),
    name: name(after),
    from,
    to,
    type: event.type,
    ...cause,
    ...present({ agent_name: await agentNameOf(replay, owner, cause.agent_id) }),
  };
};

type Counter = Metric | 'rfq_value' | 'won_value';

/** The events that each number counts. */
const COUNTED_BY: Readonly<Record<Counter, readonly EventType[]>> = {
  clicks_raw: ['VisitRecorded', 'VisitsSummed'],
  clicks_valid: ['VisitRecorded'],
  clicks_unique: ['VisitRecorded'],
  clicks_surplus: ['VisitsSummed'],
  handoffs_created: ['HandoffCreated'],
  lists_created: ['BuyerListCreated'],
  handoffs_opened: ['HandoffOpenedByBuyer'],
  handoffs_declined: ['HandoffDeclinedByBuyer'],
  rfqs_submitted: ['RfqSubmittedByBuyer', 'RfqConfirmedByBuyer', 'RfqConfirmedByStaff'],
  rfqs_unconfirmed: ['RfqSubmittedByBuyer', 'RfqConfirmedByBuyer', 'RfqConfirmedByStaff'],
  rfqs_confirmed_by_staff: ['RfqConfirmedByStaff'],
  rfqs_taken_up: ['RfqTakenUp', 'RfqOutcomeCorrected'],
  rfq_lines: ['RfqTakenUp', 'RfqOutcomeCorrected'],
  rfq_value: ['RfqTakenUp', 'RfqOutcomeCorrected'],
  leads_submitted: ['LeadSubmitted'],
  leads_accepted: ['LeadAccepted'],
  leads_qualified: ['LeadQualified'],
  leads_won: ['LeadWon', 'LeadOutcomeCorrected'],
  rfqs_won: ['RfqWon', 'RfqOutcomeCorrected'],
  won_lines: ['RfqWon', 'RfqOutcomeCorrected'],
  won_value: ['LeadWon', 'LeadOutcomeCorrected', 'RfqWon', 'RfqOutcomeCorrected'],
};
const COUNTED_TYPES: ReadonlySet<string> = new Set(Object.values(COUNTED_BY).flat());

type Range = { owner: string; from: Moment; to: Moment };

export const auditDiff: AuditHandler<'auditDiff'> = async (deps, input, call) => {
  const { owner_id: owner, after, limit } = input;
  const range = await auditedRange(deps, call, { owner, from: input.from, to: input.to });
  if (isRefusal(range)) return range;
  const { from, to } = range;
  const numbers = after === undefined ? await numberChanges(deps, { owner, from, to }) : [];
  if (isRefusal(numbers)) return numbers;
  const start = Math.max(from.position, after ?? 0);
  const page = await deps.replays.at(deps.log, { owner, position: start }, async (replay) =>
    changesIn(deps, replay, { owner, upTo: to.position, limit }),
  );
  return done({
    ...page,
    changes: await withPeople(deps, page.changes),
    numbers: await withPeople(deps, numbers),
    from: renderMoment(from),
    to: renderMoment(to),
  });
};

/** Reads at most `limit` changes after the position of the fold, and advances it to the last event that was read. */
const changesIn = async (
  { log, replays }: Pick<OwnerAuditDeps, 'log' | 'replays'>,
  replay: Replay,
  { owner, upTo, limit }: { owner: string; upTo: Position; limit: number },
): Promise<Pick<Answer, 'changes' | 'next_after'>> => {
  const changes: Change[] = [];
  for await (const page of replays.events(log, owner, { after: replay.position, upTo }))
    for (const event of page) {
      const change = await applyEvent(replay, owner, event);
      replay.position = event.position;
      if (change) changes.push(change);
      if (changes.length >= limit) return { changes, next_after: event.position };
    }
  return { changes, next_after: null };
};

/** Lists the numbers of each day that differ between two moments, counted from the log at both. */
const numberChanges = async (
  deps: OwnerAuditDeps,
  { owner, from, to }: Range,
): Promise<NumberChange[] | Refusal> => {
  type Cause = ReturnType<typeof causeOf> & Pick<StoredEvent, 'position'>;
  // An owner that is too large is refused before its events are read.
  await deps.replays.at(deps.log, { owner, position: to.position }, async () => undefined);
  const lastOfDay = new Map<number, Map<string, Cause>>();
  const countAt = (moment: Moment, days: readonly number[]) =>
    deps.replays.at(deps.log, { owner, position: moment.position }, (replay) =>
      totalsByDay(deps, replay, { owner, moment, days }),
    );
  const range = { after: from.position, upTo: to.position };
  for await (const page of deps.replays.events(deps.log, owner, range))
    for (const event of page) {
      if (!COUNTED_TYPES.has(event.type)) continue;
      // A correction counts when the outcome was that it corrects.
      const { outcome_at = event.meta.at } = event.data as { outcome_at?: number };
      const day = Math.floor(outcome_at / DAY_MS);
      const cause = { position: event.position, ...causeOf(event) };
      lastOfDay.set(day, (lastOfDay.get(day) ?? new Map<string, Cause>()).set(event.type, cause));
    }
  const days = [...lastOfDay.keys()].sort((a, b) => a - b);
  // The later one first: the pages of changes continue the fold of the earlier one.
  const after = await countAt(to, days);
  if (isRefusal(after)) return after;
  const before = await countAt(from, days);
  if (isRefusal(before)) return before;
  return days.flatMap((day) =>
    differences(before.get(day), after.get(day)).flatMap((difference) => {
      const events = COUNTED_BY[difference.metric].flatMap(
        (type) => lastOfDay.get(day)?.get(type) ?? [],
      );
      const last = events.toSorted((a, b) => b.position - a.position)[0];
      return last ? [{ day: dayText(day), ...difference, ...last }] : [];
    }),
  );
};

const dayText = (day: number): string => iso(day * DAY_MS).slice(0, 10);

type Metrics =
  Awaited<ReturnType<typeof countReplay>> extends Outcome<infer Value>
    ? Value extends { totals: infer Totals }
      ? Totals
      : never
    : never;

/** Each day's metrics, in as few questions as the limit of days in one call permits. */
const totalsByDay = async (
  deps: OwnerAuditDeps,
  replay: Replay,
  { owner, moment, days }: { owner: string; moment: Moment; days: readonly number[] },
): Promise<Map<number, Metrics> | Refusal> => {
  const totals = new Map<number, Metrics>();
  const last = days.at(-1) ?? -1;
  for (let day = days[0] ?? 0; day <= last; ) {
    const to = Math.min(last, day + LIMITS.PERFORMANCE_DAYS_MAX - 1);
    const input = { from: dayText(day), to: dayText(to), limit: LIMITS.PERFORMANCE_PAGE_ROWS_MAX };
    const counted = await countReplay(deps, replay, { owner, moment, input });
    if (!counted.ok) return counted;
    for (const { bucket_start, metrics } of counted.value.data)
      totals.set(Date.parse(bucket_start) / DAY_MS, metrics);
    day = days.find((next) => next > to) ?? last + 1;
  }
  return totals;
};

const amountOf = (amounts: Metrics['won_value'], currency: string): number =>
  amounts.find((one) => one.currency === currency)?.amount ?? 0;

/** The counters and amounts that differ. */
const differences = (
  before: Metrics | undefined,
  after: Metrics | undefined,
): (Pick<NumberChange, 'from' | 'to' | 'currency'> & { metric: Counter })[] => {
  const counters = METRICS.map((metric) => ({
    metric,
    from: before?.[metric] ?? 0,
    to: after?.[metric] ?? 0,
  }));
  const amounts = (['rfq_value', 'won_value'] as const).flatMap((metric) => {
    const [earlier, later] = [before?.[metric] ?? [], after?.[metric] ?? []];
    const currencies = new Set([...earlier, ...later].map(({ currency }) => currency));
    return [...currencies].map((currency) => ({
      metric,
      currency,
      from: amountOf(earlier, currency),
      to: amountOf(later, currency),
    }));
  });
  return [...counters, ...amounts].filter(({ from, to }) => from !== to);
};
