import type { Lead } from '#contracts/records/lead.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import { stateAt } from '#src/domain/lead.ts';
import type { Unsealed } from '#src/ports/system.ts';
import type { Deps } from '../pipeline/deps.ts';
import {
  type OpenedTexts,
  NO_TEXTS,
  openTexts,
  type OpeningVault,
  placeholderOf,
  shownText,
} from '../privacy/sealed-texts.ts';
import { present } from '../shared/present.ts';
import { epoch, iso } from '../shared/time.ts';

const contactOf = (opened: Unsealed) =>
  typeof opened === 'string'
    ? (JSON.parse(opened) as Exclude<Lead['contact'], undefined>)
    : placeholderOf(opened);

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
    ...present({ outcome_value: state.value, metadata: state.metadata }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

/** What a list shows of a lead: nothing that is sealed, and nothing about its end. */
export const renderOpenLead = (state: LeadState, view: View) => {
  const { contact, consent, interest, state_reason, outcome_value, metadata, ...shown } =
    renderLead(state, view, NO_TEXTS);
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

/** Renders leads as the contract shows them; opens all their sealed texts in one call of the vault. */
export const showLeads = async (
  { vault }: Pick<Deps, 'vault'>,
  states: readonly LeadState[],
  view: View,
): Promise<Lead[]> => {
  const opened = await openTexts(vault, states.flatMap(sealedIn));
  return states.map((state) => renderLead(state, view, opened));
};

export const showLead = async (
  { vault }: { vault: OpeningVault },
  state: LeadState,
  view: View,
): Promise<Lead> => renderLead(state, view, await openTexts(vault, sealedIn(state)));
