/** The operation that proves what a request wrote. */
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { receiptsOf, waitOf } from '#src/proof/receipts.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { findRequest } from './audit-trace.ts';
import type { AuditingDeps } from './replays.ts';

const NOT_FOUND = refuse(
  'resource_not_found',
  'No request in the log has this id. A request that wrote no event has no receipt.',
);

export const getReceipts: DeskHandler<'getReceipts', AuditingDeps> = async (
  deps,
  { request_id, owner_id },
  call,
) => {
  const found = await findRequest(deps, call, { id: request_id, owner: owner_id });
  const events = found.events.filter(({ owner }) => mayActFor(call, owner));
  if (events.length === 0) return NOT_FOUND;
  const proof = deps.proof();
  await proof.tree.advance();
  const receipts = receiptsOf(proof, events);
  return done({ request_id, receipts, retry_after_ms: waitOf(receipts) });
};
