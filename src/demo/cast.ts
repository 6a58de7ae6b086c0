/** The actors: two promoters with their agents, and staff; and the acts that give agents access. */
import type { z } from 'zod';
import type { ProductChange } from '#contracts/catalog/operations.ts';
import { CHANNEL_KINDS } from '#contracts/outreach/records.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { visitorOperations } from '#contracts/registries/visitors.ts';
import { type Scope, SCOPE_NAMES } from '#contracts/scopes.ts';
import type { Clock } from '#src/ports/system.ts';
import type { House } from '#src/shared/house.ts';
import { DAY_MS } from '#src/shared/time.ts';

export const storyOperations = {
  ...agentOperations,
  ...deskOperations,
  ...holderOperations,
  ...visitorOperations,
};

type StoryOperations = typeof storyOperations;
export type StoryOperationId = keyof StoryOperations;

export type StoryInput<Id extends StoryOperationId> = Omit<
  z.input<StoryOperations[Id]['input']>,
  'idempotency_key'
>;

export type StoryAnswer<Id extends StoryOperationId> = z.output<StoryOperations[Id]['output']>;

/** Before the name of a list, or of its sending: the holder of the mailbox from which its buyer sent it. */
export const MAILBOX_OF = 'mailbox of ';

/** Before the name of an answer of quoteRfq: the holder of the mailbox that the quotation was mailed to. */
export const BUYER_OF = 'buyer of ';

/** An act of the story is one call of one operation. */
export type Act = {
  /** Days since the start of the story. */
  day: number;
  /** The name of a credential: of a person, an agent, or a list for its buyer. */
  by: string;
  operation: StoryOperationId;
  /** Texts may refer to the answer of an earlier act, `{name.field}`, or to the time: `{now}`, `{in 3.5 days}`. */
  input: object;
  /** The name of the answer, for later acts. */
  as?: string;
  /** Whether the service must refuse the act. */
  isRefused?: true;
};

/** Returns a function that creates the acts of one actor. */
export const actor =
  (by: string) =>
  <Id extends StoryOperationId>(
    day: number,
    operation: Id,
    { as, ...input }: StoryInput<Id> & { as?: string },
  ): Act => ({ day, by, operation, input, ...(as !== undefined && { as }) });

/** The holder of the desk token in the data directory. */
export const ROOT = 'root';
/** Has no credential. */
export const VISITOR = 'A visitor';
export const STAFF = 'Mara, staff';
/** Approves what Mara proposes. */
export const APPROVER = 'Noor, staff';
/** Acts for people who ask for their data. */
const PRIVACY = 'Ilse, privacy';
const OWNERS = { northwind: 'Northwind, owner', harbour: 'Harbour, owner' } as const;

const PROFILES = {
  northwind: {
    name: 'Northwind Gifts Ltd',
    postal_address: '4 Quay Street\nWhitby',
    mailbox: 'office@northwind.example',
  },
  harbour: {
    name: 'Harbour Traders',
    postal_address: '11 Dock Road\nBristol',
    mailbox: 'office@harbour.example',
  },
} as const;

/** Who sells, where no setting says it. */
export const DEMO_HOUSE: House = {
  name: 'Lindfield Wholesale',
  address: '12 Mill Lane, York YO1 7HH, United Kingdom',
  mailbox: 'sales@house.example',
  phone: '+44 1904 496 0000',
  vatNumber: 'GB 123 4567 89',
  prices: 'nothing',
  answerDays: 2,
};

/** Who signs in: the service prints a link for each. */
export const PEOPLE = [
  { name: 'Mara Lind', mailbox: 'mara@house.example', roles: ['staff'] },
  { name: 'Noor Haddad', mailbox: 'noor@house.example', roles: ['staff', 'privacy'] },
  { name: 'Nell Ward', mailbox: 'nell@northwind.example', roles: ['owner'], owners: ['northwind'] },
  { name: 'Hari Bell', mailbox: 'hari@harbour.example', roles: ['owner'], owners: ['harbour'] },
  { name: 'Ida Voss', mailbox: 'ida@house.example', roles: ['auditor'] },
  { name: 'Omar Reyes', mailbox: 'omar@house.example', roles: ['operator'] },
] satisfies StoryInput<'invitePerson'>[];

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
export const openingActs = (products: ProductChange[]): Act[] => [
  root(0.01, 'issueDeskToken', { as: STAFF, name: STAFF, roles: ['staff'] }),
  ...Object.entries(OWNERS).map(([owner_id, name]) =>
    root(0.01, 'issueDeskToken', { as: name, name, roles: ['owner'], owner_id }),
  ),
  ...Object.keys(OWNERS).map((owner_id) =>
    staff(0.05, 'configureOutreach', {
      owner_id,
      mode: 'owner_controlled',
      channels: CHANNEL_KINDS.map((kind) => ({ kind, adapter: 'file' as const })),
    }),
  ),
  ...Object.entries(PROFILES).flatMap(([owner_id, profile]) => [
    staff(0.06, 'setOwnerProfile', { owner_id, ...profile }),
    staff(0.07, 'confirmOwnerMailbox', {
      owner_id,
      mailbox: profile.mailbox,
      reason: 'It is in the signed contract',
    }),
  ]),
  staff(0.1, 'importProducts', { products }),
  root(3.5, 'issueDeskToken', { as: APPROVER, name: APPROVER, roles: ['staff'] }),
  root(24.1, 'issueDeskToken', { as: PRIVACY, name: PRIVACY, roles: ['privacy'] }),
  // By the machine, so that they are independent of each other.
  ...PEOPLE.map((person) => root(29.8, 'invitePerson', person)),
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

  northwind(29.4, 'requestAccess', {
    owner_id: 'northwind',
    name: 'Trade directory',
    purpose: 'Lists giftware in a directory for independent shops',
    scopes: ['products:read', 'links:write'],
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

export const STORY_DAYS = 30;

export type DemoClock = Clock & {
  /** Sets the clock to the start of the story, if the log is empty. */
  begin(head: { position: number }): void;
  /** Sets the time of the story, at most to the real time. */
  set(at: number): void;
  /** Switches to real time. */
  live(): void;
  readonly real: Clock;
  /** Whether the log had events before the story. */
  readonly hasEarlierEvents: boolean;
};

/** Makes a clock that shows the time of the story first, and then the real time. */
export const demoClock = (real: Clock): DemoClock => {
  let storyTime: number | undefined;
  let hasEarlierEvents = false;
  const set = (at: number): void => {
    storyTime = Math.min(at, real.now());
  };
  return {
    now: () => storyTime ?? real.now(),
    monotonic: () => real.monotonic(),
    begin({ position }) {
      hasEarlierEvents = position > 0;
      if (position === 0) set(real.now() - STORY_DAYS * DAY_MS);
    },
    set,
    live() {
      storyTime = undefined;
    },
    real,
    get hasEarlierEvents() {
      return hasEarlierEvents;
    },
  };
};
