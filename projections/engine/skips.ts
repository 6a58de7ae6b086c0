/** The events that read models are folded without, because two people decided so. Every fold reads them first. */
import type { EventData } from '#contracts/registries/events.ts';
import type { Projection } from '#projections/projection.ts';
import type { EventLog, FoldEvent } from '#src/ports/event-log.ts';

/** The stream of what operators decide about parked events. */
export const REPAIRS_STREAM = 'desk-repairs_read-models';

/** An event is named by its place in its stream, which is the same in every copy of the log. */
export type Skip = { read_model: string; stream: string; revision: number };

type EventName = Pick<FoldEvent, 'stream' | 'revision'>;

const keyOf = ({ stream, revision }: EventName): string => `${revision}@${stream}`;

/**
 * The skipped events of each read model. The engine of each process adds what is approved while it runs, so that
 * everything that folds in a process shares one of these. `list` gives them to a thread or a file.
 */
export class Skips {
  readonly #byReadModel = new Map<string, Map<string, Skip>>();

  constructor(skips: readonly Skip[] = []) {
    for (const skip of skips) this.#add(skip);
  }

  /** Adds the skips that the log has. Call it before the first fold. */
  async read(log: Pick<EventLog, 'readStream'>): Promise<void> {
    this.learn(await log.readStream(REPAIRS_STREAM));
  }

  /** Adds what was decided in these events of the log. Returns the read models to try again: undefined is all of them. */
  learn(events: readonly Pick<FoldEvent, 'stream' | 'type' | 'data'>[]): (string | undefined)[] {
    const retried: (string | undefined)[] = [];
    for (const { stream, type, data } of events) {
      if (stream !== REPAIRS_STREAM) continue;
      if (type === 'EventSkipApproved') {
        const { read_model, ...event } = data as EventData<'EventSkipApproved'>;
        this.#add({ read_model, stream: event.stream, revision: event.revision });
        retried.push(read_model);
      } else if (type === 'ParkedEventsRetried')
        retried.push((data as EventData<'ParkedEventsRetried'>).read_model);
    }
    return retried;
  }

  has(readModel: string, event: EventName): boolean {
    if (this.#byReadModel.size === 0) return false;
    return this.#byReadModel.get(readModel)?.has(keyOf(event)) === true;
  }

  /** The events that the read model is folded with. */
  without<Event extends EventName>(readModel: string, events: readonly Event[]): readonly Event[] {
    if (!this.#byReadModel.has(readModel)) return events;
    return events.filter((event) => !this.has(readModel, event));
  }

  /** The same projections, which place a skipped event nowhere. */
  over(projections: readonly Projection[]): Projection[] {
    return projections.map((projection) => ({
      ...projection,
      place: (event) => (this.has(projection.name, event) ? undefined : projection.place(event)),
    }));
  }

  list(): Skip[] {
    return [...this.#byReadModel.values()].flatMap((skips) => [...skips.values()]);
  }

  count(readModel: string): number {
    return this.#byReadModel.get(readModel)?.size ?? 0;
  }

  get isEmpty(): boolean {
    return this.#byReadModel.size === 0;
  }

  #add(skip: Skip): void {
    const skips = this.#byReadModel.get(skip.read_model) ?? new Map<string, Skip>();
    this.#byReadModel.set(skip.read_model, skips.set(keyOf(skip), skip));
  }
}
