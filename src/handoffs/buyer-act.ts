import type { HandoffState } from './handoff-state.decider.ts';
import type { HandoffCommand, HandoffRejection } from './handoff.decider.ts';
import type { RfqRejection } from './rfq.decider.ts';
import { review, type ReviewState } from './review.decider.ts';
import { isOpen } from './handoff.decider.ts';
import {
  changeStream,
  decideAndAppend,
  type Issued,
  issue,
  type RejectedBy,
  traceOf,
  type Written,
} from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import type { HolderCall, Call } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { streamOf } from '#src/writing/streams.ts';
import { forgetDropped } from './contact-subject.ts';
import { findHandoff, makeReview, NO_LIST, type Review } from './review.ts';

type Awaitable<T> = T | Promise<T>;
type CommandFor = (state: ReviewState, call: Call) => Awaitable<Issued<HandoffCommand> | Refusal>;

/** A list as the holder of its review link acts on it. */
type List = { stream: string; owned: Call };

const findList = async (deps: Deps, call: HolderCall): Promise<List | undefined> => {
  const row = await findHandoff(deps, call.caller.token);
  if (!row) return undefined;
  const { owner: ownerId, handoff_id } = row;
  return { stream: streamOf(ownerId, 'handoff', handoff_id), owned: { ...call, ownerId } };
};

/** Records that the buyer looks at the list. An open list stays as it is, and a closed one is refused. */
export const openList = async (deps: Deps, call: HolderCall): Promise<Outcome<Review>> => {
  const list = await findList(deps, call);
  if (!list) return NO_LIST;
  const { stream, owned } = list;
  const written = await decideAndAppend(deps, owned, {
    stream,
    decider: review,
    command: (state) => (state ? issue({ type: 'OpenHandoff' as const, at: owned.at }) : NO_LIST),
  });
  return answer(deps, list, written);
};

/**
 * Runs one command of the buyer. Opens a list that nobody has opened first, by an append of its own. A repeated command
 * leaves the list as it is.
 */
export const actOnList = async (
  deps: Deps,
  call: HolderCall,
  commandFor: CommandFor,
): Promise<Outcome<Review>> => {
  const list = await findList(deps, call);
  if (!list) return NO_LIST;
  const { stream, owned } = list;
  const written = await changeStream(deps, owned, {
    stream,
    decider: review,
    async work(change) {
      let { state } = change;
      if (!state) return NO_LIST;
      if (isUnopened(state, owned.at)) {
        const opened = await change.execute(issue({ type: 'OpenHandoff', at: owned.at }));
        if (opened === 'conflict' || !opened.ok) return opened;
        state = opened.state;
      }
      return change.execute(await commandFor(state, owned));
    },
  });
  return answer(deps, list, written);
};

const answer = async (
  deps: Deps,
  { owned: { ownerId } }: List,
  written: Written<ReviewState> | RejectedBy<HandoffRejection> | Refusal,
): Promise<Outcome<Review>> => {
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  await forgetDropped(deps, written);
  return done(await makeReview(deps, { ownerId, state: written.state }), traceOf(written));
};

const isUnopened = (state: HandoffState, at: number): boolean =>
  state.status === 'awaiting_buyer' && isOpen(state, at);

/** With the rejection by name: the page has its own words for it. */
export const conflictOf = (rejected: HandoffRejection): Refusal => {
  const why = (WHY as Partial<Record<HandoffRejection, string>>)[rejected];
  return why === undefined ? NO_LIST : refuse('state_conflict', why, { extra: { rejected } });
};

/** `handoff_unknown`, and the rejections of commands that only staff give, have no text of their own. */
const WHY: Record<
  Exclude<HandoffRejection, 'handoff_unknown' | Exclude<RfqRejection, 'rfq_move_not_allowed'>>,
  string
> = {
  handoff_exists: 'The list exists.',
  handoff_closed: 'This list is closed; nothing was changed.',
  handoff_expired: 'This list has expired; nothing was changed.',
  list_changed: 'The list was changed in the meantime. Look at it again before you send it.',
  too_many_revisions:
    'The list was changed as often as it can be. Send it, decline it, or ask for a new one.',
  totals_changed:
    'The total of the list is not the one that was shown. Check it before you send it.',
  link_replaced: 'The list was sent again, and a newer message has the link that works.',
  confirmation_over: 'The request was not confirmed in time, or the list was closed.',
  rfq_move_not_allowed: 'The request has its outcome; nothing was changed.',
};

/** The handoff was erased while the buyer filled in the form. */
export const ERASED_LIST = refuse('state_conflict', WHY.handoff_closed);
