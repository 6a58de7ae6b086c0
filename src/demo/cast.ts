/** Who plays: two promoters with their agents, the house's staff, and what becomes of each. */
import { type Scope, SCOPE_NAMES } from '#contracts/scopes.ts';

export const STAFF = 'Mara, staff';

export const OWNERS = { northwind: 'Northwind, owner', harbour: 'Harbour, owner' } as const;
export type Owner = keyof typeof OWNERS;

export type Agent = {
  name: string;
  owner: Owner;
  day: number;
  purpose: string;
  scopes: readonly Scope[];
  decision: { day: number; reason: string; scopes?: readonly Scope[] } & (
    | { approved: true; keyDay: number }
    | { approved: false }
  );
  suspended?: { day: number; reason: string };
  rotated?: { day: number; revoked: { day: number; reason: string } };
};

/** The one whose key the banner shows. */
export const DEMO_AGENT = 'Newsletter agent';

export const AGENTS: readonly Agent[] = [
  {
    name: DEMO_AGENT,
    owner: 'northwind',
    day: 0.2,
    purpose: 'Finds giftware for the monthly letter to 1,800 shops, and prepares their lists',
    scopes: SCOPE_NAMES,
    decision: { approved: true, day: 0.6, reason: 'Known promoter, double opt-in', keyDay: 0.7 },
  },
  {
    name: 'Shop concierge',
    owner: 'harbour',
    day: 0.8,
    purpose: 'Answers shopkeepers in the members’ chat and prepares lists for them',
    scopes: [
      'products:read',
      'links:write',
      'handoffs:write',
      'leads:read',
      'leads:write',
      'performance:read',
      'agents:notify',
    ],
    decision: {
      approved: true,
      day: 1.3,
      reason: 'Approved without notifications: no recipient was named',
      scopes: [
        'products:read',
        'links:write',
        'handoffs:write',
        'leads:read',
        'leads:write',
        'performance:read',
      ],
      keyDay: 1.4,
    },
    rotated: { day: 20.2, revoked: { day: 20.9, reason: 'Seen in a shared screen recording' } },
  },
  {
    name: 'Social scout',
    owner: 'northwind',
    day: 1.6,
    purpose: 'Picks products for two posts a week',
    scopes: ['products:read', 'links:write', 'performance:read', 'social:write'],
    decision: { approved: true, day: 2.1, reason: 'Posts are approved one by one', keyDay: 2.2 },
    suspended: { day: 18.4, reason: 'Two posts went out without the disclosure' },
  },
  {
    name: 'Bulk mailer',
    owner: 'harbour',
    day: 5.5,
    purpose: 'Writes to shops whose addresses were bought',
    scopes: ['products:read', 'leads:write', 'messages:write'],
    decision: { approved: false, day: 6.1, reason: 'No lawful basis for bought addresses' },
  },
];
