/** Moves that need the approval of a second person: by their kind, or because their value is above a limit. */
import { accept, type Decision, reject } from './decider.ts';

export type Money = { amount: number; currency: string };

/** A record with a move that waits for the approval of another person. */
export type Proposing<Move> = {
  proposed?: (Move & { number: number }) | undefined;
  /** The number of proposals so far. */
  proposals?: number | undefined;
};

/** The members that a proposal sets; it replaces the proposal before it. */
export const foldProposal = <Move>(
  { proposals = 0 }: Proposing<Move>,
  move: Move,
): Required<Proposing<Move>> => ({
  proposals: proposals + 1,
  proposed: { ...move, number: proposals + 1 },
});

/** Whether a value is above its limit. An amount in a currency without a limit is above it. */
export const isAbove = (values: readonly Money[] = [], limits: readonly Money[]): boolean =>
  values.some(
    ({ amount, currency }) =>
      amount > (limits.find((one) => one.currency === currency)?.amount ?? 0),
  );

/** The settings APPROVAL_ABOVE and SECOND_PERSON. */
export type ApprovalRules = {
  /** Limits per currency, above which another person must approve; absent if none must for that. */
  above?: readonly Money[] | undefined;
  /** One person does what needs two: a house of one. The events say so. */
  isAlone?: boolean | undefined;
};

type MoveRules<Move, Event, Rejection extends string> = {
  /** Whether the record is already as the move would leave it. */
  isRepeated: boolean;
  rejection: Decision<Event, Rejection> | undefined;
  needsApproval: boolean;
  approval: ApprovalRules | undefined;
  /** Whether `proposed` would do what the move does. */
  isSame(proposed: Move): boolean;
  /** `alone` is true if two people are needed, and the settings let one do it. */
  eventOf(alone: true | undefined): Event;
  proposalOf(): Event;
};

/** Makes a move that is allowed, or proposes it to another person. A repeated move and a repeated proposal change nothing. */
export const decideMove = <Move, Event, Rejection extends string>(
  { proposed }: Proposing<Move>,
  { isRepeated, rejection, needsApproval, approval, ...rules }: MoveRules<Move, Event, Rejection>,
): Decision<Event, Rejection> => {
  if (isRepeated) return accept();
  if (rejection) return rejection;
  if (!needsApproval) return accept(rules.eventOf(undefined));
  if (approval?.isAlone) return accept(rules.eventOf(true));
  return proposed && rules.isSame(proposed) ? accept() : accept(rules.proposalOf());
};

/** Decides on the proposal with this number, if it is the one that waits. */
export const decideProposal = <Move, Event, Rejection extends string>(
  { proposed }: Proposing<Move>,
  number: number,
  decide: (move: Move) => Decision<Event, Rejection>,
): Decision<Event, Rejection | 'proposal_unknown'> =>
  proposed?.number === number
    ? decide(proposed)
    : reject('proposal_unknown', 'this proposal was decided or replaced: read the record again');
