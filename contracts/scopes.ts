/** The nine scopes of SPEC "Authentication" 5. No wildcard, no implication: writing does not grant reading. */
export const SCOPES = {
  'products:read': { group: 'read', meaning: 'Search published products' },
  'performance:read': { group: 'read', meaning: "Read the owner's attributed performance" },
  'leads:read': { group: 'read', meaning: "Read the owner's attributed leads" },
  'links:write': { group: 'write', meaning: 'Create attributed links' },
  'handoffs:write': {
    group: 'write',
    meaning: 'Create buyer-reviewable handoffs without submitting an RFQ',
  },
  'leads:write': { group: 'write', meaning: 'Write leads' },
  'social:write': {
    group: 'outbound',
    meaning: 'Propose social posts; owner-controlled or administrator-approved only',
  },
  'messages:write': {
    group: 'outbound',
    meaning: 'Propose messages; owner-controlled or administrator-approved only',
  },
  'agents:notify': {
    group: 'outbound',
    meaning:
      'Propose notifications to other agents; owner-controlled or administrator-approved only',
  },
} as const satisfies Record<string, { group: 'read' | 'write' | 'outbound'; meaning: string }>;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]];

/** Scopes that only propose; what came of a proposal, any of them may ask. */
export const OUTBOUND_SCOPES = ['social:write', 'messages:write', 'agents:notify'] as const;

/** What an operation needs: a scope, one of several, or null for any valid key. */
export type NeededScope = Scope | readonly Scope[] | null;

/** Whether `granted` opens what needs `needed`. */
export const allows = (needed: NeededScope, granted: ReadonlySet<string>): boolean => {
  if (needed === null) return true;
  return typeof needed === 'string'
    ? granted.has(needed)
    : needed.some((scope) => granted.has(scope));
};

/** Who may act at the desk. An agent is not among them, and a desk role opens no agent interface. */
export const DESK_ROLES = {
  owner: 'The promoter: asks for access, manages keys, reads own history',
  staff: 'Reviews access, sets lead states, publishes the catalog',
  auditor: 'Reads every history, changes nothing',
  operator: 'Runs the service: projections, erasure, desk tokens',
} as const;

export type DeskRole = keyof typeof DESK_ROLES;

export const DESK_ROLE_NAMES = Object.keys(DESK_ROLES) as [DeskRole, ...DeskRole[]];
