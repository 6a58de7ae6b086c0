/** Handoffs as answers show them, and the contact of their RFQ. */
import { HANDOFF_DISCLAIMER } from '#contracts/boundaries.ts';
import { DIRECT_OWNER } from '#contracts/fields.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { OwnRecord } from '#contracts/records/records.ts';
import type { BuyerContact } from '#contracts/handoffs/operations.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { promoterName } from '#src/owners/promoter-name.ts';
import {
  ERASED,
  isLost,
  KEY_MISSING,
  type OpenedTexts,
  openTexts,
  type OpeningVault,
  placeholderOf,
  shownText,
  WITHDRAWN,
  openRecord,
} from '#src/sealing/sealed-texts.ts';
import type { SuppressionReader } from '#src/sealing/suppression.ts';
import type { ListedFacts } from '#src/sending/mail.ts';
import { present } from '#src/shared/json.ts';
import { reviewTokenOf } from '#src/shared/signing.ts';
import { iso } from '#src/shared/time.ts';
import { releaseAfterWrite } from '#src/writing/decide-and-append.ts';
import { type HandoffState, shownStatus } from './handoff.decider.ts';
import { rfqForAgents } from './rfq.decider.ts';

export const renderLine = (line: HandoffState['lines'][number]): Handoff['line_items'][number] => ({
  line_id: line.line_id,
  product_id: line.product_id,
  product_revision: line.product_revision,
  sku: line.sku,
  title: line.title,
  quantity: line.quantity,
  indicative_unit_price: { amount: line.unit_price, currency: line.currency },
  tier_min_quantity: line.tier_min_quantity,
  ...present({ note: line.note, unit_price_when_sent: line.price_when_sent }),
  warnings: (line.warnings ?? []) as Handoff['line_items'][number]['warnings'],
  ...present({ rule: line.rule }),
});

/** The owner of a record, and the time at which it is shown, in epoch milliseconds. */
type View = { ownerId: string; at: number };

