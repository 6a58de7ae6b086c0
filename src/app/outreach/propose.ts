import type { EventData } from '#contracts/events/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Outbound } from '#contracts/records/outbound.ts';
import { outbound } from '#src/domain/outbound.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import type { OutreachKind } from '#src/domain/outreach.ts';
import type { AgentCall } from '../pipeline/call.ts';
import { OUTBOUND_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import {
  createOnce,
  decideAndAppend,
  readReplay,
  traceOf,
  type Written,
} from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { nameOf } from '../events/hash.ts';
import { claimKey } from '../events/idempotency.ts';
import { done, type Outcome, type Refusal, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { contentOf, scheduleOf } from './content.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';
import { renderOutbound } from './render.ts';
import { routeOf } from './settings.ts';

type Input =
  | InputOf<'requestSocialPost'>
  | InputOf<'requestMessage'>
  | InputOf<'requestAgentNotification'>;
type Proposal = EventData<'OutboundProposed'>;
type Asked = { kind: OutreachKind; target: Record<string, string>; subject?: string | undefined };

export const requestSocialPost: Handler<'requestSocialPost'> = (deps, input, call) => {
  const { network, account_ref } = input;
  return propose(deps, input, call, { kind: 'social_post', target: { network, account_ref } });
};

export const requestMessage: Handler<'requestMessage'> = (deps, input, call) => {
  const { channel, recipient_ref, subject } = input;
  const target = { channel, recipient_ref };
  return propose(deps, input, call, { kind: 'message', target, subject });
};

export const requestAgentNotification: Handler<'requestAgentNotification'> = (
  deps,
  input,
  call,
) => {
  const { agent_card_url } = input;
  return propose(deps, input, call, { kind: 'agent_notification', target: { agent_card_url } });
};

const answerOf = (call: AgentCall, written: Written<OutboundState>): Outcome<Outbound> =>
  done(renderOutbound(call.ownerId, written.state, written.state.updated_at), traceOf(written));

const nameOfKey = ({ idem = '' }: AgentCall): string => nameOf('outbound', idem);

/** The stream of what this key creates. */
const streamOfKey = (call: AgentCall): string => `${call.ownerId}-outbound_${nameOfKey(call)}`;

const propose = async (
  deps: Deps,
  input: Input,
  call: AgentCall,
  asked: Asked,
): Promise<Outcome<Outbound>> => {
  if (input.revises !== undefined) return revise(deps, input, call, asked, input.revises);
  const stream = streamOfKey(call);
  const id = `out_${nameOfKey(call)}`;
  const facts = await gather(deps, input, call, asked, { id, revision: 1 });
  if ('ok' in facts) {
    // A retry must get its first answer even when the world has moved on.
    const again = await readReplay(deps, call, { stream, decider: outbound });
    if (!again) return facts;
    return again.ok ? answerOf(call, again) : again;
  }
  const bound = await claimKey(deps, call, { stream });
  if (bound) return bound;
  const proposal = { ...facts, ...call.task };
  const written = await createOnce(deps, call, {
    stream,
    decider: outbound,
    command: { type: 'Propose', proposal },
  });
  return written.ok ? answerOf(call, written) : written;
};

const revise = async (
  deps: Deps,
  input: Input,
  call: AgentCall,
  asked: Asked,
  id: string,
): Promise<Outcome<Outbound>> => {
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(call.ownerId, 'outbound', id),
    decider: outbound,
    command: async (state) => {
      // Another agent's words are not to stand under this one's name.
      if (state?.agent_id !== call.caller.agentId) return notFound();
      const other = await readReplay(deps, call, { stream: streamOfKey(call), decider: outbound });
      if (other && !other.ok) return other;
      const facts = await gather(deps, input, call, asked, { id, revision: state.revision + 1 });
      return 'ok' in facts ? facts : { type: 'Revise' as const, at: call.at, proposal: facts };
    },
  });
  if (written.ok) return answerOf(call, written);
  return 'rejected' in written ? refuseRejected(OUTBOUND_PROBLEMS, written, notFound()) : written;
};

export const notFound = (): Refusal =>
  refuse('resource_not_found', 'There is no such outreach request.');

/** Said now, and not once people have approved it. */
const sizeFault = (envelope: string): Refusal | undefined => {
  const max = LIMITS.WEBHOOK_BYTES_MAX;
  if (Buffer.byteLength(envelope) <= max) return undefined;
  return refuse('validation_failed', 'The text is too long for its channel.', {
    errors: [{ pointer: '/text', code: 'too_big', detail: `a webhook takes ${max} bytes in all` }],
  });
};

/** What the decision needs to know, or why there is nothing to decide. */
const gather = async (
  deps: Deps,
  input: Input,
  call: AgentCall,
  { kind, target, subject }: Asked,
  { id, revision }: { id: string; revision: number },
): Promise<Proposal | Refusal> => {
  const schedule = scheduleOf(input, call.at);
  if ('ok' in schedule) return schedule;
  const route = await routeOf(deps, call.ownerId, kind);
  if ('ok' in route) return route;
  const content = await contentOf(deps, call.ownerId, { ...input, subject });
  if ('ok' in content) return content;
  const what = {
    outbound_id: id,
    agent_id: call.caller.agentId,
    kind,
    target,
    content,
    schedule,
    via: route.channel,
    revision,
  };
  const envelope = envelopeOf(call.ownerId, what);
  const tooLarge = route.channel.adapter === 'webhook' && sizeFault(envelope);
  if (tooLarge) return tooLarge;
  return {
    ...what,
    content_sha256: envelopeHash(envelope),
    approval: { mode: route.mode, required: route.required },
    ...(input.external_id !== undefined && { external_id: input.external_id }),
  };
};
