/** The rules for calls over A2A: how they differ from other calls of agents. */
import type { OperationId } from '#contracts/registries/agents.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { parseFields } from '#src/calls/input.ts';
import {
  type ActorRules,
  type AgentActor,
  agentCall,
  type Incoming,
  type Trail,
} from '#src/calls/rules.ts';
import type { AgentCaller, TaskCall } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import { fingerprintsOf } from '#src/writing/streams.ts';
import type { TaskActor } from './read-task.ts';
import { tasksScope } from './task.decider.ts';

const QUESTION = 'answerAttributionQuestion';

/** Performs operations inside a call. */
type Inside<Id> = {
  performInside(id: Id, incoming: Incoming<AgentCaller>): Promise<Outcome<unknown>>;
};

type Pipelines = { agents: Inside<OperationId>; tasks(): Inside<typeof QUESTION> };

/** The messageId is a message's key, and the fingerprint covers the rest of the message, without a receiver's secrets. */
const keyOfMessage = (
  { secrets }: Pick<Deps, 'secrets'>,
  { caller, operation, input }: { caller: AgentCaller; operation: string; input: object },
) => {
  const { messageId, push: _push, ...message } = input as { messageId: string; push?: object };
  return {
    idem: idemOf(caller, operation, messageId),
    fingerprints: fingerprintsOf(secrets, operation, present(message)),
  };
};

/** Rules for agents over A2A: those of agents, with calls that perform operations of agents inside them. */
export const taskRules = (
  deps: Deps,
  agentRules: Pick<
    ActorRules<AgentActor>,
    | 'identify'
    | 'confirm'
    | 'authorize'
    | 'charge'
    | 'occupy'
    | 'currentCredential'
    | 'auditedCallerOf'
  >,
  { agents, tasks }: Pipelines,
): ActorRules<TaskActor> => {
  const within = (incoming: Incoming<AgentCaller>, trail: Trail): TaskCall['within'] => {
    const { caller, surface, requestId, client, consistencyToken } = incoming;
    const perform = (id: OperationId | typeof QUESTION, inner: Incoming<AgentCaller>) =>
      id === QUESTION ? tasks().performInside(id, inner) : agents.performInside(id, inner);
    return async (id, input, options) => {
      const inner = { caller, surface, requestId, client, consistencyToken, input, ...options };
      const outcome: Outcome<unknown> = await perform(id, inner);
      trail.inner ??= { id: id === QUESTION ? taskOperations[id].id : id, outcome };
      return outcome;
    };
  };
  const { identify, confirm, authorize, charge, occupy, currentCredential, auditedCallerOf } =
    agentRules;
  return {
    identify,
    authorize,
    charge,
    ...present({ confirm, occupy, currentCredential }),
    auditedCallerOf,
    budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'write'),
    parse: parseFields,
    callFor: (incoming, { operation, input, trail }): TaskCall => ({
      ...agentCall(deps, incoming, operation),
      ...(operation.idempotency === 'key' &&
        keyOfMessage(deps, { caller: incoming.caller, operation: operation.id, input })),
      within: within(incoming, trail),
      auditAs(audited, outcome) {
        if (outcome) trail.inner ??= { id: audited, outcome };
        else trail.operation = audited;
      },
    }),
    reads({ id }, { ownerId: owner, agentId }) {
      if (id === taskOperations.sendMessage.id) return undefined;
      return {
        owner,
        scope: id === taskOperations[QUESTION].id ? owner : tasksScope(owner, agentId),
      };
    },
    // Events of a task's own stream are not business events, so each call has an audit record.
    isAudited: () => true,
  };
};
