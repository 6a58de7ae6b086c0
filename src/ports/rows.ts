/** Rows of the read models that the application reads. */
import type { GoodsState } from '#contracts/moves.ts';
import type { EventData } from '#contracts/registries/events.ts';

type Dims = EventData<'LinkCreated'>['dims'];

/** The destination of a short code. */
export type CodeRow = {
  owner: string;
  link_id: string;
  agent_id: string;
  destination_url: string;
  expires_at?: number;
  expired_url?: string;
  dims: Dims;
  disabled: boolean;
};

/** The key of an owner's row beside those of the codes. */
export const OWNER_SETTINGS = 'settings';

/**
 * `confirms`: the token belongs to the mail that confirms an RFQ; the number is the sending's. `quotes`: it belongs to the
 * letter with the quotation of this number.
 */
export type ReviewTokenRow = {
  owner: string;
  handoff_id: string;
  confirms?: number;
  quotes?: number;
};

/** A list that a mailbox confirmed, at that time in epoch milliseconds. */
export type ConfirmedRow = { owner: string; handoff_id: string; at: number; sort: number };

/** The only scope of the list of all owners. */
export const ALL_OWNERS = 'all';

export type OwnerRow = { owner: string; sort: number };

/** The only scope of the list of all erased subjects. */
export const ALL_ERASURES = 'all';

/** `contact`: the subject of the RFQ's contact, which is erased with it. */
export type ErasureRow = { subject: string; contact?: string | undefined; sort: number };

/** A lead, handoff or profile with a contact of the mailbox that is the scope; `addresses`: keys of its spellings there. */
export type MailboxRow = { owner: string; record: string; addresses: string[]; sort: number };

/** The key of a mailbox's row, which names who may not contact its person. */
export const SUPPRESSION = 'suppression';

/** The name of the list of rows with these values, like `state=won&link=lnk_1`. */
export const listBy = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([field, value]) => `${field}=${value}`)
    .join('&');

/**
 * Lists by times in epoch milliseconds. Leads are in log order by creation and by the end of their claim, except for
 * LEAD_SKEW_MS; those that are not are in the list LATE_LEADS, in log order, and in neither of the other two.
 */
export const LEADS_BY_CREATION = 'created';
export const LEADS_BY_CLAIM_END = 'claim_end';
export const LATE_LEADS = 'late';
export const LEAD_SKEW_MS = 60_000;
/** Leads changed since their creation, by last change. */
export const LEADS_BY_CHANGE = 'updated';
/** Requests that are not dispatched, by the time at which they expire. */
export const OUTBOUND_BY_EXPIRY = 'expiry';

/** The first leads that name a handoff as their source. */
export type HandoffLeadsRow = { leads: string[] };

/** An agent, with all that authentication needs. */
export type AgentRow = {
  kind: 'agent';
  owner: string;
  agent_id: string;
  name: string;
  purpose: string;
  pending?: { name: string; purpose: string; scopes: string[] } | undefined;
  last_request: {
    scopes: string[];
    requested_at: number;
    outcome: 'pending' | 'granted' | 'partial' | 'denied';
    reason?: string;
    decided_at?: number;
  };
  granted: string[];
  status: 'requested' | 'approved' | 'denied' | 'suspended';
  suspended_by?: 'owner' | 'staff' | undefined;
  reason?: string;
  decided_at?: number;
  created_at: number;
  /** Revision of the last event. */
  version: number;
};

export type KeyRow = Omit<EventData<'KeyIssued'>, 'rotated_from'> & {
  kind: 'key';
  owner: string;
  status: 'active' | 'rotating' | 'revoked';
  /** When its replacement was issued, in epoch milliseconds. */
  rotated_at?: number;
  created_at: number;
  /** Revision of the last event. */
  version: number;
};

export type DeskTokenRow = EventData<'DeskTokenIssued'> & {
  kind: 'desk';
  status: 'active' | 'revoked';
  created_at: number;
};

