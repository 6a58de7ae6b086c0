import type { HandoffState } from './handoff-state.decider.ts';
import type { HandoffCommand, HandoffRejection } from './handoff.decider.ts';
import type { RfqRejection } from './rfq.decider.ts';
import { review, type ReviewState } from './review.decider.ts';
import { isOpen } from './handoff.decider.ts';
import { decideAndAppend, traceOf, type WithAppends } from '#src/writing/decide-and-append.ts';
import type { BuyerCall, Call, Deps } from '#src/calls/call.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { streamOf } from '#src/writing/streams.ts';
import { forgetDropped } from './contact-subject.ts';
import { findHandoff, makeReview, NO_LIST, type Review } from './review.ts';

type Awaitable<T> = T | Promise<T>;
type CommandFor = (
  state: ReviewState,
  call: Call,
) => Awaitable<HandoffCommand | WithAppends<HandoffCommand> | Refusal>;

/**
 * Runs one command of the buyer. Opens an unopened list first, by an append of its own; without a command it only
 * opens the list. A repeated command leaves the list as it is.
 */
export const actOnList = async (
  deps: Deps,
  call: BuyerCall,
  command?: CommandFor,
): Promise<Outcome<Review>> => {
  const row = await findHandoff(deps, call.caller.token);
  if (!row) return NO_LIST;
  const { owner: ownerId, handoff_id } = row;
  const { at } = call;
  const owned: Call = { ...call, ownerId };
  const next = () =>
    decideAndAppend(deps, owned, {
      stream: streamOf(ownerId, 'handoff', handoff_id),
      decider: review,
      command(current) {
        if (!current) return NO_LIST;
        if (!command || isUnopened(current, at)) return { type: 'OpenHandoff', at };
        return command(current, owned);
      },
    });
  let written = await next();
  if (command && written.ok && written.before && isUnopened(written.before, at))
    written = await next();
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
