import { allows, type Scope } from '#contracts/scopes.ts';
import { outbound } from '#src/domain/outbound.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import type { OutreachKind } from '#src/domain/outreach.ts';
import type { AgentCall } from '../pipeline/call.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { stateOf } from '../events/fold.ts';
import { OUTBOUND_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler } from '../pipeline/agent-handler.ts';
import { done, type Refusal, scopeMissing } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { notFound } from './propose.ts';
import { renderOutbound } from './render.ts';

const SCOPE_OF: Record<OutreachKind, Scope> = {
  social_post: 'social:write',
  message: 'messages:write',
  agent_notification: 'agents:notify',
};

/** The owner's request, from the log itself; undefined for another owner's id as for a made-up one. */
export const outboundOf = (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  id: string,
): Promise<OutboundState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'outbound', id), decider: outbound });

/** Any outbound scope opens the tool; the request itself needs the one of its kind. */
const refusalToShow = (call: AgentCall, state: OutboundState | undefined): Refusal | undefined => {
  if (!state) return notFound();
  const needed = SCOPE_OF[state.kind];
  return allows(needed, call.caller.scopes)
    ? undefined
    : scopeMissing(call.operation, needed, call.caller);
};

export const getOutboundRequest: Handler<'getOutboundRequest'> = async (
  deps,
  { outbound_id },
  call,
) => {
  const state = await outboundOf(deps, call.ownerId, outbound_id);
  const refused = refusalToShow(call, state);
  if (refused || !state) return refused ?? notFound();
  return done(renderOutbound(call.ownerId, state, call.at));
};

export const cancelOutboundRequest: Handler<'cancelOutboundRequest'> = async (
  deps,
  { outbound_id, reason },
  call,
) => {
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(call.ownerId, 'outbound', outbound_id),
    decider: outbound,
    command: (state) => {
      const refused = refusalToShow(call, state);
      if (refused) return refused;
      // Any agent of the owner may look; only who proposed may take it back.
      if (state?.agent_id !== call.caller.agentId) return notFound();
      const by = call.caller.agentId;
      return { type: 'Cancel' as const, at: call.at, by, ...(reason !== undefined && { reason }) };
    },
  });
  if (written.ok)
    return done(
      renderOutbound(call.ownerId, written.state, written.state.updated_at),
      traceOf(written),
    );
  return 'rejected' in written ? refuseRejected(OUTBOUND_PROBLEMS, written, notFound()) : written;
};
