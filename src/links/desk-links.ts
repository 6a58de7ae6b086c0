/** Links at the desk: staff list and disable them. */
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import { listRows } from '#src/reading/inbox.ts';
import { refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { issue, changeRecord } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { streamOf } from '#src/writing/streams.ts';
import { type LinkState, link } from './link.decider.ts';
import { renderLink, shownNameOfLink } from './links.ts';

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

/** A link, with the name of what it leads to. */
export const renderDeskLink = (
  deps: Pick<Deps, 'catalog'>,
  state: LinkState,
  { ownerId, at }: { ownerId: string; at: number },
) => ({ ...renderLink(ownerId, state, at), ...present({ name: shownNameOfLink(deps, state) }) });

export const listLinks: DeskHandler<'listLinks'> = (deps, query, call) =>
  listRows(deps, call, {
    name: 'links',
    scope: query.owner_id,
    query,
    render: (row: LinkState) => renderDeskLink(deps, row, { ownerId: query.owner_id, at: call.at }),
  });
