import type { HandoffCommand } from '#src/domain/handoff.ts';
import { handoff, isOpen } from '#src/domain/handoff.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { HANDOFF_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, type Refusal, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';

const NO_HANDOFF = refuse('resource_not_found', 'There is no such handoff.');
const ERASED_HANDOFF = refuse('state_conflict', 'The handoff was erased.');

const closeHandoff =
  (
    type: 'WithdrawHandoff' | 'InvalidateHandoff',
  ): DeskHandler<'withdrawHandoff' | 'invalidateHandoff'> =>
  async (deps, { handoff_id, owner_id, reason }, call) => {
    if (!mayActFor(call, owner_id)) return NO_HANDOFF;
    const written = await decideAndAppend(
      deps,
      { ...call, ownerId: owner_id },
      {
        stream: streamOf(owner_id, 'handoff', handoff_id),
        decider: handoff,
        async command(state): Promise<HandoffCommand | Refusal> {
          const { at } = call;
          if (!state || !isOpen(state, at)) return { type, at, sealedReason: '' };
          const sealedReason = await deps.vault.seal(handoff_id, reason);
          return sealedReason === null ? ERASED_HANDOFF : { type, at, sealedReason };
        },
      },
    );
    if (written.ok)
      return done({ id: handoff_id, owner_id, state: written.state.status }, traceOf(written));
    return 'rejected' in written ? refuseRejected(HANDOFF_PROBLEMS, written, NO_HANDOFF) : written;
  };

export const withdrawHandoff: DeskHandler<'withdrawHandoff'> = closeHandoff('WithdrawHandoff');

export const invalidateHandoff: DeskHandler<'invalidateHandoff'> =
  closeHandoff('InvalidateHandoff');
