import type { EventData } from '#contracts/registries/events.ts';
import { LogUnavailable, type NewEvent } from '#src/ports/event-log.ts';
import type { Recorder } from '#src/writing/recorder.ts';

export type AuditEntry = EventData<'CallsAudited'>['entries'][number];

/** Entries of one subject that are not stored yet; equal calls are one entry with a count. */
export type AuditBatch<Subject> = { subject: Subject; entries: Map<string, AuditEntry> };

/** The append of a batch; undefined when there is nothing to store. */
export type AuditAppend = { stream: string; events: readonly NewEvent[] } | undefined;

export type AuditQueueOptions<Subject = never> = {
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
export class AuditQueue<Subject> {
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
