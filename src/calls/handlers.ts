/** What use cases work with, and the types of their handlers. src/core.ts wires it, the registries compose it. */
import type { z } from 'zod';
import type { Rates } from '#contracts/limits.ts';
import type { AgentOperations } from '#contracts/registries/agents.ts';
import type { SystemOperationId } from '#contracts/registries/system.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ReadModels, ReadModelFollower } from '#src/ports/read-model.ts';
import type { Clock, Ids, KeyVault, Secrets } from '#src/ports/system.ts';
import type { AgentCall, SystemCall } from '#src/shared/call.ts';
import type { House } from '#src/shared/house.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { ApprovalRules } from '#src/shared/proposal.ts';
import type { StreamQueue } from '#src/writing/idempotency.ts';
import type { Timeline } from '#src/writing/timeline.ts';
import type { Audit } from './audit.ts';
import type { Credentials, Confirmation } from './authenticate.ts';
import type { AcknowledgedWrites, Freshness } from './failure.ts';

/**
 * What use cases work with; src/core.ts wires it. A capability that needs more has a slice of its own, and the registry of its
 * actor composes the slices.
 */
export type Deps = {
  /** `hasOwnerIndex`: reading one owner back costs its own events; reading all back scans the log. */
  log: EventLog & { readonly hasOwnerIndex?: true };
  readModels: ReadModels;
  credentials: Credentials;
  /** Where the log is on a server, which a process may be cut off from. */
  confirmation?: Confirmation;
  /** Where the log is on a server, to which other processes write. */
  freshness?: Freshness;
  acknowledged: AcknowledgedWrites;
  catalog: Catalog;
  secrets: Secrets;
  vault: KeyVault;
  clock: Clock;
  /** Whether clock and log agree on the time. */
  timeline: Pick<Timeline, 'hasPassed' | 'conflict'>;
  ids: Ids;
  streamQueue: StreamQueue;
  following: ReadModelFollower;
  audit: Audit;
  /** Where somebody counts. */
  metrics?: Metrics;
  /** Version of the rule that tells valid clicks from the rest. */
  classifierVersion: number;
  /** The public origin, without a slash at the end; never taken from a request. */
  origin(): string;
  limits: Rates;
  /** When a second person approves a deal. */
  approval: ApprovalRules;
  /** Why nothing is ever sent to a URL, as far as its text tells; undefined otherwise. */
  targetFault(url: string): string | undefined;
  /** The mailbox that gets the notices for staff; undefined if there is none. */
  staffMail: string | undefined;
  /** Who sells; undefined if no setting says it. */
  house: House | undefined;
};

export type InputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['input']>;

type OutputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['output']>;

/** A handler of an operation of agents. `D`: what it needs. */
export type Handler<Id extends keyof AgentOperations, D = Deps> = (
  deps: D,
  input: InputOf<Id>,
  call: AgentCall,
) => Promise<Outcome<OutputOf<Id>>>;

/**
 * Makes the call of an operation that the service performs by itself. It needs no pipeline: it has no caller to identify,
 * no input to parse, no limit and no audit record. Its events record what it did.
 */
export const systemCall = (
  { clock, ids }: Pick<Deps, 'clock' | 'ids'>,
  operation: SystemOperationId,
  { ownerId, signal }: Pick<SystemCall, 'ownerId' | 'signal'>,
): SystemCall => ({
  ownerId,
  actor: 'system',
  surface: 'system',
  operation,
  requestId: ids.uuid(),
  at: clock.now(),
  signal,
});
