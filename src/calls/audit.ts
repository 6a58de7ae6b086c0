/** Audit records: what a call read and which call was refused. A queue appends them without delaying answers. */
import type { ProblemCode } from '#contracts/problems.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { LogUnavailable, type NewEvent } from '#src/ports/event-log.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import type { AgentCaller, Surface } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Recorder } from '#src/writing/recorder.ts';

type AuditEntry = EventData<'CallsAudited'>['entries'][number];
export type RecordedAnswer = NonNullable<
  EventData<'ActivityRecorded'>['entries'][number]['answer']
>;

/** Entries of one subject that are not stored yet; equal calls are one entry with a count. */
type AuditBatch<Subject> = { subject: Subject; entries: Map<string, AuditEntry> };

/** The append of a batch; undefined when there is nothing to store. */
type AuditAppend = { stream: string; events: readonly NewEvent[] } | undefined;

type AuditQueueOptions<Subject = never> = {
  recorder: Recorder;
  /** Runs `task` after `ms`; injected so that tests need not wait. */
  schedule(task: () => void, ms: number): void;
  onLost(error: unknown): void;
  gatherMs: number;
  /** Whether this entry must be stored at once. */
  isUrgent(entry: AuditEntry): boolean;
  toAppend(batch: AuditBatch<Subject>): AuditAppend | Promise<AuditAppend>;
};

const ENTRIES_MAX = 256;
const SUBJECTS_MAX = 10_000;

/** Gathers audit entries by subject and appends them in batches. Loses none that the log may still accept. */
class AuditQueue<Subject> {
  readonly #options: AuditQueueOptions<Subject>;
  readonly #waiting = new Map<string, AuditBatch<Subject>>();
  /** Appends with an unknown outcome: each is repeated before its subject gets another. */
  readonly #unsettled = new Map<string, { batch: AuditBatch<Subject>; append: AuditAppend }>();
  #due: 'not' | 'later' | 'now' = 'not';
  #writing: Promise<void> = Promise.resolve();

  constructor(options: AuditQueueOptions<Subject>) {
    this.#options = options;
  }

  /** Adds one call of a subject. Calls with the same `like` become one entry with a count. */
  add(key: string, subject: Subject, { like, entry }: { like: string; entry: AuditEntry }): void {
    let batch = this.#waiting.get(key);
    if (!batch) {
      if (!this.#hasRoom()) {
        this.#options.onLost(new Error('too many subjects wait for their audit records'));
        return;
      }
      this.#waiting.set(key, (batch = { subject, entries: new Map() }));
    }
    const known = batch.entries.get(like);
    if (known) known.count += 1;
    else batch.entries.set(like, entry);
    const isFull = batch.entries.size >= ENTRIES_MAX;
    this.#scheduleWrite(isFull || this.#options.isUrgent(entry) ? 'now' : 'later');
  }

  /** Writes all waiting entries; resolves when they are durable or could not be written. */
  flush(): Promise<void> {
    const write = () => this.#write();
    // The next write also follows a failed one.
    return (this.#writing = this.#writing.then(write, write));
  }

  #hasRoom(): boolean {
    return this.#waiting.size + this.#unsettled.size < SUBJECTS_MAX;
  }

  #scheduleWrite(when: 'later' | 'now'): void {
    if (this.#due === 'now' || this.#due === when) return;
    this.#due = when;
    this.#options.schedule(() => void this.flush(), when === 'now' ? 0 : this.#options.gatherMs);
  }

