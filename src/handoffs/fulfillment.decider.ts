/** The goods of a won RFQ: allocation, shipments, deliveries, cancellations and returns, and what is left of its value. */
import { GOODS_STATES, type GoodsState } from '#contracts/moves.ts';
import type {
  EventData,
  EventOf,
  GoodsEventType,
  Happened,
  HandoffEventType,
  RfqEventType,
} from '#contracts/registries/events.ts';
import { accept, asStored, type Decision, reject } from '#src/shared/decider.ts';
import { present } from '#src/shared/json.ts';
import { type ApprovalRules, decideMove, type Money } from '#src/shared/proposal.ts';
import type { RfqMove, RfqProgress } from './rfq.decider.ts';
import { amountIn, type ValuedLine, type Worth } from './worth.decider.ts';

/** What happened to the goods of a line. `allocated`: and not shipped. */
export type GoodsLine = {
  line_id: string;
  product_id: string;
  sku: string;
  title: string;
  quantity: number;
  allocated: number;
  source?: string | undefined;
  /** Of the allocation. */
  warnings?: string[] | undefined;
  shipped: number;
  delivered: number;
  returned: number;
  cancelled: number;
};

export type Quantities = EventData<'GoodsShipped'>['lines'];

export type Shipment = {
  number: number;
  lines: Quantities;
  shipped_on: string;
  delivered_on?: string | undefined;
  /** Empty after an erasure. */
  sealed_parcel?: string | undefined;
};

export type Goods = { lines: GoodsLine[]; shipments: Shipment[] };

const isGoodsType: Record<GoodsEventType, true> = {
  GoodsAllocated: true,
  GoodsCancelled: true,
  GoodsDelivered: true,
  GoodsReturned: true,
  GoodsShipped: true,
};

export const isOfGoods = (event: Happened<HandoffEventType>): event is Happened<GoodsEventType> =>
  event.type in isGoodsType;

/** The quantities of a line by where they are. What comes back was delivered first, as far as anything was. */
export const quantitiesOf = (line: GoodsLine): Record<GoodsState, number> => {
  const { quantity, allocated, shipped, delivered, returned, cancelled } = line;
  const lost = Math.max(0, returned - delivered);
  return {
    unallocated: quantity - allocated - shipped - cancelled,
    allocated,
    shipped: shipped - delivered - lost,
    delivered: delivered - (returned - lost),
    returned,
    cancelled,
  };
};

/** Where the goods are that are least far. */
export const goodsStateOf = ({ lines }: Goods): GoodsState => {
  const all = lines.map(quantitiesOf);
  return (
    GOODS_STATES.find((state) => all.some((quantities) => quantities[state] > 0)) ?? 'cancelled'
  );
};

type WonLine = Pick<GoodsLine, 'line_id' | 'product_id' | 'sku' | 'title' | 'quantity'>;

const NOTHING = { allocated: 0, shipped: 0, delivered: 0, returned: 0, cancelled: 0 };

const wonGoods = (lines: readonly WonLine[]): Goods => ({
  lines: lines.map(({ line_id, product_id, sku, title, quantity }) => ({
    line_id,
    product_id,
    sku,
    title,
    quantity,
    ...NOTHING,
  })),
  shipments: [],
});

/** The goods after an event of the RFQ: a win begins them, and another outcome ends them. */
export const goodsAfter = (
  goods: Goods | undefined,
  event: Happened<RfqEventType>,
  lines: readonly WonLine[],
): Goods | undefined => {
  if (event.type === 'RfqWon') return wonGoods(lines);
  if (event.type !== 'RfqOutcomeCorrected') return goods;
  return event.data.to.state === 'won' ? (goods ?? wonGoods(lines)) : undefined;
};

const changeLines = (
  goods: Goods,
  quantities: Quantities,
  change: (line: GoodsLine, quantity: number) => Partial<GoodsLine>,
): Goods => {
  const byId = new Map(quantities.map(({ line_id, quantity }) => [line_id, quantity]));
  const lines = goods.lines.map((line) => {
    const quantity = byId.get(line.line_id);
    return quantity === undefined ? line : asStored({ ...line, ...change(line, quantity) });
  });
  return { ...goods, lines };
};

