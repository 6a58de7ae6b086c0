import { link } from './link.decider.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { refuse } from '#src/shared/outcome.ts';
import { changeRecord, streamOf } from '#src/writing/streams.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { issue } from '#src/writing/decide-and-append.ts';

const NO_LINK = refuse('resource_not_found', 'There is no such link.');

export const disableLink: DeskHandler<'disableLink'> = async (deps, input, call) => {
  const { link_id, owner_id: ownerId, reason } = input;
  if (!mayActFor(call, ownerId)) return NO_LINK;
  return changeRecord(deps, call, {
    ownerId,
    stream: streamOf(ownerId, 'link', link_id),
    decider: link,
    command: () => issue({ type: 'DisableLink' as const, reason }),
    refusal: (rejection) => refuseRejected(rejection, NO_LINK),
    render: ({ status }) => ({ id: link_id, owner_id: ownerId, state: status }),
  });
};
