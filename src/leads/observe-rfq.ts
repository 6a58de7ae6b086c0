/** Records the RFQ of a handoff, and its outcome, on the leads that name the handoff. */
import type { Lead } from '#contracts/leads/records.ts';
import { OPEN_LEAD_STATES } from '#contracts/moves.ts';
import { type RfqOutcomeForLead, type LeadState, lead, stateAt } from './lead.decider.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { isRfqOutcome, rfqForAgents, type RfqProgress } from '#src/handoffs/rfq.decider.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import {
  decideAndAppend,
  issue,
  type Written,
  releaseAfterWrite,
} from '#src/writing/decide-and-append.ts';
import { refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { handoffOf, leadOf, streamOf } from '#src/writing/streams.ts';
import { releaseClaim } from './claim-contact.ts';

type Rfq = NonNullable<HandoffState['rfq']>;
type ObservingDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets' | 'vault'>;

const outcomeFor = (leadId: string, { state, counted_lead }: Rfq): RfqOutcomeForLead => {
  if (state === 'won') return { state, isCounted: counted_lead === leadId };
  return state === 'lost' || state === 'withdrawn'
    ? { state: 'lost', reason: state }
    : { state: 'open' };
};

const NO_RFQ = refuse('state_conflict', 'The lead has no confirmed RFQ.');

/**
 * Records the RFQ of the buyer, and its outcome, on the lead that names the handoff. Called when either changes and
 * around every move of the lead by staff, so that a failure between the two streams loses nothing. Resolves to undefined
 * if there is nothing to record.
 */
export const observeRfq = async (
  deps: ObservingDeps,
  call: Call,
  leadId: string,
): Promise<Written<LeadState> | undefined> => {
  const observing = { ...unkeyed(call), operation: 'observeRfq' };
  const written = await decideAndAppend(deps, observing, {
    stream: streamOf(call.ownerId, 'lead', leadId),
    decider: lead,
    async command(state) {
      const id = state?.handoff_id;
      const list = id === undefined ? undefined : await handoffOf(deps, call.ownerId, id);
      if (!list?.rfq || list.rfq.confirmation) return NO_RFQ;
      // The claim must have been valid when the buyer sent the RFQ, not when it is recorded.
      const at = list.rfq.submitted_at;
      return issue({ type: 'ObserveRfq' as const, at, outcome: outcomeFor(leadId, list.rfq) });
    },
  });
  if (!written.ok || written.position === undefined) return undefined;
  if (written.state.state === 'lost')
    await releaseAfterWrite(() => releaseClaim(deps, call, written.state));
  return written;
};

type TiedLeads = Pick<Deps, 'readModels'>;
type ReadingTied = TiedLeads & { log: Pick<EventLog, 'readStream'> };

const leadsOf = async (
  { readModels }: TiedLeads,
  ownerId: string,
  handoffId: string,
): Promise<string[]> =>
  (await readModels.get<HandoffLeadsRow>('handoff-leads', ownerId, handoffId))?.leads ?? [];

/**
 * Records the RFQ and its outcome on the leads of a handoff. A lead that is missed, because the read models lag, a store
 * fails or the process dies, records it when the command is repeated, or when staff move the lead.
 */
export const informLeads = async (
  deps: ObservingDeps & TiedLeads,
  call: Call,
  handoffId: string,
): Promise<void> => {
  try {
    for (const leadId of await leadsOf(deps, call.ownerId, handoffId))
      await observeRfq(deps, call, leadId);
  } catch {
    // The change of the RFQ is stored, so the caller must not receive an error.
  }
};

/** The leads of a handoff, in the order in which they named it. Reads the log once for each. */
export const readTiedLeads = async (
  deps: ReadingTied,
  ownerId: string,
  handoffId: string,
): Promise<LeadState[]> => {
  const ids = await leadsOf(deps, ownerId, handoffId);
  const states = await Promise.all(ids.map((id) => leadOf(deps, ownerId, id)));
  return states.filter((state) => state !== undefined);
};

const COUNTABLE: readonly string[] = OPEN_LEAD_STATES;

/** The first lead that the RFQ can win, which is the only one that counts. */
export const countedLead = (leads: readonly LeadState[], sentAt: number): string | undefined =>
  leads.find((one) => one.from_rfq ?? COUNTABLE.includes(stateAt(one, sentAt)))?.lead_id;

/** The lead that was won by itself; its handoff's RFQ has its outcome. */
export const leadWonAlone = (leads: readonly LeadState[]): LeadState | undefined =>
  leads.find(({ state, from_rfq }) => state === 'won' && !from_rfq);

/** The RFQ with the outcome of its handoff's lead that was won by itself, if there is one. */
export const withLeadOutcome = <Rfq extends RfqProgress>(
  rfq: Rfq,
  leads: readonly LeadState[],
): Rfq => {
  const won = leadWonAlone(leads);
  return won ? { ...rfq, state: 'won', values: won.value && [won.value] } : rfq;
};

/** The handoff as agents see it: with the outcome of a lead that was won by itself. */
export const handoffWithOutcome = async (
  deps: ReadingTied,
  ownerId: string,
  state: HandoffState,
): Promise<HandoffState> => {
  const { rfq, handoff_id } = state;
  if (!rfq || isRfqOutcome(rfq.state)) return state;
  return { ...state, rfq: withLeadOutcome(rfq, await readTiedLeads(deps, ownerId, handoff_id)) };
};

type ReadHandoff = (handoffId: string) => Promise<HandoffState | undefined>;

/** Adds to leads, as agents see them, the RFQ of the handoff that each names. Reads each handoff once. */
export const withRfqs = async (
  deps: ReadingTied,
  { ownerId, at, read }: { ownerId: string; at: number; read: ReadHandoff },
  { states, leads }: { states: readonly LeadState[]; leads: readonly Lead[] },
): Promise<Lead[]> => {
  const ids = new Set(states.flatMap(({ handoff_id: id }) => (id === undefined ? [] : [id])));
  const rfqs = new Map<string, Lead['rfq']>();
  for (const id of ids) {
    const state = await read(id);
    const shown = state && (await handoffWithOutcome(deps, ownerId, state));
    rfqs.set(id, rfqForAgents(shown?.rfq, at));
  }
  return leads.map((lead, index) => ({
    ...lead,
    ...present({ rfq: rfqs.get(states[index]?.handoff_id ?? '') }),
  }));
};
