import type { OperationId } from '#contracts/index.ts';
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

/** A person with a desk token; ownerId when the token is bound to one promoter. */
export type DeskCaller = {
  kind: 'desk';
  tokenId: string;
  name: string;
  /** Absent in tokens of earlier versions. */
  personId?: string;
  roles: ReadonlySet<DeskRole>;
  ownerId?: string;
};

/** The holder of a review link. The operation finds its list, or none. */
export type BuyerCaller = { kind: 'buyer'; token: string };

export type VisitorCaller = { kind: 'visitor' };

export type Caller = AgentCaller | DeskCaller | BuyerCaller | VisitorCaller;

/** An authorized call: its caller, surface, time and idempotency key. */
export type Call = {
  ownerId: string;
  /** Agent id, desk token id, or `buyer`, `visitor`, `system`. */
  actor: string;
  keyId?: string;
  surface: Surface;
  operation: string;
  scope?: Scope;
  requestId: string;
  correlation?: string;
  /** Epoch milliseconds at which the call was accepted; its decisions use no other time. */
  at: number;
  /** Hash of (owner, agent, operation, idempotency key); of the desk: (token, operation, idempotency key). */
  idem?: string;
  /** Hash of the validated input. */
  fingerprint?: string;
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
export type BuyerCall = Call & { caller: BuyerCaller };
export type VisitorCall = Call & { caller: VisitorCaller };
/** A call of the service itself. `signal` is aborted when the process stops. */
export type SystemCall = Call & { signal: AbortSignal };

/** The call without its key, for events that a retry must not find as its own. */
export const unkeyed = <C extends Call>({ idem: _idem, fingerprint: _fingerprint, ...call }: C) =>
  call;
