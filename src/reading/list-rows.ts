import type { Deps } from '#src/calls/call.ts';
import type { Row } from '#src/ports/read-model.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { done, type Outcome } from '#src/shared/outcome.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { pageOf } from './listing.ts';

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