type PersonInvited = EventData<'PersonInvited'>;

/** A person who may sign in, with all that authentication needs. */
export type PersonRow = Omit<PersonInvited, 'invitation' | 'invited_by'> & {
  invited_by?: string;
  kind: 'person';
  owner: string;
  status: 'invited' | 'active' | 'ended';
  invitation?: PersonInvited['invitation'] | undefined;
  passkeys: (Omit<EventData<'PasskeyAdded'>, 'person_id'> & { refused_at?: number })[];
  accounts: { issuer: string; sealed_subject: string }[];
  unlinked: string[];
  /** Sessions with another number have ended. */
  rights: number;
  /** When the person last ended, also if they were invited again. */
  ended_at?: number;
  ended_reason?: string;
  erased?: string;
  created_at: number;
  /** Revision of the last event. */
  version: number;
  sort: number;
};

export type SessionRow = EventData<'SessionStarted'> & {
  kind: 'session';
  owner: string;
  status: 'active' | 'ended';
  started_at: number;
  used_at: number;
  /** The keys of the places where it was used. */
  places: string[];
  /** Revision of the last event. */
  version: number;
  sort: number;
};

/** Returns the scope of a list in `access`, of an owner or, for sessions, of a person; each kind has a list of its own. */
export const accessScope = (
  ownerId: string,
  kind: 'agent' | 'key' | 'desk' | 'person' | 'session',
): string => `${ownerId}/${kind}`;

/** The only scope of a list of all owners' open records; no owner can have this name. */
export const OPEN_RECORDS = 'open';

/** A row with what staff plan for its record: the id of a person, and when the next step is due, in epoch milliseconds. */
export type PlannedRow = { sort: number; plan?: { assigned_to?: string; due_at?: number } };

/** The list of the leads whose external_id differs in capitals, spaces and width of letters only. */
export const listOfExternalId = (externalId: string): string => {
  const folded = externalId.normalize('NFKC').toUpperCase().toLowerCase().replaceAll(/\s/g, '');
  return listBy({ external_id: encodeURIComponent(folded.toWellFormed()) });
};

/** The list of an owner's records of a campaign. */
export const listOfCampaign = (campaign: string): string =>
  listBy({ campaign: encodeURIComponent(campaign.toWellFormed()) });

/** The only row of an owner's settings of outreach. */
export const OUTREACH_SETTINGS = 'settings';

/** The kinds of streams whose events are changes. */
export const CHANGED_KINDS = ['link', 'handoff', 'lead', 'outbound', 'agent'] as const;
export type ChangedKind = (typeof CHANGED_KINDS)[number];

/** An event that may have changed a record of an owner. */
export type ChangeRow = { position: number; revision: number; stream: string };

/** An owner's records of one kind by the position of their last event. */
export const BY_CHANGE = 'changed';

/** The handoffs that agents made. */
export const MADE_BY_AGENTS = 'agents';

/** The words of a text, in small letters and without accents. */
export const foldedWords = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** Whether each of the folded words begins a word of the texts. */
export const haveBeginnings = (
  texts: readonly (string | undefined)[],
  beginnings: readonly string[],
): boolean => {
  if (beginnings.length === 0) return true;
  const words = texts.flatMap((text = '') => foldedWords(text));
  return beginnings.every((one) => words.some((word) => word.startsWith(one)));
};

const BEGINNING_CHARS = 3;

/** The list of the records with a word that begins like this one; undefined for a word that is too short for it. */
export const listOfWord = (word: string): string | undefined => {
  const beginning = Array.from(word).slice(0, BEGINNING_CHARS);
  return beginning.length < BEGINNING_CHARS
    ? undefined
    : listBy({ word: encodeURIComponent(beginning.join('')) });
};

/** The only scope of all owners' handoffs and leads, by what people name one. */
export const ALL_RECORDS = 'all';

