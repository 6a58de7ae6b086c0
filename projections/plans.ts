/** Adds the plan of staff to the rows of another read model. */
import { PLAN_EVENTS, type PlanEventType } from '#contracts/registries/events.ts';
import { foldSummary } from '#src/plans/plan.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import { listOfPerson, type PlannedRow, WITH_NEXT_STEP } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

const IS_PLAN: ReadonlySet<string> = new Set(PLAN_EVENTS);
const planned = (event: FoldEvent) =>
  IS_PLAN.has(event.type) ? typedEvent<PlanEventType>(event) : undefined;

/**
 * Adds what staff plan to each row of a list over all owners, and lists by the person that a record is assigned to and of
 * the records with a next step. `prefix` begins the ids of its records, which are the keys of its rows.
 */
export const withPlan = <R extends PlannedRow>(
  projection: Projection<R>,
  { scope, prefix }: { scope: string; prefix: string },
): Projection<R> => ({
  ...projection,
  handles: [...projection.handles, ...PLAN_EVENTS],
  place(event) {
    const plan = planned(event);
    if (!plan) return projection.place(event);
    const { record } = plan.data;
    return record.startsWith(prefix) ? { scope, key: record } : undefined;
  },
  evolve(row, event, others) {
    const plan = planned(event);
    // Staff can plan for a record that has left the list.
    if (plan) return row ? { ...row, plan: foldSummary(row.plan ?? {}, plan) } : null;
    const next = projection.evolve(row, event, others);
    return next && row?.plan ? { ...next, plan: row.plan } : next;
  },
  lists(row) {
    const lists = projection.lists?.(row) ?? [];
    const { assigned_to, due_at } = row.plan ?? {};
    if (lists.length === 0) return lists;
    const more: ListEntry[] = [];
    if (assigned_to !== undefined) more.push([listOfPerson(assigned_to), row.sort]);
    if (due_at !== undefined) more.push([WITH_NEXT_STEP, row.sort]);
    return [...lists, ...more];
  },
});
