import { link } from '#src/domain/link.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { LINK_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';

const NO_LINK = refuse('resource_not_found', 'There is no such link.');

export const disableLink: DeskHandler<'disableLink'> = async (deps, input, call) => {
  const { link_id, owner_id, reason } = input;
  if (!mayActFor(call, owner_id)) return NO_LINK;
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: owner_id },
    {
      stream: streamOf(owner_id, 'link', link_id),
      decider: link,
      command: () => ({ type: 'DisableLink' as const, reason }),
    },
  );
  if (written.ok)
    return done({ id: link_id, owner_id, state: written.state.status }, traceOf(written));
  return 'rejected' in written ? refuseRejected(LINK_PROBLEMS, written, NO_LINK) : written;
};
