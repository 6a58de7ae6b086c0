import type { EventData } from '#contracts/events/index.ts';
import { priceLines, totalsOf } from '../handoffs/price-lines.ts';
import { findPromotion, type Promotion } from '../links/promotion.ts';
import type { VisitorHandler } from '../links/visitor-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { present } from '../shared/present.ts';

const ONCE_CHARS = 22;

/** A list that the address of a page has, priced now. */
export type ShownList = Pick<EventData<'BuyerListCreated'>, 'lines' | 'totals'> & {
  /** Ids of products that are not offered any more. */
  missing: readonly string[];
  promotion?: Promotion;
  /** Identifies the form that makes the list, so that a repeated form makes one list. */
  once: string;
};

export const viewList: VisitorHandler<'viewList'> = async (deps, { lines, ...source }, { at }) => {
  const products = deps.catalog.byId(lines.map(({ product_id }) => product_id));
  const offered = lines.filter(({ product_id }) => products.has(product_id));
  const priced = priceLines(deps.catalog, offered);
  if ('faults' in priced) throw new Error('a product left the catalog within a call');
  return done({
    lines: priced.lines,
    totals: totalsOf(priced.lines),
    missing: lines.flatMap(({ product_id }) => (products.has(product_id) ? [] : [product_id])),
    ...present({ promotion: await findPromotion(deps, source, at) }),
    once: deps.ids.base62(ONCE_CHARS),
  });
};
