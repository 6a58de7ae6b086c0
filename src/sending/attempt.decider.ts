/**
 * The attempts to send one thing: their state, how they begin and how they end. The deciders of outreach requests, push
 * notifications and mail share it, and store their own events. An attempt is stored before it is made, at most one is under
 * way, and only the last one has an outcome.
 */
import { accept, type Decision, reject } from '#src/shared/decider.ts';

type AttemptKind = 'outreach' | 'push' | 'mail';

/** Where the attempts of the three differ on purpose. All other rules of this file apply to each of them. */
export const ATTEMPT_RULES = {
  /**
   * Whether it can fail before its first attempt or between two. Mail always can: the refusal can come from a process that
   * was thought to be gone. Outreach that may have been delivered is never called failed. A push notification is ended by
   * a newer change or with its configuration.
   */
  failsEarly: { outreach: 'while certain', push: 'never', mail: 'always' },
  /** Whether a late answer confirms what was called unknown. A person would have to settle outreach; nobody settles the rest. */
  confirmsLate: { outreach: true, push: false, mail: false },
} as const satisfies Record<string, Record<AttemptKind, unknown>>;

/** How an attempt ends; the members are those of the event. */
export type OutcomeCommand =
  | { type: 'Defer'; attempt: number; reason: string; retry_at: number; uncertain?: true }
  | { type: 'Confirm'; attempt: number; evidence: string }
  | { type: 'Fail'; attempt: number; reason: string }
  | { type: 'LoseTrack'; attempt: number; reason: string };

export type AttemptRejection = 'not_due' | 'not_dispatched';

/** What is known about the attempts to send one thing. */
export type AttemptState = {
  /** The number of the last attempt; 0 before the first. */
  attempts: number;
  attempted_at?: number | undefined;
  /** Until then the last attempt can still be running; set while it is under way, which is until it has an outcome. */
  until?: number | undefined;
  /** When the next attempt is due; set between two attempts. */
  retry_at?: number | undefined;
  /** Set if an attempt may have had its effect without a confirmation. */
  uncertain?: boolean | undefined;
};

export const isUnderWay = ({ until }: Pick<AttemptState, 'until'>): boolean => until !== undefined;

/** Rejects an attempt that cannot begin at `at`; `notBefore` is when the first one is due. */
export const rejectAttempt = (
  state: AttemptState,
  { at, notBefore = 0 }: { at: number; notBefore?: number | undefined },
): Decision<never, 'not_due'> | undefined => {
  if (isUnderWay(state)) return reject('not_due', 'an attempt is under way');
  return at < (state.retry_at ?? notBefore) ? reject('not_due', 'it is not due yet') : undefined;
};

/** The event types with which a record stores outcomes. */
type OutcomeTypes = Readonly<Record<OutcomeCommand['type'], string>>;

type OutcomeEvent<Types extends OutcomeTypes, About> = {
  [Type in keyof OutcomeTypes]: {
    type: Types[Type];
    data: About & Omit<Extract<OutcomeCommand, { type: Type }>, 'type'> & { by?: string };
  };
}[keyof OutcomeTypes];

/**
 * Ends the last attempt. `about` are the members that all events of the record have. `isLost`: the record was at its end,
 * because the outcome was unknown.
 */
export const decideOutcome = <const Types extends OutcomeTypes, About extends object>(
  state: AttemptState,
  command: OutcomeCommand,
  record: { kind: AttemptKind; types: Types; about: About; isLost?: boolean },
): Decision<OutcomeEvent<Types, About>, 'not_dispatched'> => {
  const { kind, types, about, isLost = false } = record;
  const { type, ...outcome } = command;
  const { attempt } = outcome;
  if (attempt !== state.attempts)
    return reject('not_dispatched', `attempt ${attempt} is not the last one`);
  const isPossible = isLost
    ? type === 'Confirm' && ATTEMPT_RULES.confirmsLate[kind]
    : isUnderWay(state) || canEndEarly(kind, state, type);
  if (!isPossible) return reject('not_dispatched', `attempt ${attempt} is not under way`);
  const data = { ...about, ...outcome, ...(isLost && { by: 'dispatcher' }) };
  // TypeScript does not see that type and members come from the same command.
  return accept({ type: types[type], data } as OutcomeEvent<Types, About>);
};

/** Whether it can end so while no attempt is under way. What was never attempted cannot be unknown. */
const canEndEarly = (
  kind: AttemptKind,
  { attempts, uncertain }: AttemptState,
  type: OutcomeCommand['type'],
): boolean => {
  const rule = ATTEMPT_RULES.failsEarly[kind];
  if (rule === 'never') return false;
  if (type === 'LoseTrack') return attempts > 0;
  return type === 'Fail' && (rule === 'always' || !uncertain);
};

/** What an event of an attempt sets: only the one that begins it has `until`, and only the one that defers has `retry_at`. */
export const foldAttempt = ({
  data: { attempt: attempts, until, retry_at, uncertain },
  at,
}: {
  data: { attempt: number } & Pick<AttemptState, 'until' | 'retry_at' | 'uncertain'>;
  at: number;
}) => ({
  attempts,
  until,
  ...(until !== undefined && { attempted_at: at }),
  retry_at,
  ...(uncertain && { uncertain }),
});
