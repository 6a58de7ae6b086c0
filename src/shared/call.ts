/** The types of a call: who calls, over which interface, and what is known of it. Everything that performs calls uses them. */
import type { OperationId } from '#contracts/registries/agents.ts';
import type { DeskRole, Scope } from '#contracts/scopes.ts';
import type { Outcome } from './outcome.ts';

/** Interface of a call. `system` is the service itself. */
export type Surface = 'rest' | 'mcp' | 'a2a' | 'portal' | 'desk' | 'cli' | 'system';

/** An agent with a valid key. The ownerId of a test key is the owner's test space. */
export type AgentCaller = {
  kind: 'agent';
  ownerId: string;
  agentId: string;
  keyId: string;
  scopes: ReadonlySet<string>;
  environment: 'live' | 'test';
};

/** A person at the desk, signed in or with a desk token. */
export type DeskCaller = {
  kind: 'desk';
  /** The id of the person who signed in, or of the desk token. */
  id: string;
  name: string;
  personId: string;
  roles: ReadonlySet<DeskRole>;
  /** The promoters for whom the caller acts, and for no other; undefined for people of the service. */
  owners?: readonly string[];
  /** Absent for a token. */
  session?: DeskSession;
};

/** A session of a person, as the call was made with it. */
export type DeskSession = {
  id: string;
  usedIn: 'browser' | 'command_line';
  /** When the person signed in, in epoch milliseconds. */
  startedAt: number;
};

/**
 * The holder of a link: a buyer with a review link or the link of a request, and an applicant, an owner or a person with a
 * link that was mailed to them. The operation finds what the link is for, or nothing.
 */
export type HolderCaller = { kind: 'holder'; token: string };

export type VisitorCaller = { kind: 'visitor' };

export type Caller = AgentCaller | DeskCaller | HolderCaller | VisitorCaller;

/** Name and version of a client, and the model where the client names it. */
export type ClientInfo = { name: string; version?: string; model?: string };

/** An authorized call: its caller, surface, time and idempotency key. */
export type Call = {
  ownerId: string;
  /** Agent id, `desk:` with the id of a person or of a desk token, or `buyer` (any holder of a link), `visitor`, `system`. */
  actor: string;
  keyId?: string;
  /** The session of a person, and the page that the act was made on. */
  session?: string;
  page?: string;
  surface: Surface;
  operation: string;
  scope?: Scope;
  requestId: string;
  correlation?: string;
  /** The assistant that an agent acts with, as its client names itself. */
  client?: ClientInfo;
  /** Epoch milliseconds at which the call was accepted; its decisions use no other time. */
  at: number;
  /** Hash of (owner, agent, operation, idempotency key); of the desk: (token, operation, idempotency key). */
  idem?: string;
  /** Keyed hashes of the validated input, the one to store first. */
  fingerprints?: readonly [string, ...string[]];
};

/** The A2A task that a call makes, stored with the record that the call creates. */
export type TaskRef = { task_id: string; context_id: string };

export type CallOptions = {
  /** A read waits until the read models have reached it. */
  consistencyToken?: string | undefined;
  /** The A2A task that this call makes. */
  task?: TaskRef;
  /** The answer is sent as a file, which has no next_cursor. */
  file?: boolean;
};

/** What an interface passes to the pipeline for one call. */
export type CallInput = CallOptions & { input: Record<string, unknown> };

export type AgentCall = Call & {
  caller: AgentCaller;
  task?: TaskRef;
  file?: true;
};

/** A call over A2A, which performs operations of agents. */
export type TaskCall = AgentCall & {
  /**
   * Performs another operation inside this one, for the same caller. It is neither limited nor audited again:
   * the first such call is what the audit record of the outer one is about.
   */
  within(
    id: OperationId | 'answerAttributionQuestion',
    input: Record<string, unknown>,
    options?: Pick<CallOptions, 'task'>,
  ): Promise<Outcome<unknown>>;
  /** Names what the audit record is about, where it is not what this call answers. */
  auditAs(operation: string, outcome?: Outcome<unknown>): void;
};

export type DeskCall = Call & { caller: DeskCaller };

export type HolderCall = Call & { caller: HolderCaller };

export type VisitorCall = Call & { caller: VisitorCaller };

/** A call of the service itself. `signal` is aborted when the process stops. */
export type SystemCall = Call & { signal: AbortSignal };

/** The call without its key, for events that a retry must not find as its own. */
export const unkeyed = <C extends Call>({ idem: _idem, fingerprints: _fingerprints, ...call }: C) =>
  call;

/** Budgets of calls, by their names in the RateLimit headers. A redirect has no limit; only overload refuses it. */
export type Budget = 'read' | 'write' | 'outreach' | 'holder' | 'redirect';

/** What an interface knows of a request before its body is read. */
export type Arrival = {
  surface: Surface;
  requestId: string;
  /** A bearer token, or the token of a link; undefined when none was presented. */
  credential: string | undefined;
  /** The client's address. Counts refused credentials; never stored. */
  address: string;
  /** The page of a person, as its path. */
  page?: string;
  /** Of the holder of a link: whether the request has what browsers send. */
  sentBy?: 'browser' | 'program';
  /** Of agents only. */
  client?: ClientInfo;
};

/** A request whose caller is known and within its limits. */
export type Admission<C extends Caller> = {
  readonly arrival: Arrival;
  caller: C;
  /** Headers of the answer: what is left of the budget, and when the key ends. */
  headers: Readonly<Record<string, string>>;
  /** Whether an audit record of the request has been made; each request has at most one. */
  isAudited: boolean;
};
