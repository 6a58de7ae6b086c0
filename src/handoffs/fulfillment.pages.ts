/** Where the goods of a won RFQ are, on the page of its quotation. */
import { html } from 'hono/html';
import type { GoodsState } from '#contracts/moves.ts';
import type { Writer } from '#src/shared/money.ts';
import { type Html, rich } from '#src/web/layout.ts';
import type { BuyerQuotation } from './answer-quotation.ts';

type BuyerGoods = NonNullable<BuyerQuotation['goods']>;

/** Buyers need not know which goods that are not shipped are allocated. */
const WORDS = {
  unallocated: 'to_come',
  allocated: 'to_come',
  shipped: 'on_the_way',
  delivered: 'delivered',
  returned: 'sent_back',
  cancelled: 'cancelled',
} as const satisfies Record<GoodsState, string>;

/** Says where the goods of a line are, like `4 on the way, 6 to come`; undefined for a line that was not won. */
export const goodsRemark = (
  { lines }: BuyerGoods,
  lineId: string,
  writer: Writer,
): string | undefined => {
  const line = lines.find(({ line_id }) => line_id === lineId);
  if (!line) return undefined;
  const sums = new Map<(typeof WORDS)[GoodsState], number>();
  for (const [state, words] of Object.entries(WORDS) as [GoodsState, (typeof WORDS)[GoodsState]][])
    sums.set(words, (sums.get(words) ?? 0) + (line[state] ?? 0));
  return [...sums]
    .filter(([, quantity]) => quantity > 0)
    .map(([words, quantity]) => writer.say(`goods_${words}`, { quantity: writer.count(quantity) }))
    .join(', ');
};

/** The shipments, the first one first. */
export const shipments = ({ shipments: all, lines }: BuyerGoods, writer: Writer): Html => {
  const titles = new Map(lines.map(({ line_id, title }) => [line_id, title]));
  const dayOf = (day: string): string => writer.day(Date.parse(day));
  return html`${
    all.length > 0 &&
    html`<section aria-labelledby="shipments-heading"><h2 id="shipments-heading">${writer.say('shipments')}</h2>
<ol class="plain">${all.map(
      ({ number, shipped_on, delivered_on, carrier, reference, lines: sent }) => html`<li>
<p>${rich(writer, delivered_on === undefined ? 'shipment' : 'shipment_delivered', {
        number: writer.count(number),
        shipped: dayOf(shipped_on),
        delivered: delivered_on === undefined ? '' : dayOf(delivered_on),
      })} ${[carrier, reference].filter((text) => text !== undefined).join(', ')}</p>
<p class="quiet" dir="auto">${sent
        .map(
          ({ line_id, quantity }) =>
            `${writer.count(quantity)} × ${titles.get(line_id) ?? line_id}`,
        )
        .join('; ')}</p></li>`,
    )}</ol></section>`
  }`;
};
