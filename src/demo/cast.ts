/** The actors: two promoters with their agents, and staff; and the acts that give agents access. */
import { OUTBOUND_KINDS } from '#contracts/outreach/outbound.records.ts';
import { type Scope, SCOPE_NAMES } from '#contracts/scopes.ts';
import type { ProductInput } from '#src/catalog/feed.ts';
import { type Act, actor } from './acts.ts';

/** The holder of the desk token in the data directory. */
export const ROOT = 'root';
/** Has no credential. */
export const VISITOR = 'A visitor';
const STAFF = 'Mara, staff';
/** Approves what Mara proposes where APPROVAL_ABOVE is set. */
export const APPROVER = 'Noor, staff';
/** Acts for people who ask for their data. */
const PRIVACY = 'Ilse, privacy';
const OWNERS = { northwind: 'Northwind, owner', harbour: 'Harbour, owner' } as const;

/** The agent whose key the banner shows. */
export const DEMO_AGENT = 'Newsletter agent';
export const CONCIERGE = 'Shop concierge';
export const SCOUT = 'Social scout';

export const KEY_DAYS = 365;

const root = actor(ROOT);
export const staff = actor(STAFF);
export const privacy = actor(PRIVACY);
export const northwind = actor(OWNERS.northwind);
const harbour = actor(OWNERS.harbour);
export const newsletter = actor(DEMO_AGENT);
export const concierge = actor(CONCIERGE);
export const scout = actor(SCOUT);

/** Desk tokens, outreach settings, and the catalog. */
export const openingActs = (products: ProductInput[]): Act[] => [
  root(0.01, 'issueDeskToken', { as: STAFF, name: STAFF, roles: ['staff'] }),
  ...Object.entries(OWNERS).map(([owner_id, name]) =>
    root(0.01, 'issueDeskToken', { as: name, name, roles: ['owner'], owner_id }),
  ),
  ...Object.keys(OWNERS).map((owner_id) =>
    staff(0.05, 'configureOutreach', {
      owner_id,
      mode: 'owner_controlled',
      channels: OUTBOUND_KINDS.map((kind) => ({ kind, adapter: 'file' as const })),
    }),
  ),
  staff(0.1, 'importProducts', { products }),
  root(3.5, 'issueDeskToken', { as: APPROVER, name: APPROVER, roles: ['staff'] }),
  root(24.1, 'issueDeskToken', { as: PRIVACY, name: PRIVACY, roles: ['privacy'] }),
];

const CONCIERGE_SCOPES: Scope[] = [
  'products:read',
  'links:write',
  'handoffs:write',
  'leads:read',
  'leads:write',
  'performance:read',
];

export const ACCESS_ACTS: readonly Act[] = [
  northwind(0.2, 'requestAccess', {
    as: 'newsletter access',
    owner_id: 'northwind',
    name: DEMO_AGENT,
    purpose: 'Finds giftware for the monthly letter to 1,800 shops, and prepares their lists',
    scopes: [...SCOPE_NAMES],
  }),
  staff(0.6, 'approveAccess', {
    agent_id: '{newsletter access.id}',
    reason: 'Known promoter, double opt-in',
  }),
  northwind(0.7, 'issueKey', {
    as: DEMO_AGENT,
    agent_id: '{newsletter access.id}',
    expires_in_days: KEY_DAYS,
  }),

  harbour(0.8, 'requestAccess', {
    as: 'concierge access',
    owner_id: 'harbour',
    name: CONCIERGE,
    purpose: 'Answers shopkeepers in the members’ chat and prepares lists for them',
    scopes: [...CONCIERGE_SCOPES, 'agents:notify'],
  }),
  staff(1.3, 'approveAccess', {
    agent_id: '{concierge access.id}',
    reason: 'Approved without notifications: no recipient was named',
    scopes: CONCIERGE_SCOPES,
  }),
  harbour(1.4, 'issueKey', {
    as: CONCIERGE,
    agent_id: '{concierge access.id}',
    expires_in_days: KEY_DAYS,
  }),
  harbour(20.2, 'rotateKey', {
    as: CONCIERGE,
    key_id: `{${CONCIERGE}.id}`,
    expires_in_days: KEY_DAYS,
  }),
  harbour(20.9, 'revokeKey', {
    key_id: `{${CONCIERGE}.previous_id}`,
    reason: 'Seen in a shared screen recording',
  }),

  northwind(1.6, 'requestAccess', {
    as: 'scout access',
    owner_id: 'northwind',
    name: SCOUT,
    purpose: 'Picks products for two posts a week',
    scopes: ['products:read', 'links:write', 'performance:read', 'social:write'],
  }),
  staff(2.1, 'approveAccess', {
    agent_id: '{scout access.id}',
    reason: 'Posts are approved one by one',
  }),
  northwind(2.2, 'issueKey', {
    as: SCOUT,
    agent_id: '{scout access.id}',
    expires_in_days: KEY_DAYS,
  }),
  staff(18.4, 'suspendAgent', {
    agent_id: '{scout access.id}',
    reason: 'Two posts went out without the disclosure',
  }),

  harbour(5.5, 'requestAccess', {
    as: 'mailer access',
    owner_id: 'harbour',
    name: 'Bulk mailer',
    purpose: 'Writes to shops whose addresses were bought',
    scopes: ['products:read', 'leads:write', 'messages:write'],
  }),
  staff(6.1, 'denyAccess', {
    agent_id: '{mailer access.id}',
    reason: 'No lawful basis for bought addresses',
  }),
];
