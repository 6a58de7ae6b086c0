/** Example outreach requests. A test checks them against their schema. */
import { LINK_DISCLOSURE } from '../boundaries.ts';
import { linkExample } from './records.ts';

const AT = '2026-11-20T09:30:00.000Z';

export const postExample = {
  id: 'out_5e6f7g8h9j0k1m2n3p4q5r6s',
  owner_id: 'acme',
  agent_id: linkExample.agent_id,
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
