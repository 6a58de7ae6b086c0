import { HANDOFF_DISCLAIMER, LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import type { Handoff } from '#contracts/records/handoff.ts';
import type { Lead } from '#contracts/records/lead.ts';
import type { Link } from '#contracts/records/link.ts';
import type { Product } from '#contracts/records/product.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import { isOpen } from '#src/domain/handoff.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import { stateAt } from '#src/domain/lead.ts';
import type { LinkState } from '#src/domain/link.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { Unsealed } from '#src/ports/system.ts';
import { present } from './present.ts';
import { epoch, iso } from './time.ts';

/* Records as the contract shows them, from the states that the events leave. */

export const ERASED = '[erased]';

/** What was sealed, as the vault opened it. Opened before, so that rendering waits for nothing. */
export type Opened = (sealed: string) => Unsealed;

/** What stands where a text stood: nobody asked for the erasure of one whose key is merely not here. */
export const placeholderOf = (opened: null | undefined) =>
  opened === null ? ERASED : '[unreadable]';

export const shownText = (opened: Unsealed): string => opened ?? placeholderOf(opened);

export const renderLink = (ownerId: string, state: LinkState, at: number): Link => {
  const expired = state.expires_at !== undefined && state.expires_at <= at;
  const { campaign, channel, sub_ids } = state.dims;
  return {
    id: state.link_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    target: state.target,
    destination_url: state.destination_url,
    short_url: state.short_url,
    qr_svg_url: `${state.short_url}/qr.svg`,
    qr_png_url: `${state.short_url}/qr.png`,
    code: state.code,
    ...present({
      slug: state.slug,
      external_id: state.external_id,
      campaign,
      sub_ids,
      utm: state.utm,
    }),
    ...(channel !== undefined && { channel: channel as NonNullable<Link['channel']> }),
    ...(state.expires_at !== undefined && { expires_at: iso(state.expires_at) }),
    ...present({ expired_url: state.expired_url }),
    disclosure: LINK_DISCLOSURE,
    ...present({ metadata: state.metadata }),
    status: state.status === 'active' && expired ? 'expired' : state.status,
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

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
});

export const renderHandoff = (
  ownerId: string,
  state: HandoffState,
  at: number,
  help: { opened: Opened; reviewToken(handoffId: string): string },
): Handoff => {
  const { email, ...buyer } = state.buyer;
  const sealed = email === undefined ? undefined : shownText(help.opened(email));
  const waiting = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    id: state.handoff_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    title: state.title,
    ...present({ note_to_buyer: state.note_to_buyer }),
    locale: state.locale,
    ...present({ link_id: state.link_id, external_id: state.external_id }),
    buyer: { ...buyer, ...present({ email: state.erased ? ERASED : sealed }) },
    line_items: state.lines.map(renderLine),
    list_revision: state.list_revision,
    indicative_totals: state.totals,
    review_url: `${state.review_origin}/h/${help.reviewToken(state.handoff_id)}`,
    status: waiting && !isOpen(state, at) ? 'expired' : state.status,
    ...present({ status_reason: state.status_reason }),
    expires_at: iso(state.expires_at),
    disclaimer: HANDOFF_DISCLAIMER,
    ...present({ metadata: state.metadata }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

const contactOf = (opened: Unsealed) =>
  typeof opened === 'string'
    ? (JSON.parse(opened) as Exclude<Lead['contact'], undefined>)
    : placeholderOf(opened);

export const renderLead = (ownerId: string, state: LeadState, at: number, opened: Opened): Lead => {
  const { consent, contact, interest, sealed_reason, state_reason } = state;
  const note = interest?.note;
  return {
    id: state.lead_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    external_id: state.external_id,
    source: state.source,
    company: state.company,
    ...(contact !== undefined && { contact: contactOf(opened(contact)) }),
    ...(consent && {
      consent: { ...consent, obtained_at: iso(epoch(consent.obtained_at)) },
    }),
    ...(interest && {
      interest: {
        ...interest,
        ...(note !== undefined && { note: shownText(opened(note)) }),
      },
    }),
    state: stateAt(state, at),
    ...present({
      state_reason: sealed_reason === undefined ? state_reason : shownText(opened(sealed_reason)),
    }),
    claim_expires_at: iso(state.claim_expires_at),
    ...present({ outcome_value: state.value, metadata: state.metadata }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

/** The tier that applies at `quantity`; below the first one, the first. */
export const tierAt = (product: Pick<CatalogProduct, 'price_tiers'>, quantity: number) => {
  const [first] = product.price_tiers;
  if (!first) throw new Error('a product without a price was published');
  return product.price_tiers.findLast((tier) => tier.min_quantity <= quantity) ?? first;
};

export const renderProduct = (product: CatalogProduct, atQuantity?: number): Product => {
  const { currency } = product;
  const quantity = atQuantity ?? product.moq;
  const { brand, gtin, mpn, image_url, origin_country, ship_from, lead_time_days } = product;
  return {
    id: product.product_id,
    sku: product.sku,
    title: product.title,
    description: product.description,
    ...present({ brand, gtin, mpn }),
    category: product.category,
    ...present({ image_url, origin_country, ship_from, lead_time_days }),
    order_rule: { moq: product.moq, increment: product.increment },
    price_tiers: product.price_tiers.map(({ min_quantity, unit_price }) => ({
      min_quantity,
      unit_price: { amount: unit_price, currency },
    })),
    price_at_quantity: {
      quantity,
      unit_price: { amount: tierAt(product, quantity).unit_price, currency },
    },
    price_status: 'indicative',
    stock: {
      level: product.stock.level,
      available_quantity: product.stock.available_quantity,
      as_of: iso(product.stock.as_of),
    },
    ...present({ certifications: product.certifications }),
    status: 'published',
    revision: product.revision,
    updated_at: iso(product.updated_at),
  };
};
