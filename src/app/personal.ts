/** Personal data is opened before a record is rendered: all that an answer needs, in one wait. */
import type { Handoff } from '#contracts/records/handoff.ts';
import type { Lead } from '#contracts/records/lead.ts';
import type { HandoffState } from '#src/domain/handoff.ts';
import type { LeadState } from '#src/domain/lead.ts';
import type { KeyVault } from '#src/ports/system.ts';
import type { Deps } from './deps.ts';
import type { Opened } from './render.ts';
import { renderHandoff, renderLead } from './render.ts';
import { reviewTokenOf } from './review-token.ts';

/** For a record of which nothing personal is shown. */
export const UNOPENED: Opened = () => null;

/** An empty text is what an erasure leaves in a state, and no vault's. */
const opened = async (vault: KeyVault, sealed: readonly string[]): Promise<Opened> => {
  const asked = sealed.filter((text) => text !== '');
  if (asked.length === 0) return UNOPENED;
  const plain = await vault.unseal(asked);
  const known = new Map(asked.map((text, index) => [text, plain[index] ?? null]));
  return (text) => known.get(text) ?? null;
};

const sealedIn = ({ contact = '', interest }: LeadState): string[] => [
  contact,
  interest?.note ?? '',
];

/** A page of leads, as the contract shows them. */
export const showLeads = async (
  { vault }: Pick<Deps, 'vault'>,
  ownerId: string,
  states: readonly LeadState[],
  at: number,
): Promise<Lead[]> => {
  const plain = await opened(vault, states.flatMap(sealedIn));
  return states.map((state) => renderLead(ownerId, state, at, plain));
};

export const showLead = async (
  { vault }: Pick<Deps, 'vault'>,
  ownerId: string,
  state: LeadState,
  at: number,
): Promise<Lead> => renderLead(ownerId, state, at, await opened(vault, sealedIn(state)));

/** With the link for its buyer. */
export const showHandoff = async (
  { vault, secrets }: Pick<Deps, 'vault' | 'secrets'>,
  ownerId: string,
  state: HandoffState,
  at: number,
): Promise<Handoff> =>
  renderHandoff(ownerId, state, at, {
    opened: await opened(vault, [state.erased ? '' : (state.buyer.email ?? '')]),
    reviewToken: (handoffId) => reviewTokenOf(secrets, handoffId),
  });

/** One sealed text; null when it was erased. */
export const openOne = async (vault: KeyVault, sealed: string): Promise<string | null> =>
  (await opened(vault, [sealed]))(sealed);
