/** What staff do with the goods of a won RFQ, and how they see them. */
import { GOODS_STATES } from '#contracts/moves.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { OpeningVault } from '#src/sealing/sealed-texts.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import {
  type Goods,
  type GoodsCommand,
  type GoodsLine,
  goodsStateOf,
  quantitiesOf,
} from './fulfillment.decider.ts';
import { openParcel, type Parcel } from './quotation-letters.ts';
import type { HandoffState } from './handoff.decider.ts';
import { changeRfq, renderState } from './move-rfq.ts';

const ERASED_PARCEL = refuse(
  'state_conflict',
  'The handoff was erased, so no text about it can be stored: ship it without carrier and reference.',
);

const renderLine = (line: GoodsLine) => {
  const { line_id, sku, title, quantity, source, warnings } = line;
  const quantities = quantitiesOf(line);
  const counted = GOODS_STATES.flatMap((state) =>
    quantities[state] > 0 ? [[state, quantities[state]]] : [],
  );
  return {
    line_id,
    sku,
    title,
    quantity,
    ...(Object.fromEntries(counted) as Partial<typeof quantities>),
    ...present({ source, warnings: warnings as 'stock_below_quantity'[] | undefined }),
  };
};

/** The goods of an RFQ with the texts about its parcels. */
export const renderGoods = async ({ vault }: { vault: OpeningVault }, goods: Goods) => ({
  state: goodsStateOf(goods),
  lines: goods.lines.map(renderLine),
  shipments: await Promise.all(
    goods.shipments.map(async ({ sealed_parcel, delivered_on, ...shipment }) => ({
      ...shipment,
      ...present({ delivered_on }),
      ...(await openParcel(vault, { sealed_parcel })),
    })),
  ),
});

type GoodsOperation =
  | 'allocateGoods'
  | 'shipGoods'
  | 'deliverGoods'
  | 'cancelGoods'
  | 'returnGoods';
type Ref = { handoff_id: string; owner_id?: string | undefined };

type Change = {
  ref: Ref;
  reason?: string | undefined;
  command(of: {
    state: HandoffState | undefined;
    sealedReason: string | undefined;
  }): GoodsCommand | Refusal | Promise<GoodsCommand | Refusal>;
};

const changeGoods = async (
  deps: Deps,
  call: DeskCall,
  { ref, reason, command }: Change,
): ReturnType<DeskHandler<GoodsOperation>> => {
  const { handoff_id, owner_id } = ref;
  const changed = await changeRfq(
    deps,
    call,
    {
      ref: { handoff_id, owner_id },
      reason,
      async command({ state, sealedReason }) {
        const made = await command({ state, sealedReason });
        return isRefusal(made) ? made : issue(made);
      },
    },
    (ownerId, state) => ({ ownerId, state }),
  );
  if (!changed.ok) return changed;
  const { ownerId, state } = changed.value;
  // A replay shows the state as it was then, which had goods.
  if (!state.goods || !state.rfq) throw new Error(`${handoff_id} has no goods`);
  const { values = [] } = state.rfq;
  const value = {
    ...renderState(ownerId, state),
    won_value: values,
    goods: await renderGoods(deps, state.goods),
  };
  return { ...changed, value };
};

/** What the catalog has of the products of the goods; null where it does not count. Withdrawn products are missing. */
const stockOf = ({ catalog }: Pick<Deps, 'catalog'>, goods: Goods | undefined) => {
  const products = catalog.byId(goods?.lines.map(({ product_id }) => product_id) ?? []);
  return new Map(
    [...products].map(([id, { stock }]) => [
      id,
      stock.level === 'out_of_stock' ? 0 : stock.available_quantity,
    ]),
  );
};

export const allocateGoods: DeskHandler<'allocateGoods'> = (deps, { lines, ...ref }, call) =>
  changeGoods(deps, call, {
    ref,
    command: ({ state }) => ({ type: 'AllocateGoods', lines, stock: stockOf(deps, state?.goods) }),
  });

const today = ({ at }: DeskCall): string => iso(at).slice(0, 10);

/** The number of the last shipment with this carrier and reference. */
const shipmentWith = async (
  { vault }: Pick<Deps, 'vault'>,
  goods: Goods | undefined,
  { carrier, reference }: Parcel,
): Promise<number | undefined> => {
  if (reference === undefined) return undefined;
  for (const shipment of goods?.shipments.toReversed() ?? []) {
    const parcel = await openParcel(vault, shipment);
    if (parcel.carrier === carrier && parcel.reference === reference) return shipment.number;
  }
  return undefined;
};

export const shipGoods: DeskHandler<'shipGoods'> = (deps, input, call) => {
  const { lines, carrier, reference, shipped_on: shippedOn = today(call), ...ref } = input;
  const parcel: Parcel = present({ carrier, reference });
  return changeGoods(deps, call, {
    ref,
    async command({ state }) {
      const hasTexts = Object.keys(parcel).length > 0;
      const sealedParcel =
        state && hasTexts
          ? await deps.vault.seal(ref.handoff_id, JSON.stringify(parcel))
          : undefined;
      if (sealedParcel === null) return ERASED_PARCEL;
      const known = await shipmentWith(deps, state?.goods, parcel);
      return { type: 'ShipGoods', lines, shippedOn, sealedParcel, known };
    },
  });
};

export const deliverGoods: DeskHandler<'deliverGoods'> = (deps, input, call) => {
  const { shipment, delivered_on: deliveredOn = today(call), ...ref } = input;
  return changeGoods(deps, call, {
    ref,
    command: () => ({ type: 'DeliverGoods', shipment, deliveredOn }),
  });
};

export const cancelGoods: DeskHandler<'cancelGoods'> = (deps, input, call) => {
  const { lines, keep_charges: keepCharges = false, reason, ...ref } = input;
  return changeGoods(deps, call, {
    ref,
    reason,
    command: ({ sealedReason }) => ({ type: 'CancelGoods', lines, keepCharges, sealedReason }),
  });
};

export const returnGoods: DeskHandler<'returnGoods'> = (deps, input, call) => {
  const { lines, keep_charges: keepCharges = false, reason, ...ref } = input;
  return changeGoods(deps, call, {
    ref,
    reason,
    command: ({ sealedReason }) => ({
      type: 'ReturnGoods',
      lines,
      keepCharges,
      sealedReason,
      approval: deps.approval,
    }),
  });
};
