import type { Rates } from '#contracts/limits.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import type { Timeline } from '../events/timeline.ts';
import type { StreamQueue } from '../events/stream-queue.ts';
import type { Clock, Ids, KeyVault, Secrets } from '#src/ports/system.ts';
import type { Audit } from './audit.ts';
import type { Credentials } from './authenticate.ts';
import type { Confirmation } from './confirmation.ts';
import type { FactsCache } from '../performance/facts.ts';
import type { ReadModelFollower } from '../read-models/follower.ts';

/** What the application works with; src/core.ts wires it. */
export type Deps = {
  /** `hasOwnerIndex`: to read back one owner costs by its own events; to read back all costs a scan of the log. */
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
  /** The facts that performance is counted from. */
  facts: FactsCache;
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