export const renderHandoff = (
  state: HandoffState,
  { ownerId, at }: View,
  { opened, reviewToken }: { opened: OpenedTexts; reviewToken(handoffId: string): string },
): Handoff => {
  const { email, ...buyer } = state.buyer;
  const shownEmail = email === undefined ? undefined : shownText(opened(email));
  return {
    id: state.handoff_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    title: state.title,
    ...present({ note_to_buyer: state.note_to_buyer }),
    locale: state.locale,
    ...present({ link_id: state.link_id, external_id: state.external_id }),
    buyer: { ...buyer, ...present({ email: state.erased ? ERASED : shownEmail }) },
    line_items: state.lines.map(renderLine),
    list_revision: state.list_revision,
    indicative_totals: state.totals,
    ...(state.deliver
      ? { delivery: shownDelivery(state) }
      : { review_url: reviewUrlOf(state, reviewToken(state.handoff_id)) }),
    status: shownStatus(state, at),
    ...present({ status_reason: state.status_reason, rfq: rfqForAgents(state.rfq, at) }),
    expires_at: iso(state.expires_at),
    disclaimer: HANDOFF_DISCLAIMER,
    ...present({
      metadata: state.metadata,
      warnings: state.warnings,
    }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

export const reviewUrlOf = ({ review_origin }: HandoffState, token: string): string =>
  `${review_origin}/h/${token}`;

/** The outreach request that delivers a handoff has its name. */
export const deliveryIdOf = (handoffId: string): string => handoffId.replace(/^hnd_/, 'out_');

const shownDelivery = ({ handoff_id, delivered_at }: HandoffState): Handoff['delivery'] => ({
  outbound_id: deliveryIdOf(handoff_id),
  ...present({ delivered_at: delivered_at === undefined ? undefined : iso(delivered_at) }),
});

const textsIn = ({
  sealed_note_to_buyer = '',
  sealed_line_notes = '',
  sealed_reason = '',
}: HandoffState): string[] => [sealed_note_to_buyer, sealed_line_notes, sealed_reason];

const withTexts = <State extends HandoffState>(state: State, plain: OpenedTexts): State => {
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
    // It is unknown which lines have notes. An audit that opens nothing shows none.
    ...(isLost(lineNotes) &&
      lineNotes !== KEY_MISSING && {
        lines: state.lines.map((line) => ({ ...line, note: placeholderOf(lineNotes) })),
      }),
    ...(sealed_reason !== undefined && { status_reason: shownText(plain(sealed_reason)) }),
  };
};

const withNotes = (lines: HandoffState['lines'], notes: Record<string, string>) =>
  lines.map((line) => {
    const note = notes[line.line_id];
    return note === undefined ? line : { ...line, note };
  });

/** Opens the texts of handoffs for display; a decision must use the stored states. */
export const readableHandoffs = async (
  { vault }: Pick<Deps, 'vault'>,
  states: readonly HandoffState[],
): Promise<HandoffState[]> => {
  const plain = await openTexts(vault, states.flatMap(textsIn));
  return states.map((state) => withTexts(state, plain));
};

export const readableHandoff = async <State extends HandoffState>(
  { vault }: { vault: OpeningVault },
  state: State,
): Promise<State> => withTexts(state, await openTexts(vault, textsIn(state)));

export const showHandoff = async (
  {
    vault,
    secrets,
    suppression,
  }: Pick<Deps, 'vault' | 'secrets'> & { suppression?: SuppressionReader },
  state: HandoffState,
  view: View,
): Promise<Handoff> => {
  const email = state.erased ? '' : (state.buyer.email ?? '');
  const plain = await openTexts(vault, [email, ...textsIn(state)]);
  const address = plain(email);
  const since =
    typeof address === 'string' ? await suppression?.(view.ownerId, address) : undefined;
  // The address of a later handoff stays: otherwise an agent could ask who refuses contact.
  const isMasked = since !== undefined && state.created_at <= since;
  return renderHandoff(withTexts(state, plain), view, {
    opened: (sealed) => (isMasked && sealed === email ? WITHDRAWN : plain(sealed)),
    reviewToken: (handoffId) => reviewTokenOf(secrets, handoffId),
  });
};

/** A handoff as agents see it after its creation: its review link and the buyer's address belong to the buyer. */
export const ownHandoff = (
  state: HandoffState,
  { review_url: _link, buyer: { email: _address, ...buyer }, ...shown }: Handoff,
): Omit<OwnRecord<'handoff'>, 'counts'> => ({
  ...shown,
  name: shown.title,
  ...present({ campaign: state.dims.campaign }),
  buyer,
});

/**
 * Names the subject of the contact in the sending with this number, from 1. It is a subject of its own, so that its key
 * can be destroyed without the handoff's key.
 */
export const contactSubjectOf = (handoffId: string, number: number): string =>
  `con_${handoffId.replace(/^hnd_/, '')}n${number}`;

/** Opens the contact of an RFQ; undefined if its key is destroyed. A text says that the key is lost. */
export const contactOf = async ({ vault }: Pick<Deps, 'vault'>, rfq: HandoffState['rfq']) =>
  rfq && openRecord<BuyerContact>(vault, rfq.contact);

type Change = { before?: HandoffState | undefined; state: HandoffState };

/** Destroys the key of a contact whose RFQ a command ended unconfirmed. The next start does it after a failure. */
export const forgetDropped = async (
  { vault }: Pick<Deps, 'vault'>,
  { before, state }: Change,
): Promise<void> => {
  const subject = before?.rfq?.confirmation && before.rfq.contact_subject;
  if (subject === undefined || subject === state.rfq?.contact_subject) return;
  await releaseAfterWrite(async () => {
    await vault.destroy(subject);
  });
};

/** Lines that a letter names; the rest are on the page that it leads to. */
const LETTER_LINES_MAX = 30;

/** The list as letters show it to a mailbox that has confirmed something. */
export const listForLetter = async (
  deps: Pick<Deps, 'readModels' | 'vault'>,
  ownerId: string,
  { title, lines }: Pick<HandoffState, 'title' | 'lines'>,
): Promise<ListedFacts> => ({
  title,
  ...(ownerId !== DIRECT_OWNER && { promoter: await promoterName(deps, ownerId) }),
  items: lines
    .slice(0, LETTER_LINES_MAX)
    .map((line) => ({ quantity: line.quantity, title: line.title, sku: line.sku })),
  more: Math.max(0, lines.length - LETTER_LINES_MAX),
});
