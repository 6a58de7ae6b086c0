/**
 * Read models of access: credentials, requests for access, open applications. Authentication and the desk read them.
 */
import {
  AGENT_EVENTS,
  DESK_TOKEN_EVENTS,
  KEY_EVENTS,
  type AgentEventType,
  type DeskTokenEventType,
  type EventType,
  type KeyEventType,
  APPLICATION_EVENTS,
  PERSON_EVENTS,
  type PersonEventType,
  SESSION_EVENTS,
  type SessionEventType,
} from '#contracts/registries/events.ts';
import {
  agent,
  type AgentState,
  apiKey,
  type KeyState,
  application,
} from '#src/access/access.decider.ts';
import { person } from '#src/people/person.decider.ts';
import { session } from '#src/people/session.decider.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { ListEntry } from '#src/ports/read-model.ts';
import {
  accessScope,
  type AgentRow,
  type DeskTokenRow,
  type KeyRow,
  ALL_ACCESS_REQUESTS,
  foldedWords,
  listBy,
  listOfWord,
  type OpenRow,
  type PersonRow,
  type SessionRow,
} from '#src/ports/rows.ts';
import { openRecords } from './open-records.ts';
import { withPlan } from './plans.ts';
import { type Projection, typedEvent } from './projection.ts';

type AccessEventType =
  | AgentEventType
  | KeyEventType
  | DeskTokenEventType
  | PersonEventType
  | SessionEventType;

type Common = { owner: string; sort: Position };

/** The state of an agent, a credential or a person, with its owner and the position of its first event. */
type CredentialRow =
  | (AgentRow & AgentState & Common)
  | (KeyRow & KeyState & Common)
  | (DeskTokenRow & Common)
  | PersonRow
  | SessionRow;

const ACCESS_EVENTS: readonly EventType[] = [
  ...AGENT_EVENTS,
  ...KEY_EVENTS,
  ...DESK_TOKEN_EVENTS,
  ...PERSON_EVENTS,
  ...SESSION_EVENTS,
];

const credentialOf = (event: FoldEvent): { kind: CredentialRow['kind']; id: string } => {
  const { data } = typedEvent<AccessEventType>(event);
  if ('key_id' in data) return { kind: 'key', id: data.key_id };
  if ('token_id' in data) return { kind: 'desk', id: data.token_id };
  if ('session_id' in data) return { kind: 'session', id: data.session_id };
  if ('person_id' in data) return { kind: 'person', id: data.person_id };
  return { kind: 'agent', id: data.agent_id };
};

/** Folds an event into the row that `credentials` and `access` share. */
const evolveCredential = (row: CredentialRow | undefined, event: FoldEvent): CredentialRow => {
  const { owner } = event;
  const sort = row ? row.sort : event.position;
  const { kind } = credentialOf(event);
  if (kind === 'agent') {
    const state = row?.kind === kind ? row : undefined;
    return { ...agent.evolve(state, typedEvent<AgentEventType>(event)), kind, owner, sort };
  }
  if (kind === 'key') {
    const state = row?.kind === kind ? row : undefined;
    return { ...apiKey.evolve(state, typedEvent<KeyEventType>(event)), kind, owner, sort };
  }
  if (kind === 'person') {
    const state = row?.kind === kind ? row : undefined;
    return { ...person.evolve(state, typedEvent<PersonEventType>(event)), kind, owner, sort };
  }
  if (kind === 'session') {
    const state = row?.kind === kind ? row : undefined;
    return { ...session.evolve(state, typedEvent<SessionEventType>(event)), kind, owner, sort };
  }
  return { ...deskToken(row?.kind === kind ? row : undefined, event), owner, sort };
};

const deskToken = (row: DeskTokenRow | undefined, event: FoldEvent): DeskTokenRow => {
  const { type, data, at } = typedEvent<DeskTokenEventType>(event);
  if (type === 'DeskTokenIssued')
    return {
      ...(data as Omit<DeskTokenRow, 'kind'>),
      kind: 'desk',
      status: 'active',
      created_at: at,
    };
  if (!row) throw new Error(`${data.token_id} was revoked and never issued`);
  return { ...row, status: 'revoked' };
};

/** Agents, keys, desk tokens, people and sessions by id, as authentication needs them. */
export const credentials: Projection<CredentialRow> = {
  name: 'credentials',
  version: 9,
  handles: ACCESS_EVENTS,
  place(event) {
    const { kind, id } = credentialOf(event);
    return { scope: id, key: kind };
  },
  evolve: evolveCredential,
};

/** The lists in which people are found: of each promoter for whom they act, and of each word of their name. */
const listsOfPerson = ({ name, owners, sort }: PersonRow): ListEntry[] => {
  const words = foldedWords(name).flatMap((word) => listOfWord(word) ?? []);
  const lists = new Set([...owners.map((owner) => listBy({ owner })), ...words]);
  return [...lists].map((list) => [list, sort]);
};

/** The rows of `credentials`, listed per owner and kind, sessions per person, newest first. */
export const access: Projection<CredentialRow> = {
  name: 'access',
  version: 10,
  handles: ACCESS_EVENTS,
  place(event) {
    const { kind, id } = credentialOf(event);
    const { data } = typedEvent<AccessEventType>(event);
    const of = kind === 'session' && 'person_id' in data ? data.person_id : event.owner;
    return { scope: accessScope(of, kind), key: id };
  },
  evolve: evolveCredential,
  sort: (row) => row.sort,
  lists: (row) => (row.kind === 'person' ? listsOfPerson(row) : []),
};

const requests: Projection<OpenRow<AgentState>> = {
  name: 'access-requests',
  version: 3,
  handles: AGENT_EVENTS,
  place: (event) => ({
    scope: ALL_ACCESS_REQUESTS,
    key: typedEvent<AgentEventType>(event).data.agent_id,
  }),
  evolve(row, stored) {
    const event = typedEvent<AgentEventType>(stored);
    const { owner, position } = stored;
    const sort = row && event.type !== 'AccessRequested' ? row.sort : position;
    return { owner, sort, state: agent.evolve(row?.state, event) };
  },
  // A list of its own, because the place of an agent changes with each request.
  lists: ({ owner, sort, state: { agent_id, last_request } }) =>
    [
      ALL_ACCESS_REQUESTS,
      listBy({ owner }),
      listBy({ agent: agent_id }),
      listBy({ state: last_request.outcome }),
    ].map((list) => [list, sort]),
};

/** Each agent's last request for access, of all owners, newest request first, with what the agent was granted. */
export const accessRequests = withPlan(requests, { scope: ALL_ACCESS_REQUESTS, prefix: 'agt_' });

/** The public applications that wait for their confirmation. */
export const openApplications = openRecords({
  name: 'open-applications',
  version: 1,
  handles: APPLICATION_EVENTS,
  begins: 'ApplicationReceived',
  keyOf: ({ data }) => ('subject' in data ? data.subject : data.application_id),
  fold: application.evolve,
  isSettled: ({ status }) => status !== 'waiting',
  lists: () => [],
});
