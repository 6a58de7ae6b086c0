/**
 * Example records of the contract. Tests check that they are valid by its schemas, and that a service with the demo
 * story accepts each input. The products are those of demo-catalog.csv.
 */
import { BOUNDARIES, HANDOFF_DISCLAIMER, LINK_DISCLOSURE } from '../boundaries.ts';
import { SCOPES, SCOPE_NAMES } from '../scopes.ts';

const PRODUCT_ID = 'prd_g3g7hpwj2590m7wjz4w3kcz9';
const SKU = 'KIT-101';
const LINK_ID = 'lnk_1a2b3c4d5e6f7g8h9j0k1m2n';
const HANDOFF_ID = 'hnd_2b3c4d5e6f7g8h9j0k1m2n3p';
const LEAD_ID = 'led_3c4d5e6f7g8h9j0k1m2n3p4q';
const AGENT_ID = 'agt_4d5e6f7g8h9j0k1m2n3p4q5r';
const AT = '2026-11-20T09:30:00.000Z';
const BASE = 'https://tributary.example';

export const productExample = {
  id: PRODUCT_ID,
  sku: SKU,
  title: 'Speckled Stoneware Mug',
  description: 'Hand-glazed mug, 350 ml, oven and dishwasher safe',
  brand: 'Tidewater',
  category: 'Kitchen',
  origin_country: 'PT',
  ship_from: 'GB',
  lead_time_days: 4,
  order_rule: { moq: 6, increment: 6 },
  price_tiers: [
    { min_quantity: 6, unit_price: { amount: 340, currency: 'GBP' } },
    { min_quantity: 48, unit_price: { amount: 295, currency: 'GBP' } },
    { min_quantity: 144, unit_price: { amount: 260, currency: 'GBP' } },
  ],
  price_at_quantity: { quantity: 48, unit_price: { amount: 295, currency: 'GBP' } },
  price_status: 'indicative',
  stock: { level: 'in_stock', available_quantity: 1240, as_of: AT },
  status: 'published',
  revision: 0,
  updated_at: AT,
};

export const linkExample = {
  id: LINK_ID,
  owner_id: 'acme',
  agent_id: AGENT_ID,
  target: { kind: 'product', ref: PRODUCT_ID },
  destination_url: `${BASE}/p/${PRODUCT_ID}?utm_source=newsletter`,
  short_url: `${BASE}/l/spring-mugs`,
  qr_svg_url: `${BASE}/l/spring-mugs/qr.svg`,
  qr_png_url: `${BASE}/l/spring-mugs/qr.png`,
  code: 'spring-mugs',
  slug: 'spring-mugs',
  campaign: 'spring-sale',
  channel: 'email',
  utm: { source: 'newsletter' },
  disclosure: LINK_DISCLOSURE,
  status: 'active',
  version: 0,
  created_at: AT,
  updated_at: AT,
};

export const handoffExample = {
  id: HANDOFF_ID,
  owner_id: 'acme',
  agent_id: AGENT_ID,
  title: 'Kitchen shelf, autumn',
  locale: 'en',
  buyer: { company: 'Corner Shop', country: 'GB' },
  line_items: [
    {
      line_id: '1',
      product_id: PRODUCT_ID,
      product_revision: 0,
      sku: SKU,
      title: productExample.title,
      quantity: 48,
      indicative_unit_price: { amount: 295, currency: 'GBP' },
      tier_min_quantity: 48,
      warnings: [],
    },
  ],
  list_revision: 1,
  indicative_totals: [{ amount: 14160, currency: 'GBP' }],
  review_url: `${BASE}/h/9f2c…`,
  status: 'awaiting_buyer',
  expires_at: '2026-12-20T09:30:00.000Z',
  disclaimer: HANDOFF_DISCLAIMER,
  version: 0,
  created_at: AT,
  updated_at: AT,
};

const { review_url: _heldByNobody, ...undelivered } = handoffExample;

export const deliveredExample = {
  ...undelivered,
  buyer: { ...handoffExample.buyer, email: 'buyer@shop.example' },
  delivery: { outbound_id: HANDOFF_ID.replace(/^hnd_/, 'out_') },
};

const { review_url: _secret, ...ownHandoff } = handoffExample;
/** The handoff as its agents read it later. */
export const ownHandoffExample = { ...ownHandoff, name: handoffExample.title };

export const leadExample = {
  id: LEAD_ID,
  owner_id: 'acme',
  agent_id: AGENT_ID,
  external_id: 'crm-4711',
  source: { kind: 'agent' },
  company: { name: 'Corner Shop', country: 'GB' },
  contact: { name: 'Ada Byron', email: 'ada@cornershop.example' },
  consent: { basis: 'consent', obtained_at: '2026-01-20T09:00:00.000Z' },
  state: 'submitted',
  claim_expires_at: '2027-02-18T09:30:00.000Z',
  version: 0,
  created_at: AT,
  updated_at: AT,
};

