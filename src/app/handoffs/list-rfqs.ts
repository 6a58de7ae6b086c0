import { isRfqOutcome, rfqStateAt, type RfqProgress } from '#src/domain/outcomes/rfq-state.ts';
import { ALL_RFQS, listBy, NEEDS_APPROVAL, OPEN_RFQS, type RfqRow } from '#src/ports/rows.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { renderSummary } from '../plans/read-plan.ts';
import { readInbox } from '../read-models/inbox.ts';
import { present } from '../shared/present.ts';
import { iso, renderAsOf } from '../shared/time.ts';
import { renderQuote } from './read-rfq.ts';

const NO_CURRENCY = refuse('parameter_invalid', 'An amount can be compared in one currency only.', {
  errors: [{ pointer: '/currency', code: 'required', detail: 'is required with min_amount' }],
});

/** The list that has the RFQs of a state. No event makes a quotation expire. */
const listOf = (state: string): string =>
  state === 'open' ? OPEN_RFQS : listBy({ state: state === 'expired' ? 'quoted' : state });

export const listRfqs: DeskHandler<'listRfqs'> = async (deps, input, call) => {
  const { currency, min_amount: least = 0, state } = input;
  if (currency === undefined && input.min_amount !== undefined) return NO_CURRENCY;
  const stateOf = ({ rfq, won_by }: RfqRow<RfqProgress>) =>
    won_by ? 'won' : rfqStateAt(rfq, call.at);
  const { rows, ...next } = await readInbox<RfqRow<RfqProgress>>(deps.readModels, call, {
    name: 'rfqs',
    scope: ALL_RFQS,
    input,
    ...(input.needs_approval && { ranges: [{ list: NEEDS_APPROVAL }] }),
    ...(state !== undefined && { ranges: [{ list: listOf(state) }] }),
    agentOf: ({ agent_id }) => agent_id,
    beganAt: ({ submitted_at }) => submitted_at,
    isMatch: (row) =>
      (input.needs_approval === undefined ||
        input.needs_approval === (row.rfq.proposed !== undefined)) &&
      (state === undefined ||
        (state === 'open' ? !isRfqOutcome(stateOf(row)) : stateOf(row) === state)) &&
      (currency === undefined ||
        row.totals.some((total) => total.currency === currency && total.amount >= least)),
  });
  const data = rows.map((row) => ({
    handoff_id: row.handoff_id,
    owner_id: row.owner,
    agent_id: row.agent_id,
    submitted_at: iso(row.submitted_at),
    indicative_totals: row.totals,
    state: stateOf(row),
    ...present({
      quote: renderQuote(row.rfq),
      won_value: row.won_by?.values ?? row.rfq.values,
      needs_approval: row.rfq.proposed && (true as const),
    }),
    ...renderSummary(call, row.plan),
  }));
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
