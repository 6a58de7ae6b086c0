/** The operation that lists what changed of an owner's records, for its agents. */
import { allows } from '#contracts/scopes.ts';
import { z } from 'zod';
import type { Handler } from '#src/calls/handlers.ts';
import { SCOPE_OF } from '#src/outreach/requests.ts';
import { readPlace, writeCursor } from '#src/reading/lists.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { done, refuseParameter } from '#src/shared/outcome.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { readChanges, type Viewer } from './changes.ts';
import { RECORD_SCOPES } from './read-record.ts';

/** Shows the kinds that the scopes of the caller read, and of access the caller alone. */
const viewerOf = ({ caller: { scopes, agentId } }: AgentCall): Viewer => ({
  isLinkShown: allows(RECORD_SCOPES.link, scopes),
  isHandoffShown: allows(RECORD_SCOPES.handoff, scopes),
  isLeadShown: allows(RECORD_SCOPES.lead, scopes),
  isOutboundShown: ({ kind }) => scopes.has(SCOPE_OF[kind]),
  isAgentShown: ({ agent_id }) => agent_id === agentId,
});

const POSITION = z.int();

export const listChanges: Handler<'listChanges'> = async (deps, input, call) => {
  const { ownerId, caller } = call;
  const { cursor, after = 0, limit } = input;
  if (cursor !== undefined && input.after !== undefined)
    return refuseParameter('/after', 'not_together', 'a cursor says where to continue');
  const binding = [caller.agentId, ownerId, 'listChanges'];
  const from =
    cursor === undefined
      ? after
      : readPlace(deps, binding, { cursor, shape: POSITION, isLasting: true });
  if (typeof from === 'object' && !from.ok) return from;
  const asOf = deps.following.asOf();
  const place = typeof from === 'object' ? from.place : from;
  const reader = { ownerId, viewer: viewerOf(call) };
  const { data, next, isEnd } = await readChanges(deps, reader, { after: place, limit });
  const page = { next_cursor: writeCursor(deps, binding, next), has_more: !isEnd };
  return done({ data, page, as_of: renderAsOf(asOf) });
};