type GoodsEvent = EventOf<GoodsEventType>;

export const foldGoods = (goods: Goods, event: Happened<GoodsEventType>): Goods => {
  switch (event.type) {
    case 'GoodsAllocated': {
      const changes = new Map(event.data.lines.map((line) => [line.line_id, line]));
      return changeLines(goods, event.data.lines, ({ line_id }, allocated) => {
        const { source, warnings } = changes.get(line_id) ?? {};
        return { allocated, source, warnings };
      });
    }
    case 'GoodsShipped': {
      const { lines, shipment: number, shipped_on, sealed_parcel } = event.data;
      const shipped = changeLines(goods, lines, (line, quantity) => ({
        allocated: line.allocated - quantity,
        shipped: line.shipped + quantity,
      }));
      const shipment = { number, lines, shipped_on, ...present({ sealed_parcel }) };
      return { ...shipped, shipments: [...goods.shipments, shipment] };
    }
    case 'GoodsDelivered': {
      const { lines, shipments, delivered_on } = event.data;
      const delivered = changeLines(goods, lines, (line, quantity) => ({
        delivered: line.delivered + quantity,
      }));
      return {
        ...delivered,
        shipments: goods.shipments.map((one) =>
          shipments.includes(one.number) ? { ...one, delivered_on } : one,
        ),
      };
    }
    case 'GoodsCancelled':
      return changeLines(goods, event.data.lines, (line, quantity) => {
        const cancelled = line.cancelled + quantity;
        const open = line.quantity - line.shipped - cancelled;
        return { cancelled, allocated: Math.min(line.allocated, open) };
      });
    case 'GoodsReturned':
      return changeLines(goods, event.data.lines, (line, quantity) => ({
        returned: line.returned + quantity,
      }));
  }
};

/** Removes the texts that can lead to a person. */
export const eraseGoods = ({ lines, shipments }: Goods): Goods => ({
  lines,
  shipments: shipments.map((one) => (one.sealed_parcel ? { ...one, sealed_parcel: '' } : one)),
});

/** Quantities that staff named; without a quantity, all that the command can concern, and without lines, that of each line. */
export type AskedGoods = readonly { line_id: string; quantity?: number | undefined }[] | undefined;

export type GoodsCommand =
  | {
      type: 'AllocateGoods';
      lines:
        | readonly { line_id: string; quantity?: number | undefined; source?: string | undefined }[]
        | undefined;
      /** By product id, what the catalog has; null if it does not count it. */
      stock: ReadonlyMap<string, number | null>;
    }
  | {
      type: 'ShipGoods';
      lines: AskedGoods;
      shippedOn: string;
      sealedParcel: string | undefined;
      /** The number of the shipment that has this carrier and reference. */
      known: number | undefined;
    }
  | { type: 'DeliverGoods'; shipment: number | undefined; deliveredOn: string }
  | {
      type: 'CancelGoods';
      lines: AskedGoods;
      keepCharges: boolean;
      sealedReason: string | undefined;
    }
  | {
      type: 'ReturnGoods';
      lines: AskedGoods;
      keepCharges: boolean;
      sealedReason: string | undefined;
      approval: ApprovalRules;
    };

const COMMANDS: Record<GoodsCommand['type'], true> = {
  AllocateGoods: true,
  ShipGoods: true,
  DeliverGoods: true,
  CancelGoods: true,
  ReturnGoods: true,
};

export const isGoodsCommand = (command: { type: string }): command is GoodsCommand =>
  command.type in COMMANDS;

export type GoodsRejection =
  | 'rfq_unsent'
  | 'rfq_not_won'
  | 'goods_unknown'
  | 'goods_exceeded'
  | 'goods_out';

