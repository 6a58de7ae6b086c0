import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { refuse } from '#src/shared/outcome.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { changeRecord, streamOf } from '#src/writing/streams.ts';
import { forgetDropped } from './contact-subject.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { handoff, isOpen } from './handoff.decider.ts';

const NO_HANDOFF = refuse('resource_not_found', 'There is no such handoff.');
const ERASED_HANDOFF = refuse('state_conflict', 'The handoff was erased.');

const closeHandoff =
  (
    type: 'WithdrawHandoff' | 'InvalidateHandoff',
  ): DeskHandler<'withdrawHandoff' | 'invalidateHandoff'> =>
  async (deps, { handoff_id, owner_id: ownerId, reason }, call) => {
    if (!mayActFor(call, ownerId)) return NO_HANDOFF;
    let before: HandoffState | undefined;
    const closed = await changeRecord(deps, call, {
      ownerId,
      stream: streamOf(ownerId, 'handoff', handoff_id),
      decider: handoff,
      async command(state) {
        before = state;
        const { at } = call;
        if (!state || !isOpen(state, at)) return issue({ type, at, sealedReason: '' });
        const sealedReason = await deps.vault.seal(handoff_id, reason);
        return sealedReason === null ? ERASED_HANDOFF : issue({ type, at, sealedReason });
      },
      refusal: (rejection) => refuseRejected(rejection, NO_HANDOFF),
      render: (state) => state,
    });
    if (!closed.ok) return closed;
    const { value: state } = closed;
    await forgetDropped(deps, { before, state });
    return { ...closed, value: { id: handoff_id, owner_id: ownerId, state: state.status } };
  };

export const withdrawHandoff: DeskHandler<'withdrawHandoff'> = closeHandoff('WithdrawHandoff');

export const invalidateHandoff: DeskHandler<'invalidateHandoff'> =
  closeHandoff('InvalidateHandoff');
