/** Letters about quotations, each with the link that only its buyer gets, and about the goods of a won RFQ. */
import type { Deps } from '#src/calls/handlers.ts';
import type { Append } from '#src/ports/event-log.ts';
import { type MailFacts, mailToStaff, queueMail } from '#src/sending/mail.ts';
import type { Call } from '#src/shared/call.ts';
import { writerOf } from '#src/shared/money.ts';
import { quotationPath, quotationTokenOf } from '#src/shared/signing.ts';
import type { HandoffState } from './handoff.decider.ts';
import { contactOf } from './render-handoff.ts';
import type { EventOf, HandoffEventType } from '#contracts/registries/events.ts';
import { openOne, type OpeningVault } from '#src/sealing/sealed-texts.ts';
import { present } from '#src/shared/json.ts';
import type { Goods, Quantities, Shipment } from './fulfillment.decider.ts';

/** Makes the append of the notice to staff about what the buyer did. */
export const replyToStaff = (
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  reply: Omit<MailFacts['rfq_reply'], 'owner_id'>,
): Promise<Append[]> =>
  mailToStaff(deps, call, {
    kind: 'rfq_reply',
    record: reply.handoff_id,
    facts: { ...reply, owner_id: call.ownerId },
  });

type Kind = 'rfq_quotation' | 'rfq_quotation_void' | 'rfq_answer' | 'rfq_shipped' | 'rfq_cancelled';
type About<K extends Kind> = Omit<MailFacts[K], 'path' | 'handoff_id' | 'locale'>;

/** Makes the append of a letter about the newest quotation to its buyer; empty without a readable contact. */
export const mailToBuyer = async <K extends Kind>(
  deps: Pick<Deps, 'ids' | 'vault' | 'secrets'>,
  call: Call,
  letter: { state: HandoffState; number: number; kind: K; facts: About<K> },
): Promise<Append[]> => {
  const { state, number, kind, facts } = letter;
  const { handoff_id, rfq } = state;
  const contact = await contactOf(deps, rfq);
  if (typeof contact !== 'object' || !rfq) return [];
  const path = quotationPath(quotationTokenOf(deps.secrets, { handoffId: handoff_id, number }));
  return queueMail<K>(deps, call, {
    kind,
    sealedFor: rfq.contact_subject,
    record: handoff_id,
    to: contact.email,
    // The members of a kind are those of its facts.
    facts: {
      ...facts,
      path,
      handoff_id,
      locale: writerOf(state).locale,
    } as unknown as MailFacts[K],
  });
};

export type Parcel = { carrier?: string; reference?: string };

/** Opens the carrier and the reference of a shipment; the placeholder of an erased or lost one is its carrier. */
export const openParcel = async (
  vault: OpeningVault,
  { sealed_parcel: sealed }: Pick<Shipment, 'sealed_parcel'>,
): Promise<Parcel> => {
  if (sealed === undefined) return {};
  const opened = sealed === '' ? '' : await openOne(vault, sealed);
  return typeof opened === 'string' && opened !== '' ? (JSON.parse(opened) as Parcel) : {};
};

/** Goods by the title of their line. */
const titled = ({ lines }: Goods, quantities: Quantities) => {
  const titles = new Map(lines.map(({ line_id, title }) => [line_id, title]));
  return quantities.map(({ line_id, quantity }) => ({
    title: titles.get(line_id) ?? line_id,
    quantity,
  }));
};

/** Makes the appends of the letters about what staff shipped or cancelled; `state` is that before the events. */
export const lettersAboutGoods = async (
  deps: Pick<Deps, 'ids' | 'vault' | 'secrets'>,
  call: Call,
  { state, events }: { state: HandoffState; events: readonly EventOf<HandoffEventType>[] },
): Promise<Append[]> => {
  const { goods, rfq } = state;
  if (!goods) return [];
  const number = rfq?.quote?.number ?? 0;
  const correction = events.find(({ type }) => type === 'RfqOutcomeCorrected');
  const values =
    correction?.type === 'RfqOutcomeCorrected' ? correction.data.to.values : rfq?.values;
  const letters = events.map(async (event) => {
    if (event.type === 'GoodsShipped') {
      const { shipment, shipped_on, lines } = event.data;
      const parcel = await openParcel(deps.vault, event.data);
      const facts = { number: shipment, shipped_on, ...parcel, lines: titled(goods, lines) };
      return mailToBuyer(deps, call, { state, number, kind: 'rfq_shipped', facts });
    }
    if (event.type !== 'GoodsCancelled') return [];
    const { lines, sealed_reason } = event.data;
    const reason =
      sealed_reason === undefined ? undefined : await openOne(deps.vault, sealed_reason);
    const facts = {
      lines: titled(goods, lines),
      values: values ?? [],
      ...present({ reason: typeof reason === 'string' ? reason : undefined }),
    };
    return mailToBuyer(deps, call, { state, number, kind: 'rfq_cancelled', facts });
  });
  return (await Promise.all(letters)).flat();
};