type Event = GoodsEvent | EventOf<'RfqOutcomeCorrected' | 'RfqMoveProposed'>;
type GoodsDecision = Decision<Event, GoodsRejection>;
type Reference = Pick<EventData<'RfqTakenUp'>, 'handoff_id' | 'agent_id' | 'dims' | 'link_id'>;

/** What a decision about goods needs of a handoff. */
type Won = {
  goods?: Goods | undefined;
  worth?: Worth | undefined;
  rfq?: RfqProgress | undefined;
};

type Of<Type> = Extract<GoodsCommand, { type: Type }>;

const named = ({ line_id, sku }: Pick<GoodsLine, 'line_id' | 'sku'>): string =>
  `line ${line_id} (${sku})`;

/** The quantities that a command concerns, each of at most `most` of its line. */
const quantitiesIn = (
  { lines }: Goods,
  asked: AskedGoods,
  { most, what, hint = '' }: { most(line: GoodsLine): number; what: string; hint?: string },
): Quantities | GoodsDecision => {
  if (!asked)
    return lines.flatMap((line) => {
      const quantity = most(line);
      return quantity > 0 ? [{ line_id: line.line_id, quantity }] : [];
    });
  const byId = new Map(lines.map((line) => [line.line_id, line]));
  const quantities: Quantities = [];
  for (const { line_id, quantity } of asked) {
    const line = byId.get(line_id);
    if (!line)
      return reject(
        'goods_unknown',
        `the RFQ was not won with a line ${line_id}; it has ${[...byId.keys()].slice(0, 20).join(', ')}`,
      );
    const limit = most(line);
    if (quantity !== undefined && quantity > limit)
      return reject(
        'goods_exceeded',
        `of ${named(line)} at most ${limit} can be ${what}, and not ${quantity}: ${countsOf(line)}${hint}`,
      );
    quantities.push({ line_id, quantity: quantity ?? limit });
  }
  return quantities;
};

const countsOf = (line: GoodsLine): string =>
  [
    `${line.quantity} won`,
    ...Object.entries(quantitiesOf(line)).flatMap(([state, quantity]) =>
      quantity > 0 ? [`${quantity} ${state}`] : [],
    ),
  ].join(', ');

const isDecision = (made: Quantities | GoodsDecision): made is GoodsDecision =>
  !Array.isArray(made);

/** The data of an event, with where the goods are after it. */
const placed = <Data extends object>(
  goods: Goods,
  reference: Reference,
  event: { type: GoodsEventType; data: Data & { lines: Quantities } },
): Reference & Data & { lines: Quantities; goods: GoodsState } => {
  const data = { ...reference, ...event.data, goods: 'unallocated' as GoodsState };
  const happened = { type: event.type, data, at: 0 } as unknown as Happened<GoodsEventType>;
  return { ...data, goods: goodsStateOf(foldGoods(goods, happened)) };
};

const notWon = ({ rfq }: Won): GoodsDecision =>
  rfq
    ? reject('rfq_not_won', `the RFQ is ${rfq.state}: only a won one has goods`)
    : reject('rfq_unsent', 'the buyer has sent no RFQ of this handoff');

/** Decides what staff do with the goods of an RFQ. */
export const decideGoods = (
  won: Won,
  command: GoodsCommand,
  reference: Reference,
): GoodsDecision => {
  const { goods, rfq } = won;
  if (!goods || rfq?.state !== 'won') return notWon(won);
  switch (command.type) {
    case 'AllocateGoods':
      return allocate(goods, command, reference);
    case 'ShipGoods':
      return ship(goods, command, reference);
    case 'DeliverGoods':
      return deliver(goods, command, reference);
    case 'CancelGoods':
      return cancel({ ...won, goods, rfq }, command, reference);
    case 'ReturnGoods':
      return takeBack({ ...won, goods, rfq }, command, reference);
  }
};