export type NamedRow = { owner: string; record: string; sort: number };

/** The characters after the prefix of an id that are enough to look it up. */
export const BEGINNING_OF_ID = 4;
const ID_PREFIX_CHARS = 4;

/** The list of the records whose id begins so. */
export const listOfBeginning = (id: string): string =>
  listBy({ begins: id.slice(0, ID_PREFIX_CHARS + BEGINNING_OF_ID) });

/** The list of the records that are assigned to a person. Names of lists are ASCII, and ids of people need not be. */
export const listOfPerson = (personId: string): string =>
  listBy({ assigned: encodeURIComponent(personId) });

/** The list of the records with a move that waits for the approval of another person. */
export const NEEDS_APPROVAL = 'needs-approval';

/** The list of the RFQs with a question of the buyer that waits for an answer. */
export const HAS_QUESTION = 'has-question';

export const WITH_NEXT_STEP = 'next-step';

/** A record that is not at its end: its owner, and its state as the decider folds it. */
export type OpenRow<State = object> = PlannedRow & { owner: string; state: State };

/** The only scope of all owners' leads. */
export const ALL_LEADS = 'all';

/** Keyed hashes of a lead's telephone, and of the domains that tell its company. */
export type LeadHintRow = {
  owner: string;
  lead_id: string;
  phone?: string | undefined;
  domains: string[];
  sort: number;
};

/** The list of the leads that staff can move, and of those whose correction waits for approval. */
export const OPEN_LEADS = 'open';

/** The only scope of all owners' requests for access, and the list of all of them. */
export const ALL_ACCESS_REQUESTS = 'all';

/** The only scope of the list of all owners' RFQs. */
export const ALL_RFQS = 'all';

/** The list of the RFQs without an outcome. */
export const OPEN_RFQS = 'open';

/** An RFQ that a buyer sent, without its contact and lines; `rfq` is its state as the decider folds it. */
export type RfqRow<Rfq = object> = PlannedRow & {
  owner: string;
  handoff_id: string;
  agent_id: string;
  totals: EventData<'HandoffCreated'>['totals'];
  /** Epoch milliseconds. */
  submitted_at: number;
  rfq: Rfq;
  /** Where the goods that are least far are; only of an RFQ that was won. */
  goods?: GoodsState | undefined;
  /** The lead of the handoff that was won by itself; the RFQ has its outcome. */
  won_by?: { lead_id: string; values: EventData<'HandoffCreated'>['totals'] };
  sort: number;
};

/** The only scope of the list of push notification configurations. */
export const OPEN_PUSH = 'push';

/** A push notification configuration that is not deleted; its secrets are only in the log. */
export type PushRow = {
  owner: string;
  task: string;
  config_id: string;
  url: string;
  scheme?: string;
  sort: number;
};

export type HistoryEntry = {
  position: number;
  revision: number;
  type: string;
  at: number;
  stream: string;
};

/** The key of the row with an owner's newest events, which has fewer than EVENTS_PER_HISTORY_ROW. */
export const NEWEST_HISTORY = 'newest';

/** Events in each other row of history: each new event sends the newest row to a remote store again. */
export const EVENTS_PER_HISTORY_ROW = 16;

/** Events of an owner in log order: VALUES_PER_HISTORY_ENTRY values for each, in the order of HistoryEntry. */
export type HistoryRow = { entries: (number | string)[] };

export const VALUES_PER_HISTORY_ENTRY = 5;

export const historyEntries = ({ entries }: HistoryRow): HistoryEntry[] => {
  const history: HistoryEntry[] = [];
  for (let i = 0; i < entries.length; i += VALUES_PER_HISTORY_ENTRY) {
    const [position, revision, type, at, stream] = entries.slice(i, i + VALUES_PER_HISTORY_ENTRY);
    history.push({ position, revision, type, at, stream } as HistoryEntry);
  }
  return history;
};