  async #write(): Promise<void> {
    this.#due = 'not';
    await Promise.all(
      [...this.#unsettled].map(([key, { batch, append }]) => this.#append(key, batch, append)),
    );
    const batches = [...this.#waiting].filter(([key]) => !this.#unsettled.has(key));
    for (const [key] of batches) this.#waiting.delete(key);
    await Promise.all(
      batches.map(async ([key, batch]) => {
        try {
          await this.#append(key, batch, await this.#options.toAppend(batch));
        } catch (error) {
          this.#options.onLost(error);
        }
      }),
    );
  }

  async #append(key: string, batch: AuditBatch<Subject>, append: AuditAppend): Promise<void> {
    if (!append) return;
    try {
      await this.#options.recorder.record(append.stream, append.events);
      this.#unsettled.delete(key);
    } catch (error) {
      const hasRoom = this.#unsettled.has(key) || this.#waiting.has(key) || this.#hasRoom();
      if (!(error instanceof LogUnavailable) || !hasRoom) {
        this.#unsettled.delete(key);
        this.#options.onLost(error);
        return;
      }
      // Only a repetition of the same append shows whether it was applied.
      if (error.applied === 'unknown') this.#unsettled.set(key, { batch, append });
      else if (!this.#unsettled.has(key)) this.#putBack(key, batch);
      this.#scheduleWrite('later');
    }
  }

  /** Puts a batch back before the entries that were added since. */
  #putBack(key: string, batch: AuditBatch<Subject>): void {
    for (const [like, entry] of this.#waiting.get(key)?.entries ?? []) {
      const known = batch.entries.get(like);
      if (known) known.count += entry.count;
      else batch.entries.set(like, entry);
    }
    this.#waiting.set(key, batch);
  }
}

/** Caller of an audit record. A holder of a link is identified by the hash of its token. */
export type AuditedCaller =
  | ({ kind: 'agent' } & Pick<AgentCaller, 'ownerId' | 'agentId' | 'keyId'>)
  | { kind: 'desk'; id: string; session?: string | undefined }
  | { kind: 'holder'; tokenHash: string };

export type AuditedCall = {
  operation: string;
  surface: Surface;
  requestId: string;
  /** What the call asked for, where its operation requires that the record has it. */
  asked?: string | undefined;
  /** The page of a person. */
  page?: string | undefined;
  answer?: RecordedAnswer | undefined;
};

/**
 * Audits calls that no business event records: reads, refusals, replays. Records of an agent or a desk token are
 * stored within a second, refusals at once. Those of a link, and calls that a limit or an overload refused, are
 * summed over a minute, so that neither a link nor a flood of calls can grow the log.
 */
export type Audit = {
  record(subject: AuditedCaller, call: AuditedCall, outcome: Outcome<unknown>): void;
  /** Resolves when everything recorded so far is durable, or could not be written. */
  flush(): Promise<void>;
};

type AuditDeps = {
  recorder: Recorder;
  clock: Clock;
  ids: Ids;
  /** Runs `task` after `ms`; injected so that tests need not wait. */
  schedule(task: () => void, ms: number): void;
  onLost(error: unknown): void;
  /** True to record the calls of agents only: processes of an earlier version do not know `CallsAudited`. */
  holdsCalls?: boolean;
  /** Finds the handoff of a review token by the token's hash. */
  handoffOf(tokenHash: string): Promise<ReviewTokenRow | undefined>;
};

const GATHER_MS = 1_000;
const BUYER_GATHER_MS = 60_000;
/** Calls that a limit or an overload refused can be many more than the service can handle. */
const LIMITED_GATHER_MS = 60_000;
const LIMITED: ReadonlySet<string | undefined> = new Set(['rate_limited', 'overloaded']);

/** Owner of the desk's events that belong to no owner. */
export const DESK = 'desk';

const decisionFor = (code: ProblemCode): AuditEntry['decision'] => {
  if (code === 'scope_missing' || code === 'role_missing' || code === 'boundary_forbidden')
    return 'denied';
  return code.startsWith('storage') || code === 'overloaded' || code === 'internal_error'
    ? 'failed'
    : 'refused';
};

const resultOf = (outcome: Outcome<unknown>): Pick<AuditEntry, 'decision' | 'code'> => {
  if (!outcome.ok) return { decision: decisionFor(outcome.code), code: outcome.code };
  return { decision: outcome.replayOf === undefined ? 'allowed' : 'replayed' };
};

type Target = { ownerId: string; actor: string; stream: string };
type Recorded = { type: 'ActivityRecorded' | 'CallsAudited'; data: object };

/** Attributes the event to the service and names the daily stream of its subject. */
const appendFor = (
  { clock, ids }: Pick<AuditDeps, 'clock' | 'ids'>,
  { ownerId, actor, stream }: Target,
  event: Recorded,
): AuditAppend => {
  const at = clock.now();
  const call = { ownerId, actor, surface: 'system' as const, operation: 'recordActivity', at };
  const events = attribute({ ...call, requestId: ids.uuid() }, [event], ids);
  return { stream: `${ownerId}-${stream}_${Math.floor(at / DAY_MS)}`, events };
};

