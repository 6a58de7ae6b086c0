/** Lists at the desk what changed of an owner's records. */
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { done } from '#src/shared/outcome.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { readChanges, type Viewer } from './changes.ts';

/** Owners see of their records what all their agents see together. */
const EVERYTHING: Viewer = {
  isLinkShown: true,
  isHandoffShown: true,
  isLeadShown: true,
  isOutboundShown: () => true,
  isAgentShown: () => true,
};

export const listOwnerChanges: DeskHandler<'listOwnerChanges'> = async (deps, input, call) => {
  const { owner_id: ownerId, after = 0, limit } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const asOf = deps.following.asOf();
  const reader = { ownerId, viewer: EVERYTHING };
  const { data, next, isEnd } = await readChanges(deps, reader, { after, limit });
  return done({ data, next_after: next, has_more: !isEnd, as_of: renderAsOf(asOf) });
};
