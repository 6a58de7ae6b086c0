/** Personal data is opened before a record is rendered: all that an answer needs, in one wait. */
import type { Handoff } from '#contracts/records/handoff.ts';
import type { Lead } from '#contracts/records/lead.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import type { KeyVault, Unsealed } from '#src/ports/system.ts';
import type { Deps } from './deps.ts';
import type { Opened } from './render.ts';
import { renderHandoff, renderLead, shownText } from './render.ts';
import { reviewTokenOf } from './review-token.ts';

/** For a record of which nothing personal is shown. */
export const UNOPENED: Opened = () => null;

/** An empty text is what an erasure leaves in a state, and no vault's. */
const opened = async (vault: KeyVault, sealed: readonly string[]): Promise<Opened> => {
  const asked = sealed.filter((text) => text !== '');
  if (asked.length === 0) return UNOPENED;
  const plain = await vault.unseal(asked);
  const known = new Map(asked.map((text, index) => [text, plain[index]]));
  return (text) => (text === '' ? null : known.get(text));
};

/** Each text that is there, sealed for one subject; null when that one is erased. */
export const sealAll = async <Name extends string>(
  vault: KeyVault,
  subject: string,
  texts: Record<Name, string | undefined>,
): Promise<Partial<Record<Name, string>> | null> => {
  const said = Object.entries<string | undefined>(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, text }],
  );
  const sealed = await Promise.all(said.map(({ text }) => vault.seal(subject, text)));
  if (sealed.includes(null)) return null;
  const named = said.map(({ name }, index) => [name, sealed[index]]);
  return Object.fromEntries(named) as Partial<Record<Name, string>>;
};

const sealedIn = ({ contact = '', interest, sealed_reason = '' }: LeadState): string[] => [
  contact,
  interest?.note ?? '',
  sealed_reason,
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

const textsIn = ({
  sealed_note_to_buyer = '',
  sealed_line_notes = '',
  sealed_reason = '',
}: HandoffState): string[] => [sealed_note_to_buyer, sealed_line_notes, sealed_reason];

const withTexts = (state: HandoffState, plain: Opened): HandoffState => {
  const { sealed_note_to_buyer, sealed_line_notes, sealed_reason } = state;
  const lineNotes = sealed_line_notes === undefined ? undefined : plain(sealed_line_notes);
  return {
    ...state,
    ...(sealed_note_to_buyer !== undefined && {
      note_to_buyer: shownText(plain(sealed_note_to_buyer)),
    }),
    ...(typeof lineNotes === 'string' && {
      lines: withNotes(state.lines, JSON.parse(lineNotes) as Record<string, string>),
    }),
    ...(sealed_reason !== undefined && { status_reason: shownText(plain(sealed_reason)) }),
  };
};

const withNotes = (lines: HandoffState['lines'], notes: Record<string, string>) =>
  lines.map((line) => {
    const note = notes[line.line_id];
    return note === undefined ? line : { ...line, note };
  });

/** Handoffs with what was written in them, for whoever may read it. Nothing is decided on them. */
export const readableHandoffs = async (
  { vault }: Pick<Deps, 'vault'>,
  states: readonly HandoffState[],
): Promise<HandoffState[]> => {
  const plain = await opened(vault, states.flatMap(textsIn));
  return states.map((state) => withTexts(state, plain));
};

export const readableHandoff = async (
  { vault }: Pick<Deps, 'vault'>,
  state: HandoffState,
): Promise<HandoffState> => withTexts(state, await opened(vault, textsIn(state)));

/** With the link for its buyer. */
export const showHandoff = async (
  { vault, secrets }: Pick<Deps, 'vault' | 'secrets'>,
  ownerId: string,
  state: HandoffState,
  at: number,
): Promise<Handoff> => {
  const email = state.erased ? '' : (state.buyer.email ?? '');
  const plain = await opened(vault, [email, ...textsIn(state)]);
  return renderHandoff(ownerId, withTexts(state, plain), at, {
    opened: plain,
    reviewToken: (handoffId) => reviewTokenOf(secrets, handoffId),
  });
};

/** One sealed text, as the vault opens it; null also when it was erased. */
export const openOne = async (vault: KeyVault, sealed: string): Promise<Unsealed> =>
  (await opened(vault, [sealed]))(sealed);
