import type { Role, Scope } from '#contracts/scopes.ts';

/** `system` is the service itself, on nobody's call. */
export type Surface = 'rest' | 'mcp' | 'a2a' | 'portal' | 'desk' | 'cli' | 'system';

/** An agent behind a valid key. ownerId of a test key is the owner's test space. */
export type AgentCaller = {
  kind: 'agent';
  ownerId: string;
  agentId: string;
  keyId: string;
  scopes: ReadonlySet<string>;
  environment: 'live' | 'test';
};

/** A person behind a desk token; ownerId when the token is bound to one promoter. */
export type DeskCaller = {
  kind: 'desk';
  tokenId: string;
  name: string;
  roles: ReadonlySet<Role>;
  ownerId?: string;
};

/** One authorized call: who, through what, when, and under which idempotency key. */
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
  /** Epoch milliseconds at which the call was accepted; the only time its decisions know. */
  at: number;
  /** Hash of (actor, operation, idempotency key). */
  idem?: string;
  /** Hash of the validated input. */
  fingerprint?: string;
};

/** The A2A task that a call makes, pinned into what the call creates. */
export type TaskRef = { task_id: string; context_id: string };

export type AgentCall = Call & {
  caller: AgentCaller;
  task?: TaskRef;
  /** The answer goes out as a file, in which nothing says that there is more. */
  file?: true;
};
export type DeskCall = Call & { caller: DeskCaller };

/** The same call as the cause of an event that is not its own effect, and so not found by its key. */
export const unkeyed = <C extends Call>({ idem: _idem, fingerprint: _fingerprint, ...call }: C) =>
  call;