/** A later allocation of a line replaces what is allocated and not shipped; 0 releases it. */
const allocate = (
  goods: Goods,
  command: Of<'AllocateGoods'>,
  reference: Reference,
): GoodsDecision => {
  const { stock } = command;
  const quantities = quantitiesIn(goods, command.lines, {
    most: (line) => line.quantity - line.shipped - line.cancelled,
    what: 'allocated',
  });
  if (isDecision(quantities)) return quantities;
  const sources = new Map(command.lines?.map(({ line_id, source }) => [line_id, source]));
  const changed = quantities.flatMap(({ line_id, quantity }) => {
    const line = goods.lines.find((one) => one.line_id === line_id);
    const source = quantity > 0 ? sources.get(line_id) : undefined;
    return !line || (line.allocated === quantity && line.source === source)
      ? []
      : [{ line_id, quantity, ...present({ source }) }];
  });
  if (changed.length === 0)
    return quantities.length > 0
      ? accept()
      : reject(
          'goods_exceeded',
          'all goods are shipped or cancelled: there is nothing to allocate',
        );
  const short = productsShort(goods, changed, stock);
  const lines = changed.map((line) => {
    const product = goods.lines.find(({ line_id }) => line_id === line.line_id)?.product_id ?? '';
    return line.quantity > 0 && short.has(product)
      ? { ...line, warnings: ['stock_below_quantity'] }
      : line;
  });
  const type = 'GoodsAllocated' as const;
  return accept({ type, data: placed(goods, reference, { type, data: { lines } }) });
};

/** The products of which more would be allocated than the catalog has. Lines can share a product, and then its stock. */
const productsShort = (
  goods: Goods,
  changed: Quantities,
  stock: ReadonlyMap<string, number | null>,
): ReadonlySet<string> => {
  const after = new Map(changed.map(({ line_id, quantity }) => [line_id, quantity]));
  const allocated = new Map<string, number>();
  for (const { line_id, product_id, allocated: before } of goods.lines)
    allocated.set(product_id, (allocated.get(product_id) ?? 0) + (after.get(line_id) ?? before));
  return new Set(
    [...allocated].flatMap(([product, quantity]) => {
      // A product that is not published has no stock that the catalog knows of.
      const available = stock.has(product) ? stock.get(product) : 0;
      return typeof available === 'number' && quantity > available ? [product] : [];
    }),
  );
};

/** Whether a shipment is asked for again; all goods that are allocated can be none by now. */
const isRepeated = ({ lines }: Shipment, asked: AskedGoods | GoodsDecision): boolean =>
  Array.isArray(asked) &&
  (asked.length === 0 ||
    (asked.length === lines.length &&
      asked.every(({ line_id, quantity }: { line_id: string; quantity?: number | undefined }) =>
        lines.some((one) => one.line_id === line_id && (quantity ?? one.quantity) === one.quantity),
      )));

const ship = (goods: Goods, command: Of<'ShipGoods'>, reference: Reference): GoodsDecision => {
  const { shippedOn: shipped_on, sealedParcel: sealed_parcel } = command;
  const lines = quantitiesIn(goods, command.lines, {
    most: ({ allocated }) => allocated,
    what: 'shipped',
    hint: '; allocate more first',
  });
  const before = goods.shipments.find(({ number }) => number === command.known);
  if (before && isRepeated(before, command.lines ?? lines)) return accept();
  if (isDecision(lines)) return lines;
  const shipped = lines.filter(({ quantity }) => quantity > 0);
  if (shipped.length === 0)
    return reject(
      'goods_exceeded',
      'nothing is allocated that could be shipped: allocate it first',
    );
  const shipment = goods.shipments.length + 1;
  const type = 'GoodsShipped' as const;
  const data = { lines: shipped, shipment, shipped_on, ...present({ sealed_parcel }) };
  return accept({ type, data: placed(goods, reference, { type, data }) });
};

