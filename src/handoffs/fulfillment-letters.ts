/** Letters to the buyer about the goods of their won RFQ. */
import type { EventOf, HandoffEventType } from '#contracts/registries/events.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Append } from '#src/ports/event-log.ts';
import { openOne, type OpeningVault } from '#src/sealing/sealed-texts.ts';
import type { Call } from '#src/shared/call.ts';
import { present } from '#src/shared/present.ts';
import type { Goods, Quantities, Shipment } from './fulfillment.decider.ts';
import type { HandoffState } from './handoff.decider.ts';
import { mailToBuyer } from './quotation-letters.ts';

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