export const postExample = {
  id: 'out_5e6f7g8h9j0k1m2n3p4q5r6s',
  owner_id: 'acme',
  agent_id: AGENT_ID,
  kind: 'social_post',
  target: { network: 'mastodon', account_ref: 'shop-account' },
  content: {
    text: 'Stoneware mugs are in stock again. Ask us for a list.',
    link_ids: [],
  },
  content_sha256: '5f2b51ca2fdc5baa31ec02e002f69aec4d0b6c8f9c5d9fdb1a06b3ac0f6b6b7d',
  revision: 1,
  schedule: { not_after: '2026-11-27T09:30:00.000Z' },
  approval: { mode: 'owner_controlled', required: 1, decisions: [] },
  status: 'pending_approval',
  delivery: { adapter: 'file', attempts: 0, outcome: 'none' },
  version: 0,
  created_at: AT,
  updated_at: AT,
} as const;

export const linkPostExample = {
  ...postExample,
  content: {
    text: `Stoneware mugs are in stock again: ${linkExample.short_url} ${LINK_DISCLOSURE}`,
    link_ids: [linkExample.id],
  },
} as const;

export const notificationExample = {
  ...postExample,
  kind: 'agent_notification',
  target: { agent_card_url: 'https://partner.example/.well-known/agent-card.json' },
  content: { text: 'Stoneware mugs are in stock again.', link_ids: [] },
  delivery: { ...postExample.delivery, adapter: 'a2a' },
} as const;

const day = {
  clicks_raw: 14,
  clicks_valid: 11,
  clicks_unique: 9,
  handoffs_created: 2,
  handoffs_opened: 1,
  handoffs_declined: 0,
  rfqs_submitted: 1,
  leads_submitted: 1,
  leads_accepted: 0,
  leads_qualified: 0,
  leads_won: 0,
  clicks_surplus: 0,
  lists_created: 0,
  rfqs_won: 0,
  rfqs_unconfirmed: 0,
  rfqs_confirmed_by_staff: 0,
  rfqs_taken_up: 1,
  rfq_lines: 1,
  won_lines: 0,
  rfq_value: [{ amount: 14160, currency: 'GBP' }],
  won_value: [],
};

export const performanceExample = {
  data: [{ bucket_start: '2026-11-20', dimensions: {}, metrics: day }],
  totals: day,
  period: { from: '2026-11-20', to: '2026-11-20', granularity: 'day', time_zone: 'UTC' },
  page: { next_cursor: null, has_more: false },
  as_of: { position: 3120, at: AT },
  classifier_version: 2,
};

export const connectionExample = {
  agent: { id: AGENT_ID, name: 'Newsletter agent', owner_id: 'acme' },
  key: {
    id: 'a1B2c3D4e5F6',
    prefix: 'trb_live_a1B2c3D4e5F6',
    last4: 'x9Zq',
    created_at: AT,
    expires_at: '2027-02-18T09:30:00.000Z',
    status: 'active',
  },
  environment: 'live',
  scopes: SCOPE_NAMES.map((name) => {
    const granted = name === 'products:read' || name === 'links:write';
    return {
      name,
      ...SCOPES[name],
      granted,
      ...(!granted && { how_to_get: 'Ask the owner to request it at the desk; staff review it.' }),
    };
  }),
  granted_scopes: ['products:read', 'links:write'],
  review: {
    status: 'approved',
    decided_at: AT,
    last_request: {
      scopes: ['products:read', 'links:write', 'handoffs:write'],
      requested_at: AT,
      outcome: 'partial',
      reason: 'No handoffs yet',
      decided_at: AT,
    },
  },
  operations: [
    { id: 'getConnection', allowed: true },
    { id: 'searchProducts', allowed: true },
    { id: 'createLink', allowed: true },
    { id: 'createHandoff', allowed: false },
    { id: 'listLeads', allowed: false },
    { id: 'submitLead', allowed: false },
    { id: 'getPerformance', allowed: false },
  ],
  limits: { writes_per_minute: 3000, body_bytes_max: 262144 },
  boundaries: BOUNDARIES.map((boundary) => ({ ...boundary })),
  outreach: {
    approval: 'owner_controlled',
    approvals_required: 1,
    channels: ['social_post', 'message'],
  },
  links: {
    openapi: `${BASE}/api/affiliate/openapi.json`,
    mcp: `${BASE}/api/affiliate/mcp`,
    mcp_status: `${BASE}/api/affiliate/mcp/status`,
    agent_card: `${BASE}/.well-known/agent-card.json`,
    short_links: `${BASE}/l/`,
  },
  consistency: { position: 3120, projection_lag_events: 0 },
};