/** Without a shipment, all that are under way are delivered. */
const deliver = (
  goods: Goods,
  command: Of<'DeliverGoods'>,
  reference: Reference,
): GoodsDecision => {
  const { shipment, deliveredOn: delivered_on } = command;
  const asked = goods.shipments.filter(({ number }) => (shipment ?? number) === number);
  if (asked.length === 0)
    return shipment === undefined
      ? reject('goods_exceeded', 'nothing was shipped that could be delivered')
      : reject(
          'goods_unknown',
          `there is no shipment ${shipment}; the RFQ has ${goods.shipments.length}`,
        );
  const underWay = asked.filter((one) => one.delivered_on === undefined);
  if (underWay.length === 0) return accept();
  const sums = new Map<string, number>();
  for (const { line_id, quantity } of underWay.flatMap(({ lines }) => lines))
    sums.set(line_id, (sums.get(line_id) ?? 0) + quantity);
  const lines = [...sums].map(([line_id, quantity]) => ({ line_id, quantity }));
  const shipments = underWay.map(({ number }) => number);
  const type = 'GoodsDelivered' as const;
  const data = { lines, shipments, delivered_on };
  return accept({ type, data: placed(goods, reference, { type, data }) });
};

type Worthy = Won & { goods: Goods; rfq: RfqProgress };

/** What is left of the value without some goods. Charges go with the last goods, unless they are kept. */
const valueWithout = (
  { goods, worth, rfq }: Worthy,
  gone: Quantities,
  keepCharges: boolean,
): { values: Money[]; lines: ValuedLine[] } => {
  const { values = [] } = rfq;
  const won = worth?.won ?? [];
  const quantityOf = new Map(gone.map(({ line_id, quantity }) => [line_id, quantity]));
  const leftOf = new Map(
    goods.lines.map(({ line_id, quantity, cancelled, returned }) => [
      line_id,
      quantity - cancelled - returned,
    ]),
  );
  const lines = won.map((line) => {
    const left = leftOf.get(line.line_id) ?? 0;
    const quantity = quantityOf.get(line.line_id) ?? 0;
    if (quantity === 0) return line;
    // The product exceeds what a number has exactly.
    const amount = Number((BigInt(line.amount) * BigInt(left - quantity)) / BigInt(left));
    return { ...line, amount };
  });
  const isAllGone = [...leftOf].every(([id, left]) => left === (quantityOf.get(id) ?? 0));
  return {
    lines,
    values: values.map(({ amount, currency }) => ({
      amount:
        isAllGone && !keepCharges
          ? 0
          : amount - amountIn(won, currency) + amountIn(lines, currency),
      currency,
    })),
  };
};

/** The correction that takes the value of goods away; none if they had no value. */
const corrected = (
  state: Worthy,
  gone: Quantities,
  {
    reference,
    keepCharges,
    ...more
  }: {
    reference: Reference;
    keepCharges: boolean;
    reason: string;
    sealed_reason: string | undefined;
    alone?: true | undefined;
  },
): EventOf<'RfqOutcomeCorrected'>[] => {
  const { rfq } = state;
  const { values, lines } = valueWithout(state, gone, keepCharges);
  const { values: before = [], outcome_at = 0, counted_lead } = rfq;
  if (values.every(({ amount, currency }) => amount === amountIn(before, currency))) return [];
  const from = { state: 'won' as const, values: before };
  const to = { state: 'won' as const, values, lines };
  const data = asStored({ ...reference, ...more, from, to, outcome_at, counted_lead });
  return [{ type: 'RfqOutcomeCorrected', data }];
};

const cancel = (state: Worthy, command: Of<'CancelGoods'>, reference: Reference): GoodsDecision => {
  const { goods } = state;
  const { keepCharges, sealedReason: sealed_reason } = command;
  const lines = quantitiesIn(goods, command.lines, {
    most: (line) => line.quantity - line.shipped - line.cancelled,
    what: 'cancelled',
    hint: '; what is shipped comes back as a return',
  });
  if (isDecision(lines)) return lines;
  const gone = lines.filter(({ quantity }) => quantity > 0);
  if (gone.length === 0)
    return goods.lines.some(({ cancelled }) => cancelled > 0)
      ? accept()
      : reject('goods_exceeded', 'all goods are shipped: what comes back is a return');
  const type = 'GoodsCancelled' as const;
  const data = { lines: gone, ...present({ sealed_reason }) };
  return accept<Event>(
    { type, data: placed(goods, reference, { type, data }) },
    ...corrected(state, gone, { reference, keepCharges, reason: 'cancelled', sealed_reason }),
  );
};

