import { ALL_RFQS, type RfqRow } from '#src/ports/rows.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { readInbox } from '../read-models/inbox.ts';
import { iso, renderAsOf } from '../shared/time.ts';

const NO_CURRENCY = refuse('parameter_invalid', 'An amount can be compared in one currency only.', {
  errors: [{ pointer: '/currency', code: 'required', detail: 'is required with min_amount' }],
});

export const listRfqs: DeskHandler<'listRfqs'> = async (deps, input, call) => {
  const { currency, min_amount: least = 0 } = input;
  if (currency === undefined && input.min_amount !== undefined) return NO_CURRENCY;
  const { rows, ...next } = await readInbox<RfqRow>(deps.readModels, call, {
    name: 'rfqs',
    scope: ALL_RFQS,
    input,
    agentOf: ({ agent_id }) => agent_id,
    beganAt: ({ submitted_at }) => submitted_at,
    isMatch: ({ totals }) =>
      currency === undefined ||
      totals.some((total) => total.currency === currency && total.amount >= least),
  });
  const data = rows.map(({ owner, handoff_id, agent_id, submitted_at, totals }) => ({
    handoff_id,
    owner_id: owner,
    agent_id,
    submitted_at: iso(submitted_at),
    indicative_totals: totals,
  }));
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
