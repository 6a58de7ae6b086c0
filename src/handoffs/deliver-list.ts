/** Proposes that the service mails the review link of a handoff to its buyer, so that no agent gets the link. */
import { hash } from 'node:crypto';
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import { allows } from '#contracts/scopes.ts';
import type { Deps, InputOf } from '#src/calls/handlers.ts';
import { claimOn } from '#src/leads/claim-contact.ts';
import { type LeadState, stateAt } from '#src/leads/lead.decider.ts';
import { isUndispatched, outbound, statusAt } from '#src/outreach/outbound.decider.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { suppressionInLog } from '#src/sealing/suppression.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import type { OutreachState } from '#src/sending/settings.decider.ts';
import { findApprovers, readSettings } from '#src/sending/settings.ts';
import { type AgentCall, type Call, unkeyed } from '#src/shared/call.ts';
import { canonicalJson, present } from '#src/shared/json.ts';
import { writerOf } from '#src/shared/money.ts';
import { type Refusal, refuse, refuseField, scopeMissing } from '#src/shared/outcome.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { foldOf, leadOf, streamOf } from '#src/writing/streams.ts';
import { countedDeliveries } from './delivery.decider.ts';
import { type HandoffState, isOpen } from './handoff.decider.ts';
import { deliveryLetter } from './letters.ts';
import { deliveryIdOf } from './render-handoff.ts';

type Created = EventData<'HandoffCreated'>;
type Proposed = EventData<'OutboundProposed'>;

/** SHA-256 of the list that a delivery is approved for. It covers no personal data. */
export const listHash = ({ lines, totals }: Pick<HandoffState, 'lines' | 'totals'>): string =>
  hash('sha256', canonicalJson({ lines, totals }), 'hex');

/** Refuses a delivery that this call cannot propose; otherwise the settings that decide who approves it. */
export const findDeliverer = (
  deps: Pick<Deps, 'log'>,
  { buyer }: Pick<InputOf<'createHandoff'>, 'buyer'>,
  { caller, operation, ownerId }: AgentCall,
): ReturnType<typeof findApprovers> | Refusal => {
  if (!allows('messages:write', caller.scopes))
    return scopeMissing(`${operation} with deliver`, 'messages:write', caller);
  return buyer.email === undefined
    ? refuseField('/buyer/email', 'required', 'is required with deliver: the link is mailed there')
    : findApprovers(deps, ownerId);
};

type Approvers = {
  own: Pick<OutreachState, 'automatic_per_day'> & Required<Pick<OutreachState, 'settings'>>;
};

type DeliveredList = Pick<
  HandoffState,
  'handoff_id' | 'agent_id' | 'lines' | 'totals' | 'expires_at' | 'locale' | 'buyer'
>;

/** Makes the letter that people decide on, for the list as it is. */
const proposalFor = (
  { house }: Pick<Deps, 'house'>,
  { ownerId, at }: Call,
  list: DeliveredList,
  { revision, approval }: Pick<Proposed, 'revision' | 'approval'>,
): Proposed => {
  const { handoff_id, agent_id, lines, totals, expires_at } = list;
  const proposed = {
    outbound_id: deliveryIdOf(handoff_id),
    agent_id,
    kind: 'handoff_delivery' as const,
    target: { handoff_id, list_sha256: listHash(list) },
    content: {
      ...deliveryLetter(
        { lines: lines.length, totals, until: expires_at, locale: writerOf(list).locale },
        house,
      ),
      link_ids: [],
    },
    schedule: { not_after: Math.min(expires_at, at + LIMITS.OUTREACH_DAYS_DEFAULT * DAY_MS) },
    via: { adapter: 'mail' as const },
    revision,
  };
  const content_sha256 = envelopeHash(envelopeOf(ownerId, proposed));
  return { ...proposed, content_sha256, approval };
};

const BEING_SENT = refuse(
  'state_conflict',
  'The letter with this list is being sent. Make another list, or ask staff to withdraw this one.',
);

/**
 * Makes the append that proposes the waiting delivery of a list again, as the list will be: who approved it approved the
 * former one. None if no delivery waits.
 */
export const reviseDelivery = async (
  deps: Deps,
  call: AgentCall,
  { list, isDelivered }: { list: DeliveredList; isDelivered: boolean },
): Promise<Append[] | Refusal> => {
  if (!isDelivered) return [];
  const stream = streamOf(call.ownerId, 'outbound', deliveryIdOf(list.handoff_id));
  const stored = await deps.log.readStream(stream);
  const state = foldOf(outbound, stored);
  const status = state && statusAt(state, call.at);
  if (status === 'dispatched') return BEING_SENT;
  if (!state || !status || !isUndispatched(status)) return [];
  const { revision, approval } = state;
  const { mode } = approval;
  const required = approval.automatic
    ? ((await readSettings(deps, call.ownerId))?.settings?.approvals_required ?? 1)
    : approval.required;
  const proposal = proposalFor(deps, call, list, {
    revision: revision + 1,
    approval: { mode, required },
  });
  const decision = outbound.decide(state, { type: 'Revise', at: call.at, proposal });
  if (!decision.accepted) throw new Error(`a delivery was not revised: ${decision.detail}`);
  const events = attribute(unkeyed(call), decision.events, deps.ids);
  return [{ stream, expected: stored.length - 1, events }];
};

