/** The other acts of the month: outreach, reads, one refusal, and changes of the catalog. */
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import type { ProductInput } from '#src/catalog/feed.ts';
import type { Act } from './acts.ts';
import { concierge, newsletter, northwind, scout, staff } from './cast.ts';

/** A product for examples. */
export const SKU = 'KIT-101';

const POST = { network: 'mastodon' as const, account_ref: 'northwind-gifts' };
const CANDLES = `{letter candles.short_url} ${LINK_DISCLOSURE}`;

/** A message that the owner refuses, and a post that it sends back; the second version waits for approval. */
export const OUTREACH_ACTS: readonly Act[] = [
  newsletter(27.3, 'requestMessage', {
    as: 'message',
    channel: 'email',
    recipient_ref: 'list:shops-2024',
    subject: 'Last chance',
    text: 'Everything must go by Friday. Reply for a list.',
  }),
  northwind(27.8, 'refuseOutbound', {
    outbound_id: '{message.id}',
    content_sha256: '{message.content_sha256}',
    reason: 'It is no last chance: the candles stay in the range',
  }),
  newsletter(28.2, 'requestSocialPost', {
    as: 'post',
    ...POST,
    text: `Candles for the season: ${CANDLES}`,
    link_ids: ['{letter candles.id}'],
  }),
  northwind(28.7, 'requestOutboundChanges', {
    outbound_id: '{post.id}',
    content_sha256: '{post.content_sha256}',
    reason: 'Say the minimum order',
  }),
  newsletter(29.3, 'requestSocialPost', {
    ...POST,
    revises: '{post.id}',
    text: `Candles for the season, from six pieces: ${CANDLES}`,
    link_ids: ['{letter candles.id}'],
  }),
];

/** Weekly reads, and a call that is refused because its agent lacks the scope. */
export const READING_ACTS: readonly Act[] = [
  ...[3.2, 10.2, 17.2, 24.2].flatMap((day) => [
    newsletter(day, 'searchProducts', { q: 'candle' }),
    newsletter(day + 0.1, 'getPerformance', {}),
    concierge(day + 0.2, 'listLeads', {}),
  ]),
  {
    ...scout(14.6, 'createHandoff', {
      title: 'A list for a follower',
      line_items: [{ sku: SKU, quantity: 6 }],
    }),
    isRefused: true,
  },
];

/** Withdraws a product, and raises a price after the waiting list was created. */
export const catalogActs = (products: readonly ProductInput[]): Act[] => [
  staff(25.4, 'withdrawProduct', { sku: 'SEA-804', reason: 'Not made any more' }),
  staff(29.1, 'importProducts', {
    products: products
      .filter(({ product }) => product.sku === 'CAN-401')
      .map(({ product, stock }) => ({
        product: {
          ...product,
          price_tiers: product.price_tiers.map((tier) => ({
            ...tier,
            unit_price: tier.unit_price + 20,
          })),
        },
        stock,
      })),
  }),
];
