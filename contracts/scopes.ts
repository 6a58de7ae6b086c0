/** The nine scopes of SPEC "Authentication" 5. There are no wildcards, and no scope implies another. */
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

/** Scopes that only propose. Any of them allows reading the state of a proposal. */
export const OUTBOUND_SCOPES = ['social:write', 'messages:write', 'agents:notify'] as const;

/** The scope of an operation: one scope, any one of several, or null for any valid key. */
export type NeededScope = Scope | readonly Scope[] | null;

/** Whether a key with the scopes `granted` may call an operation that needs `needed`. */
export const allows = (needed: NeededScope, granted: ReadonlySet<string>): boolean => {
  if (needed === null) return true;
  return typeof needed === 'string'
    ? granted.has(needed)
    : needed.some((scope) => granted.has(scope));
};

/** The roles of people at the desk. No agent has one, and no role gives access to an agent interface. */
export const DESK_ROLES = {
  owner: 'One promoter: requests access, manages keys, reads its own history',
  staff: 'Reviews access, sets lead states, publishes the catalog',
  auditor: 'Reads every history and changes nothing',
  privacy:
    'Finds, exports and erases the data of a person who asked for it, and records who refuses contact',
  operator: 'Runs the service: projections, erasure, desk tokens, keys of agents',
} as const;

export type DeskRole = keyof typeof DESK_ROLES;

/** Roles of a token that is bound to no owner: all but that of an owner. */
export const UNBOUND_ROLES = (Object.keys(DESK_ROLES) as DeskRole[]).filter(
  (role) => role !== 'owner',
);

export const DESK_ROLE_NAMES = Object.keys(DESK_ROLES) as [DeskRole, ...DeskRole[]];
