import type { z } from 'zod';
import type { AgentOperations } from '#contracts/registries/agents.ts';
import type { Rates } from '#contracts/limits.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import type { Clock, Ids, KeyVault, Secrets } from '#src/ports/system.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { Timeline } from '#src/writing/timeline.ts';
import type { StreamQueue } from '#src/writing/stream-queue.ts';
import type { Audit } from './audit.ts';
import type { Credentials } from './authenticate.ts';
import type { Confirmation } from './confirmation.ts';
import type { ReadModelFollower } from '#src/ports/follower.ts';
import type { AgentCall } from '#src/shared/call.ts';

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
  /** Limits per currency, in minor units, above which a second person approves; undefined if none must. */
  approvalAbove?: readonly { amount: number; currency: string }[] | undefined;
  /** Why nothing is ever sent to a URL, as far as its text tells; undefined otherwise. */
  targetFault(url: string): string | undefined;
  /** The mailbox that gets the notices for staff; undefined if there is none. */
  staffMail: string | undefined;
};

export type InputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['input']>;

type OutputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['output']>;

/** A handler of an operation of agents. `D`: what it needs. */
export type Handler<Id extends keyof AgentOperations, D = Deps> = (
  deps: D,
  input: InputOf<Id>,
  call: AgentCall,
) => Promise<Outcome<OutputOf<Id>>>;
