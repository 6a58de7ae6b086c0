/** The operation that proves what a request wrote. */
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { NO_RECEIPT, receiptsOf, waitOf } from '#src/proof/receipts.ts';
import { done } from '#src/shared/outcome.ts';
import { findRequest } from './audit-trace.ts';
import type { AuditingDeps } from './replays.ts';

export const getReceipts: DeskHandler<'getReceipts', AuditingDeps> = async (
  deps,
  { request_id, owner_id },
  call,
) => {
  const found = await findRequest(deps, call, { id: request_id, owner: owner_id });
  const events = found.events.filter(({ owner }) => mayActFor(call, owner));
  if (events.length === 0) return NO_RECEIPT;
  const proof = deps.proof();
  await proof.tree.advance();
  const receipts = receiptsOf(proof, events);
  return done({ request_id, receipts, retry_after_ms: waitOf(receipts) });
};
