import type { EventData } from '#contracts/events/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Outbound } from '#contracts/records/outbound.ts';
import { outbound } from '#src/domain/outbound.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import type { OutreachKind } from '#src/domain/outreach.ts';
import { createOnce, readReplay, traceOf, type Written } from '../events/decide-and-append.ts';
import { nameOf } from '../events/hash.ts';
import { claimKey } from '../events/idempotency.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import type { AgentCall } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import {
  done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  refuseField,
} from '../pipeline/outcome.ts';
import { present } from '../shared/present.ts';
import { contentOf, scheduleOf } from './content.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';
import { refusesContact } from './recipient.ts';
import { renderOutbound } from './render.ts';
import { changeRequest, NO_REQUEST } from './requests.ts';
import { findRoute } from './settings.ts';

/** The three operations in one shape. */
type Draft = {
  input: InputOf<'requestSocialPost' | 'requestMessage' | 'requestAgentNotification'>;
  kind: OutreachKind;
  target: Record<string, string>;
  subject?: string | undefined;
};

export const requestSocialPost: Handler<'requestSocialPost'> = (deps, input, call) => {
  const { network, account_ref } = input;
  return propose(deps, call, { input, kind: 'social_post', target: { network, account_ref } });
};

export const requestMessage: Handler<'requestMessage'> = (deps, input, call) => {
  const { channel, recipient_ref, subject } = input;
  const target = { channel, recipient_ref };
  return propose(deps, call, { input, kind: 'message', target, subject });
};

export const requestAgentNotification: Handler<'requestAgentNotification'> = (
  deps,
  input,
  call,
) => {
  const target = { agent_card_url: input.agent_card_url };
  return propose(deps, call, { input, kind: 'agent_notification', target });
};

const answer = (call: AgentCall, written: Written<OutboundState>): Outcome<Outbound> =>
  done(renderOutbound(call.ownerId, written.state, written.state.updated_at), traceOf(written));

const keyName = ({ idem = '' }: AgentCall): string => nameOf('outbound', idem);

/** The stream of the request that a call with this idempotency key creates. */
const keyStream = (call: AgentCall): string => `${call.ownerId}-outbound_${keyName(call)}`;

const propose = async (deps: Deps, call: AgentCall, draft: Draft): Promise<Outcome<Outbound>> => {
  const { revises } = draft.input;
  if (revises !== undefined) return revise(deps, call, { ...draft, id: revises });
  const stream = keyStream(call);
  const proposal = await prepare(deps, call, { ...draft, id: `out_${keyName(call)}`, revision: 1 });
  if (isRefusal(proposal)) {
    // A retry gets its first answer, even when the settings have changed since.
    const replay = await readReplay(deps, call, { stream, decider: outbound });
    if (!replay) return proposal;
    return replay.ok ? answer(call, replay) : replay;
  }
  const refusal = await claimKey(deps, call, stream);
  if (refusal) return refusal;
  const written = await createOnce(deps, call, {
    stream,
    decider: outbound,
    command: { type: 'Propose', proposal: { ...proposal, ...call.task } },
  });
  return written.ok ? answer(call, written) : written;
};

const revise = (
  deps: Deps,
  call: AgentCall,
  draft: Draft & { id: string },
): Promise<Outcome<Outbound>> =>
  changeRequest(deps, call, {
    ownerId: call.ownerId,
    id: draft.id,
    async command(state) {
      // No agent may change the text that another agent signed.
      if (state?.agent_id !== call.caller.agentId) return NO_REQUEST;
      const other = await readReplay(deps, call, { stream: keyStream(call), decider: outbound });
      if (other && !other.ok) return other;
      const proposal = await prepare(deps, call, { ...draft, revision: state.revision + 1 });
      return isRefusal(proposal) ? proposal : { type: 'Revise', at: call.at, proposal };
    },
  });

/** Checks the size when the request is made, not after people have approved it. */
const sizeFault = (envelope: string): Refusal | undefined => {
  const max = LIMITS.WEBHOOK_BYTES_MAX;
  if (Buffer.byteLength(envelope) <= max) return undefined;
  const detail = `a webhook carries at most ${max} bytes in all`;
  return refuse('validation_failed', 'The text is too long for its channel.', {
    errors: [{ pointer: '/text', code: 'too_big', detail }],
  });
};

/** Refuses an address to which nothing will be sent; those of names are checked when they are resolved. */
const refuseUnreachable = (
  { targetFault }: Deps,
  { agent_card_url: url }: Draft['target'],
): Refusal | undefined => {
  const fault = url === undefined ? undefined : targetFault(url);
  return fault === undefined
    ? undefined
    : refuseField('/agent_card_url', fault, 'must be reachable from the internet by https');
};

const CONTACT_REFUSED = refuse(
  'state_conflict',
  'The person of this lead refuses contact. Nothing was proposed.',
);

/** Checks the draft and completes it to the proposal that people decide on. */
const prepare = async (
  deps: Deps,
  call: AgentCall,
  { input, kind, target, subject, id, revision }: Draft & { id: string; revision: number },
): Promise<EventData<'OutboundProposed'> | Refusal> => {
  const unreachable = refuseUnreachable(deps, target);
  if (unreachable) return unreachable;
  if (await refusesContact(deps, call.ownerId, target)) return CONTACT_REFUSED;
  const schedule = scheduleOf(input, call.at);
  if (isRefusal(schedule)) return schedule;
  const route = await findRoute(deps, call.ownerId, kind);
  if (isRefusal(route)) return route;
  const content = await contentOf(deps, call.ownerId, { ...input, subject });
  if (isRefusal(content)) return content;
  const proposed = {
    outbound_id: id,
    agent_id: call.caller.agentId,
    kind,
    target,
    content,
    schedule,
    via: route.channel,
    revision,
  };
  const envelope = envelopeOf(call.ownerId, proposed);
  const tooLarge = route.channel.adapter === 'webhook' && sizeFault(envelope);
  if (tooLarge) return tooLarge;
  return {
    ...proposed,
    content_sha256: envelopeHash(envelope),
    approval: { mode: route.mode, required: route.required },
    ...present({ external_id: input.external_id }),
  };
};