/** Makes the append of the proposal, which belongs to the append of the handoff. */
export const proposeDelivery = async (
  deps: Deps,
  call: AgentCall,
  { handoff, email, own }: { handoff: Created; email: string } & Approvers,
): Promise<Append[]> => {
  const outbound_id = deliveryIdOf(handoff.handoff_id);
  const { mode, approvals_required: required } = own.settings;
  const automatic = await automaticFor(deps, call, { email, own, outbound_id });
  const approval = automatic ? { mode, required: 0, automatic } : { mode, required };
  const proposal = proposalFor(deps, call, handoff, { revision: 1, approval });
  const decision = outbound.decide(undefined, { type: 'Propose', proposal });
  if (!decision.accepted) throw new Error(`a delivery was rejected: ${decision.detail}`);
  const stream = streamOf(call.ownerId, 'outbound', outbound_id);
  const events = attribute(unkeyed(call), decision.events, deps.ids);
  return [{ stream, expected: NO_STREAM, events }];
};

/** The states of a lead that staff have accepted. */
const ACCEPTED: readonly string[] = ['accepted', 'contacted', 'qualified', 'won'];

const isConsented = (lead: LeadState | undefined, at: number): boolean =>
  lead?.consent?.basis === 'consent' && !lead.erased && ACCEPTED.includes(stateAt(lead, at));

/** The accepted lead with consent that makes deliveries automatic; undefined if people approve them. The limit of the day is apart. */
const consentingLead = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  call: Call,
  { own, email }: { email: string } & Approvers,
): Promise<string | undefined> => {
  if (own.settings.mode !== 'owner_controlled' || !own.automatic_per_day) return undefined;
  const claim = await claimOn(deps, call, email);
  if (claim?.owner_id !== call.ownerId) return undefined;
  const lead = await leadOf(deps, call.ownerId, claim.lead_id);
  return isConsented(lead, call.at) ? claim.lead_id : undefined;
};

const automaticFor = async (
  deps: Deps,
  call: AgentCall,
  { own, email, outbound_id }: { email: string; outbound_id: string } & Approvers,
): Promise<Proposed['approval']['automatic']> => {
  const lead_id = await consentingLead(deps, call, { own, email });
  if (lead_id === undefined) return undefined;
  const counted = await decideAndAppend(deps, unkeyed(call), {
    stream: `${call.ownerId}-deliveries_${iso(call.at).slice(0, 10).replaceAll('-', '')}`,
    decider: countedDeliveries,
    command: () =>
      issue({
        type: 'CountDelivery' as const,
        outboundId: outbound_id,
        max: own.automatic_per_day ?? 0,
      }),
  });
  // Beyond the limit, and while the count cannot be stored, people decide.
  return counted.ok ? { lead_id } : undefined;
};

/** Why a delivery must not be made now; a code of this service. */
export type DeliveryFault =
  | 'list_closed'
  | 'list_changed'
  | 'erased'
  | 'key_unavailable'
  | 'contact_refused'
  | 'not_automatic';

type Delivered = {
  state: HandoffState | undefined;
  listSha256: string | undefined;
  automatic: Proposed['approval']['automatic'];
  own: OutreachState | undefined;
};

/** Looks whether the letter may be sent now: its mailbox, or why not. */
export const findRecipient = async (
  deps: Pick<Deps, 'log' | 'secrets' | 'vault'>,
  call: Call,
  { state, listSha256, automatic, own }: Delivered,
): Promise<{ to: string } | { fault: DeliveryFault }> => {
  if (!state || state.erased || state.buyer.email === undefined) return { fault: 'erased' };
  if (!isOpen(state, call.at)) return { fault: 'list_closed' };
  if (listHash(state) !== listSha256) return { fault: 'list_changed' };
  const to = await openOne(deps.vault, state.buyer.email);
  if (to === null) return { fault: 'erased' };
  if (typeof to !== 'string') return { fault: 'key_unavailable' };
  if ((await suppressionInLog(deps)(call.ownerId, to)) !== undefined)
    return { fault: 'contact_refused' };
  if (!automatic) return { to };
  const approvers = own?.settings && { own: { ...own, settings: own.settings } };
  const lead = approvers && (await consentingLead(deps, call, { ...approvers, email: to }));
  return lead === automatic.lead_id ? { to } : { fault: 'not_automatic' };
};

/** The list and the recipient as the people who decide see them. */
export const factsOfDelivery = (state: HandoffState, to: string) => ({
  recipient: to,
  title: state.title,
  ...present({ note_to_buyer: state.note_to_buyer }),
  lines: state.lines.length,
  indicative_totals: state.totals,
});