const returnable = (line: GoodsLine): number => line.shipped - line.returned;

/** With APPROVAL_ABOVE, a return is only proposed, as the correction that it is. */
const takeBack = (
  state: Worthy,
  command: Of<'ReturnGoods'>,
  reference: Reference,
): GoodsDecision => {
  const { goods, rfq } = state;
  const { keepCharges, sealedReason: sealed_reason, approval } = command;
  const lines = quantitiesIn(goods, command.lines, { most: returnable, what: 'returned' });
  if (isDecision(lines)) return lines;
  const returned = lines.filter(({ quantity }) => quantity > 0);
  if (returned.length === 0)
    return goods.lines.some((line) => line.returned > 0)
      ? accept()
      : reject('goods_exceeded', 'nothing was shipped that could come back: cancel it');
  const move = asStored({
    to: 'won' as const,
    is_correction: true as const,
    values: valueWithout(state, returned, keepCharges).values,
    returned,
    keep_charges: keepCharges ? (true as const) : undefined,
    sealed_reason,
  });
  const eventsOf = (alone: true | undefined) => returnedEvents(state, move, { reference, alone });
  const decided = decideMove<RfqMove, Event, GoodsRejection>(rfq, {
    isRepeated: false,
    rejection: undefined,
    needsApproval: approval.above !== undefined,
    approval,
    isSame: (proposed) => JSON.stringify(proposed.returned) === JSON.stringify(returned),
    eventOf: (alone) => eventsOf(alone)[0],
    proposalOf: () => ({ type: 'RfqMoveProposed', data: { ...reference, ...move } }),
  });
  const [first] = decided.accepted ? decided.events : [];
  return first?.type === 'GoodsReturned' ? accept<Event>(...eventsOf(first.data.alone)) : decided;
};

const returnedEvents = (
  state: Worthy,
  { returned = [], keep_charges, sealed_reason }: RfqMove,
  { reference, alone }: { reference: Reference; alone: true | undefined },
): [EventOf<'GoodsReturned'>, ...EventOf<'RfqOutcomeCorrected'>[]] => {
  const type = 'GoodsReturned' as const;
  const data = { lines: returned, ...present({ sealed_reason, alone }) };
  return [
    { type, data: placed(state.goods, reference, { type, data }) },
    ...corrected(state, returned, {
      reference,
      keepCharges: keep_charges === true,
      reason: 'returned',
      sealed_reason,
      alone,
    }),
  ];
};

/** Makes a return that another person approves, if the goods are still there to come back. */
export const decideApprovedReturn = (
  won: Won,
  move: RfqMove,
  reference: Reference,
): GoodsDecision => {
  const { goods, rfq } = won;
  if (!goods || rfq?.state !== 'won') return notWon(won);
  const lines = quantitiesIn(goods, move.returned, { most: returnable, what: 'returned' });
  if (isDecision(lines)) return lines;
  return accept<Event>(
    ...returnedEvents({ ...won, goods, rfq }, move, { reference, alone: undefined }),
  );
};

/** A won RFQ whose goods are on their way or with the buyer stays won, whatever its value. */
export const rejectWithGoodsOut = (
  { goods }: Won,
  events: readonly { type: string; data: object }[],
): GoodsDecision | undefined => {
  const isEnded = events.some(
    ({ type, data }) =>
      (type === 'RfqOutcomeCorrected' &&
        (data as EventData<'RfqOutcomeCorrected'>).to.state !== 'won') ||
      (type === 'RfqMoveProposed' && (data as EventData<'RfqMoveProposed'>).to !== 'won'),
  );
  const out = isEnded ? goods?.lines.find((line) => returnable(line) > 0) : undefined;
  return out
    ? reject(
        'goods_out',
        `${returnable(out)} of ${named(out)} were shipped: record their return first`,
      )
    : undefined;
};
