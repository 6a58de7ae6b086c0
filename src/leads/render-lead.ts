/** Leads as answers show them. */
import type { Lead } from '#contracts/leads/records.ts';
import { isKnownContact, type LeadState, stateAt } from './lead.decider.ts';
import type { Unsealed } from '#src/ports/system.ts';
import {
  type OpenedTexts,
  NO_TEXTS,
  openTexts,
  type OpeningVault,
  placeholderOf,
  shownText,
  WITHDRAWN,
} from '#src/sealing/sealed-texts.ts';
import type { SuppressionReader } from '#src/sealing/suppression.ts';
import { present } from '#src/shared/json.ts';
import { epoch, iso } from '#src/shared/time.ts';

const contactOf = (opened: Unsealed) => {
  if (typeof opened !== 'string') return placeholderOf(opened);
  return opened === WITHDRAWN
    ? WITHDRAWN
    : (JSON.parse(opened) as Exclude<Lead['contact'], undefined | string>);
};

/** The owner of a record, and the time at which it is shown, in epoch milliseconds. */
type View = { ownerId: string; at: number };

const renderLead = (state: LeadState, { ownerId, at }: View, opened: OpenedTexts): Lead => {
  const { consent, contact, interest, sealed_reason, state_reason } = state;
  const note = interest?.note;
  return {
    id: state.lead_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    external_id: state.external_id,
    source: state.source,
    company: state.company,
    ...(contact !== undefined && { contact: contactOf(opened(contact)) }),
    ...(consent && {
      consent: { ...consent, obtained_at: iso(epoch(consent.obtained_at)) },
    }),
    ...(interest && {
      interest: {
        ...interest,
        ...(note !== undefined && { note: shownText(opened(note)) }),
      },
    }),
    state: stateAt(state, at),
    ...present({
      state_reason: sealed_reason === undefined ? state_reason : shownText(opened(sealed_reason)),
    }),
    claim_expires_at: iso(state.claim_expires_at),
    ...present({
      outcome_value: state.value,
      metadata: state.metadata,
      warnings: state.warnings,
    }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

/** What a list shows its owner of a lead: nothing that is sealed. */
export const renderOwnerLead = (state: LeadState, view: View) => {
  const { contact, consent, interest, state_reason, metadata, ...shown } = renderLead(
    state,
    view,
    NO_TEXTS,
  );
  return shown;
};

/** What the list of open leads shows: nothing about its end. */
export const renderOpenLead = (state: LeadState, view: View) => {
  const { outcome_value, ...shown } = renderOwnerLead(state, view);
  return { ...shown, ...present({ needs_approval: state.proposed && (true as const) }) };
};

/** A move that waits for approval as the desk shows it, without its reason. */
export const renderProposal = ({
  number,
  to,
  value,
  is_correction,
}: NonNullable<LeadState['proposed']>) => ({
  number,
  to,
  ...present({ value }),
  is_correction: is_correction === true,
});

const sealedIn = ({ contact = '', interest, sealed_reason = '' }: LeadState): string[] => [
  contact,
  interest?.note ?? '',
  sealed_reason,
];

/**
 * Opens all sealed texts of leads in one call of the vault, and replaces the contacts of people who refuse contact. The
 * contact of a lead that was rejected as known stays if it came later, like that of a lead whose contact another promoter
 * has: otherwise an agent could ask who refuses contact.
 */
const openLeads = async (
  { vault, suppression }: LeadDeps,
  states: readonly LeadState[],
  ownerId: string,
): Promise<OpenedTexts> => {
  const opened = await openTexts(vault, states.flatMap(sealedIn));
  const masked = new Set<string>();
  const check = async (state: LeadState): Promise<void> => {
    const contact = contactOf(opened(state.contact ?? ''));
    if (typeof contact === 'string') return;
    const since = await suppression?.(ownerId, contact.email);
    const isLater = isKnownContact(state) && state.created_at > (since ?? 0);
    if (since !== undefined && !isLater) masked.add(state.contact ?? '');
  };
  if (suppression) await Promise.all(states.map(check));
  return (sealed) => (masked.has(sealed) ? WITHDRAWN : opened(sealed));
};

/** Without `suppression` no contact is masked: for audits and exports. */
type LeadDeps = { vault: OpeningVault; suppression?: SuppressionReader };

export const showLeads = async (
  deps: LeadDeps,
  states: readonly LeadState[],
  view: View,
): Promise<Lead[]> => {
  const opened = await openLeads(deps, states, view.ownerId);
  return states.map((state) => renderLead(state, view, opened));
};

export const showLead = async (deps: LeadDeps, state: LeadState, view: View): Promise<Lead> =>
  renderLead(state, view, await openLeads(deps, [state], view.ownerId));
