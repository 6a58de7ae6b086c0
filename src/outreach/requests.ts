/** Requests for outreach as agents read and cancel them. */
import { allows, type Scope } from '#contracts/scopes.ts';
import type { Outbound, OutboundKind } from '#contracts/outreach/records.ts';
import {
  outbound,
  type OutboundCommand,
  type OutboundRejection,
  type OutboundState,
  statusAt,
} from './outbound.decider.ts';
import type { ContactFault } from './recipients.ts';
import { stateOf, streamOf } from '#src/writing/streams.ts';
import { type ProblemByRejection, refuseRejected } from '#src/writing/rejections.ts';
import type { Deps, Handler } from '#src/calls/handlers.ts';
import type { AgentCall, Call } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse, scopeMissing } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import { issue, changeRecord, type CommandFrom } from '#src/writing/decide-and-append.ts';

const isoIfSet = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : iso(at);

/** Renders a request as the contract shows it, as of `at`. */
export const renderOutbound = (ownerId: string, state: OutboundState, at: number): Outbound => {
  const { schedule, decisions, approval, external_id, status_reason, evidence, task_id } = state;
  return {
    id: state.outbound_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    kind: state.kind,
    target: state.target,
    content: { ...state.content, link_ids: [...state.content.link_ids] },
    content_sha256: state.content_sha256,
    revision: state.revision,
    schedule: {
      ...present({ not_before: isoIfSet(schedule.not_before) }),
      not_after: iso(schedule.not_after),
    },
    ...present({ external_id }),
    approval: {
      mode: approval.mode as Outbound['approval']['mode'],
      required: approval.required,
      ...present({ automatic: approval.automatic }),
      decisions: decisions.map(({ sealed_how_asked: _ofPeople, ...decision }) => ({
        ...decision,
        at: iso(decision.at),
      })),
    },
    status: statusAt(state, at),
    ...present({ status_reason }),
    delivery: {
      adapter: state.via.adapter,
      attempts: state.attempts,
      ...present({
        attempted_at: isoIfSet(state.attempted_at),
        next_attempt_at: isoIfSet(state.retry_at),
      }),
      outcome: state.outcome,
      ...present({ evidence }),
    },
    ...present({ task_id }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

/**
 * Renders a request for agents. Why a letter did not arrive is for people: otherwise an agent could ask which person
 * refuses contact, and which address exists.
 */
export const renderForAgent = (ownerId: string, state: OutboundState, at: number): Outbound => {
  const { status_reason: reason, ...shown } = renderOutbound(ownerId, state, at);
  if (state.kind !== 'handoff_delivery') return { ...shown, ...present({ status_reason: reason }) };
  const { evidence: _ofMail, ...delivery } = shown.delivery;
  const isPersons = shown.status === 'rejected' || shown.status === 'canceled';
  const told = isPersons ? reason : FAILED.includes(shown.status) ? 'not_delivered' : undefined;
  return { ...shown, delivery, ...present({ status_reason: told }) };
};

const FAILED: readonly string[] = ['failed', 'outcome_unknown'];

export const NO_REQUEST = refuse('resource_not_found', 'There is no such outreach request.');

export const CONTACT_REFUSALS: Readonly<Record<ContactFault, Refusal>> = {
  contact_refused: refuse(
    'state_conflict',
    'The recipient is a lead whose person refuses contact. Nothing was proposed or approved.',
  ),
  contact_unreadable: refuse(
    'state_conflict',
    'The recipient is a lead whose contact cannot be read, because its key is missing or damaged: it is unknown whether ' +
      'the person refuses contact. Nothing was proposed or approved. An operator can restore the keys from a backup.',
  ),
};

type RequestChange = {
  ownerId: string;
  id: string;
  command: CommandFrom<OutboundState, OutboundCommand>;
  render?: typeof renderOutbound;
  problems?: ProblemByRejection<OutboundRejection>;
};

export const changeRequest = (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue'>,
  call: Call,
  { ownerId, id, command, problems, render = renderOutbound }: RequestChange,
): Promise<Outcome<Outbound>> =>
  changeRecord(deps, call, {
    ownerId,
    stream: streamOf(ownerId, 'outbound', id),
    decider: outbound,
    command,
    refusal: (rejection) => refuseRejected(rejection, NO_REQUEST, problems),
    render: (state) => render(ownerId, state, state.updated_at),
  });

/** Reads a request of this owner from the log; undefined for any other id, another owner's included. */
export const outboundOf = (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  id: string,
): Promise<OutboundState | undefined> =>
  stateOf(deps, { stream: streamOf(ownerId, 'outbound', id), decider: outbound });

export const SCOPE_OF: Record<OutboundKind, Scope> = {
  social_post: 'social:write',
  message: 'messages:write',
  agent_notification: 'agents:notify',
  handoff_delivery: 'messages:write',
};

/** Any outreach scope allows the operation; the request itself needs the scope of its kind. */
export const kindRefusal = (
  { caller, operation }: AgentCall,
  kind: OutboundKind,
): Refusal | undefined => {
  const scope = SCOPE_OF[kind];
  return allows(scope, caller.scopes) ? undefined : scopeMissing(operation, scope, caller);
};

export const getOutboundRequest: Handler<'getOutboundRequest'> = async (deps, input, call) => {
  const state = await outboundOf(deps, call.ownerId, input.outbound_id);
  if (!state) return NO_REQUEST;
  return kindRefusal(call, state.kind) ?? done(renderForAgent(call.ownerId, state, call.at));
};

export const cancelOutboundRequest: Handler<'cancelOutboundRequest'> = (deps, input, call) =>
  changeRequest(deps, call, {
    ownerId: call.ownerId,
    id: input.outbound_id,
    render: renderForAgent,
    command(state) {
      if (!state) return NO_REQUEST;
      const refusal = kindRefusal(call, state.kind);
      if (refusal) return refusal;
      // Every agent of the owner may read the request; only the one that proposed it may cancel it.
      const by = call.caller.agentId;
      if (state.agent_id !== by) return NO_REQUEST;
      return issue({ type: 'Cancel', at: call.at, by, ...present({ reason: input.reason }) });
    },
  });
