/** Operations of operators on parked events: list them, try them again, and leave one out, which needs two people. */
import {
  actorOfLast,
  type PeopleDeps,
  proposerOf,
  refuseDependent,
} from '#src/access/independence.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { DESK } from '#src/calls/audit.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { OperatorDeps, ParkedAt } from '#src/reading/projections.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { present } from '#src/shared/json.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { iso } from '#src/shared/time.ts';
import {
  type CommandFrom,
  decideAndAppend,
  issue,
  traceOf,
} from '#src/writing/decide-and-append.ts';
import { answerOnce } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { foldOf } from '#src/writing/streams.ts';
import {
  type RepairCommand,
  repairs,
  type DecidedSkip,
  type SkippedEvent,
  skipOf,
  type SkipsState,
} from './skip.decider.ts';

type RepairDeps = PeopleDeps & OperatorDeps;

/** Every fold reads this stream before it begins. */
const STREAM = `${DESK}-repairs_read-models`;
const TARGET = { stream: STREAM, decider: repairs };

const unknownReadModel = (names: readonly string[], name: string): Refusal =>
  refuse(
    'resource_not_found',
    `There is no read model ${name}. The read models are ${names.join(', ')}.`,
  );

const notParked = (name: string, event: string): Refusal =>
  refuse(
    'state_conflict',
    `The event ${event} is not parked in ${name}, so there is nothing to skip. List what is parked with tributary projections parked.`,
  );

type ParkedEvent = ParkedAt & { event: StoredEvent };

/** The parked events, with the events of the log that they are. */
const parkedEvents = async ({ log, projections }: RepairDeps): Promise<ParkedEvent[]> => {
  const parked: ParkedEvent[] = [];
  for (const at of await projections.parked()) {
    const [event] = await log.readAll({ after: at.position - 1, limit: 1 });
    if (event) parked.push({ ...at, event });
  }
  return parked;
};

const nameEvent = ({ id, position, stream, type }: StoredEvent) => ({
  event_id: id,
  position,
  stream,
  type,
});

const isNamed = (
  { read_model, event_id, position }: Pick<SkippedEvent, 'read_model' | 'event_id' | 'position'>,
  name: string,
  event: string,
): boolean => read_model === name && (event_id === event || String(position) === event);

const skippedEventOf = ({ name, event }: ParkedEvent): SkippedEvent => ({
  read_model: name,
  ...nameEvent(event),
  revision: event.revision,
});

const renderSkip = ({
  read_model,
  event_id,
  position,
  stream,
  type,
  reason,
  is_approved,
}: DecidedSkip) => ({
  name: read_model,
  event_id,
  position,
  stream,
  type,
  reason,
  state: is_approved ? ('skipped' as const) : ('proposed' as const),
});

/** The events that proposed to skip this one. */
const proposalsOf = (
  stored: readonly StoredEvent[],
  { read_model, event_id }: Pick<SkippedEvent, 'read_model' | 'event_id'>,
): StoredEvent[] =>
  stored.filter(({ data }) => {
    const named = data as Partial<SkippedEvent>;
    return named.read_model === read_model && named.event_id === event_id;
  });

const PROPOSED = ['EventSkipProposed'];

export const listParked: DeskHandler<'listParked', RepairDeps> = async (deps) => {
  const stored = await deps.log.readStream(STREAM);
  const state = foldOf(repairs, stored);
  const data = [];
  for (const parked of await parkedEvents(deps)) {
    const { name, partition, reason, event } = parked;
    const skipped = skippedEventOf(parked);
    const skip = skipOf(state, skipped);
    const by = await proposerOf(deps, proposalsOf(stored, skipped), PROPOSED);
    const proposed = skip && !skip.is_approved ? { reason: skip.reason, ...by } : undefined;
    const since = iso(event.meta.at);
    data.push({ name, partition, ...nameEvent(event), since, reason, ...present({ proposed }) });
  }
  const skipped = (state?.skips ?? []).filter(({ is_approved }) => is_approved).map(renderSkip);
  return done({ data, skipped });
};

export const retryParked: DeskHandler<'retryParked', RepairDeps> = async (deps, { name }, call) => {
  const names = deps.projections.names();
  if (name !== undefined && !names.includes(name)) return unknownReadModel(names, name);
  return answerOnce(deps, call, { stream: STREAM, work: () => retry(deps, call, name) });
};

const retry = async (
  deps: RepairDeps,
  call: DeskCall,
  name: string | undefined,
): ReturnType<DeskHandler<'retryParked'>> => {
  const tried = (await parkedEvents(deps)).filter((one) => name === undefined || one.name === name);
  // Other processes try again when they read the event.
  const written = await decideAndAppend(deps, call, {
    ...TARGET,
    command: () => issue<RepairCommand>({ type: 'Retry', readModel: name }),
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_SKIP) : written;
  const isDone = await deps.projections.retry(name);
  const parked = isDone ? await deps.projections.parked() : tried;
  const retried = tried.map(({ event, ...at }) => {
    const still = parked.find(
      (one) =>
        one.name === at.name && one.partition === at.partition && one.position === at.position,
    );
    const outcome = !isDone ? 'running' : still ? 'parked' : 'folded';
    return {
      name: at.name,
      partition: at.partition,
      ...nameEvent(event),
      outcome,
      ...present({ reason: isDone ? still?.reason : undefined }),
    } as const;
  });
  return done({ retried }, traceOf(written));
};

const NO_SKIP = refuse('resource_not_found', 'There is no such skip.');

type Named = { name: string; event: string };

/** Changes the skip of an event. `command` gets the event, which is parked or has a skip. */
const changeSkip = async (
  deps: RepairDeps,
  call: DeskCall,
  {
    named: { name, event },
    command,
  }: {
    named: Named;
    command(
      event: SkippedEvent,
      stored: readonly StoredEvent[],
    ): ReturnType<CommandFrom<SkipsState, RepairCommand>>;
  },
): Promise<Outcome<ReturnType<typeof renderSkip>>> => {
  const names = deps.projections.names();
  if (!names.includes(name)) return unknownReadModel(names, name);
  const written = await decideAndAppend(deps, call, {
    ...TARGET,
    async command(state, stored) {
      const skip = state?.skips.find((one) => isNamed(one, name, event));
      if (skip?.is_approved) return command(skip, stored);
      const parked = (await parkedEvents(deps)).map(skippedEventOf);
      const found = parked.find((one) => isNamed(one, name, event));
      return found ? command(found, stored) : notParked(name, event);
    },
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_SKIP) : written;
  const skip = written.state.skips.find((one) => isNamed(one, name, event));
  return skip ? done(renderSkip(skip), traceOf(written)) : NO_SKIP;
};

export const proposeSkip: DeskHandler<'proposeSkip', RepairDeps> = (
  deps,
  { reason, ...named },
  call,
) =>
  changeSkip(deps, call, {
    named,
    command: (event) => issue({ type: 'Propose', event, reason }),
  });

const LEARN_MS_MAX = 2_000;

export const approveSkip: DeskHandler<'approveSkip', RepairDeps> = async (deps, named, call) => {
  const approved = await changeSkip(deps, call, {
    named,
    command: async (event, stored) => {
      const askers = actorOfLast(proposalsOf(stored, event), PROPOSED);
      const refusal = await refuseDependent(deps, call, { askers });
      return refusal ?? issue({ type: 'Approve', event });
    },
  });
  // So that what follows the answer finds the partition after the event. The engine learns of the skip from the log.
  if (approved.ok) {
    await deps.following.passed(approved.position ?? 0, LEARN_MS_MAX);
    await deps.projections.retry(named.name);
  }
  return approved;
};
