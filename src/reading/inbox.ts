/** Lists at the desk: the rows of one owner, and what waits for staff over all owners. */
import type { ReadModels, Row } from '#src/ports/read-model.ts';
import { listBy, listOfPerson, type PlannedRow, WITH_NEXT_STEP } from '#src/ports/rows.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { type DeskInput, mayActFor, NO_OWNER, soleOwner } from '#src/calls/desk-handler.ts';
import { epoch, renderAsOf } from '#src/shared/time.ts';
import { type ListRange, pageOfScan, ROWS_READ_MAX, scanLists, pageOf } from './lists.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { done, type Outcome } from '#src/shared/outcome.ts';

/** The fields that every list over all owners has. */
export type InboxInput = Omit<DeskInput<'listAccessRequests'>, 'state'>;

export type InboxRow = Row & PlannedRow & { owner: string };

export const maySeePlans = ({ caller }: DeskCall): boolean =>
  caller.roles.has('staff') || caller.roles.has('auditor');

/** Whether the filters by plan match the row. */
const isPlanned = (call: DeskCall, { assigned_to, due_by }: InboxInput, { plan }: PlannedRow) => {
  if (assigned_to === undefined && due_by === undefined) return true;
  const { due_at = Infinity } = plan ?? {};
  return (
    maySeePlans(call) &&
    (assigned_to === undefined || plan?.assigned_to === assigned_to) &&
    (due_by === undefined || due_at <= epoch(due_by))
  );
};

/** The shortest list that contains all rows that the input selects, of those that every kind of record has. */
const listOf = (
  { agent_id: agent, assigned_to, due_by }: InboxInput,
  owner: string | undefined,
): string | undefined => {
  if (assigned_to !== undefined) return listOfPerson(assigned_to);
  if (agent !== undefined) return listBy({ agent });
  if (due_by !== undefined) return WITH_NEXT_STEP;
  return owner === undefined ? undefined : listBy({ owner });
};

type InboxSearch<R extends InboxRow> = {
  name: string;
  scope: string;
  input: InboxInput;
  /** The lists to read if the input names neither a person, an agent, a due time nor an owner. */
  ranges?: readonly ListRange[];
  /** The agent of a row, and when its record began, in epoch milliseconds. */
  agentOf(row: R): string;
  beganAt(row: R): number;
  /** Whether the filters of the record's kind match. */
  isMatch(row: R): boolean;
};

/** Reads a page of a list over all owners: the rows of owners for whom the caller may act. Reads at most 1,000 rows. */
export const readInbox = async <R extends InboxRow>(
  readModels: Pick<ReadModels, 'list'>,
  call: DeskCall,
  { name, scope, input, ranges = [{}], agentOf, beganAt, isMatch }: InboxSearch<R>,
): Promise<{ rows: R[]; next_before: number | null; next_after: number | null }> => {
  const { agent_id: agent, before, after, limit } = input;
  const owner = input.owner_id ?? soleOwner(call);
  const from = input.from === undefined ? -Infinity : epoch(input.from);
  const to = input.to === undefined ? Infinity : epoch(input.to);
  const list = listOf(input, owner);
  const isAscending = after !== undefined;
  const scanned = await scanLists<R>(readModels, {
    name,
    scope,
    ranges: list === undefined ? ranges : [{ list }],
    isAscending,
    after: isAscending ? after : before,
    isMatch: (row) =>
      mayActFor(call, row.owner) &&
      (input.owner_id === undefined || row.owner === input.owner_id) &&
      (agent === undefined || agentOf(row) === agent) &&
      beganAt(row) >= from &&
      beganAt(row) <= to &&
      isPlanned(call, input, row) &&
      isMatch(row),
    limit: limit + 1,
    rowsMax: ROWS_READ_MAX,
  });
  const { rows, next } = pageOfScan(scanned, limit);
  return {
    rows,
    next_before: isAscending ? null : next,
    next_after: isAscending ? next : null,
  };
};

/** Rows of one owner in one read model, and how each is rendered. */
type RowList<R extends Row, Value> = {
  name: string;
  scope: string;
  query: { owner_id: string; before?: number | undefined; limit: number };
  render: (row: R) => Value;
};

type Page<Value> = {
  data: Value[];
  next_before: number | null;
  as_of: { position: number; at: string | null };
};

/** Answers one page of an owner's rows; refuses an owner for whom the caller may not act. */
export const listRows = async <R extends Row, Value>(
  { readModels, following }: Deps,
  call: DeskCall,
  { name, scope, query, render }: RowList<R, Value>,
): Promise<Outcome<Page<Value>>> => {
  if (!mayActFor(call, query.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<R>(readModels, name, { ...query, scope });
  return done({ data: rows.map(render), next_before, as_of: renderAsOf(following.asOf()) });
};