const isUrgent = ({ decision }: AuditEntry): boolean =>
  decision === 'denied' || decision === 'refused';

type Gathering = Pick<AuditQueueOptions, 'gatherMs' | 'isUrgent'>;
const PROMPT: Gathering = { gatherMs: GATHER_MS, isUrgent };
const SUMMED: Gathering = { gatherMs: LIMITED_GATHER_MS, isUrgent: () => false };

const agentQueue = (deps: AuditDeps & Gathering) =>
  new AuditQueue<Pick<AgentCaller, 'ownerId' | 'agentId'>>({
    ...deps,
    toAppend({ subject: { ownerId, agentId }, entries }) {
      // Entries of agents have a key id.
      const data = { agent_id: agentId, entries: [...entries.values()] };
      const stream = `activity_${agentId.slice(agentId.indexOf('_') + 1)}`;
      return appendFor(
        deps,
        { ownerId, actor: agentId, stream },
        { type: 'ActivityRecorded', data },
      );
    },
  });

const deskQueue = (deps: AuditDeps & Gathering) =>
  new AuditQueue<{ id: string }>({
    ...deps,
    toAppend({ subject: { id }, entries }) {
      const data: EventData<'CallsAudited'> = {
        actor: 'desk',
        entries: [...entries.values()],
      };
      const stream = `audit_${id.slice(id.indexOf('_') + 1)}`;
      const target = { ownerId: DESK, actor: `desk:${id}`, stream };
      return appendFor(deps, target, { type: 'CallsAudited', data });
    },
  });

/** Records the calls of review links and of links of requests; those of other links belong to no handoff. */
const holderQueue = (deps: AuditDeps) =>
  new AuditQueue<{ tokenHash: string }>({
    ...deps,
    gatherMs: BUYER_GATHER_MS,
    isUrgent: () => false,
    async toAppend({ subject: { tokenHash }, entries }) {
      const handoff = await deps.handoffOf(tokenHash);
      // The token belongs to no list.
      if (!handoff) return undefined;
      const { owner: ownerId, handoff_id } = handoff;
      const data: EventData<'CallsAudited'> = {
        actor: 'buyer',
        handoff_id,
        entries: [...entries.values()],
      };
      const stream = `audit_${handoff_id.slice(handoff_id.indexOf('_') + 1)}`;
      return appendFor(deps, { ownerId, actor: 'buyer', stream }, { type: 'CallsAudited', data });
    },
  });

export const auditLog = (deps: AuditDeps): Audit => {
  const queuesOf = (gathering: Gathering) => ({
    agents: agentQueue({ ...deps, ...gathering }),
    desk: deskQueue({ ...deps, ...gathering }),
  });
  const prompt = queuesOf(PROMPT);
  const summed = queuesOf(SUMMED);
  const holders = holderQueue(deps);
  return {
    record(subject, { operation, surface, requestId, asked, page, answer }, outcome) {
      if (deps.holdsCalls && subject.kind !== 'agent') return;
      const { decision, code } = resultOf(outcome);
      const entry: AuditEntry = {
        operation,
        surface,
        request_id: requestId,
        decision,
        ...(code !== undefined && { code }),
        ...(asked !== undefined && { asked }),
        at: deps.clock.now(),
        count: 1,
      };
      const like = `${surface}/${operation}/${decision}/${code ?? ''}/${asked ?? ''}`;
      const { agents, desk } = LIMITED.has(code) ? summed : prompt;
      switch (subject.kind) {
        case 'agent': {
          const { ownerId, agentId, keyId } = subject;
          const keyed = { ...entry, key_id: keyId, ...present({ answer }) };
          // Each recorded answer has an entry of its own.
          const own = `${keyId}/${like}/${answer ? requestId : ''}`;
          agents.add(`${ownerId}/${agentId}`, subject, { like: own, entry: keyed });
          break;
        }
        case 'desk':
          desk.add(subject.id, subject, {
            like: `${subject.session ?? ''}/${page ?? ''}/${like}`,
            entry: { ...entry, ...present({ session: subject.session, page }) },
          });
          break;
        case 'holder':
          holders.add(subject.tokenHash, subject, { like, entry });
      }
    },
    async flush() {
      const queues = [prompt.agents, prompt.desk, summed.agents, summed.desk, holders];
      await Promise.all(queues.map((queue) => queue.flush()));
    },
  };
};
