/** Proposes outreach for an agent: the content, its recipient, and the envelope that people approve. */
import { DISCLOSURES } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import type { OutreachKind } from '#src/sending/settings.decider.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import { findRoute } from '#src/sending/settings.ts';
import type { AgentCall } from '#src/shared/call.ts';
import {
  done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  refuseField,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, endFault, epoch } from '#src/shared/time.ts';
import {
  createOnce,
  issue,
  readReplay,
  traceOf,
  type Written,
} from '#src/writing/decide-and-append.ts';
import { nameOf, linkOf } from '#src/writing/streams.ts';
import { claimKey } from '#src/writing/idempotency.ts';
import { type OutboundState, outbound } from './outbound.decider.ts';
import { readRecipientForAgent } from './recipients.ts';
import { changeRequest, CONTACT_REFUSALS, NO_REQUEST, renderOutbound } from './requests.ts';

type Proposed = EventData<'OutboundProposed'>;
type ContentInput = { subject?: string | undefined; text: string; link_ids: string[] };

/** Checks that the links belong to the owner, appear in the text, and are disclosed. */
const contentOf = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  { subject, text, link_ids }: ContentInput,
): Promise<Pick<Proposed, 'content' | 'campaigns'> | Refusal> => {
  const links = await Promise.all(link_ids.map((id) => linkOf(deps, ownerId, id)));
  const faultsOf = (
    faulty: (link: LinkState | undefined) => boolean,
    code: string,
    detail: string,
  ) =>
    links.flatMap((link, i) => (faulty(link) ? [{ pointer: `/link_ids/${i}`, code, detail }] : []));
  const unknown = faultsOf((link) => !link, 'not_found', 'is not the id of a link of yours');
  if (unknown.length > 0)
    return refuse('resource_not_found', 'There is no such link.', { errors: unknown });
  const isAbsent = (link?: LinkState) => link !== undefined && !holds(text, link.short_url);
  const errors = faultsOf(isAbsent, 'not_in_text', 'its short_url must appear in the text');
  if (errors.length > 0)
    return refuse('validation_failed', 'Some fields are not valid.', { errors });
  const allText = subject === undefined ? text : `${subject}\n${text}`;
  const hasLink = link_ids.length > 0 || LINK.test(allText);
  if (hasLink && !DISCLOSURES.some((disclosure) => holds(text, disclosure))) {
    const detail = `add one of: ${DISCLOSURES.join(' | ')}`;
    return refuse('disclosure_missing', 'The text contains a link and does not disclose it.', {
      errors: [{ pointer: '/text', code: 'disclosure_missing', detail }],
    });
  }
  const campaigns = [...new Set(links.flatMap((link) => link?.dims.campaign ?? []))];
  return {
    content: { ...present({ subject }), text, link_ids },
    ...(campaigns.length > 0 && { campaigns }),
  };
};

/** Text that a reader or an app shows as a link, also without a scheme. */
const LINK = /https?:\/\/|\bwww\.|[\p{L}\p{N}]\.\p{L}{2,}\/|:\d+\/l\//iu;

/** True when `part` appears as a whole: #adventure does not hold #ad, nor a longer link a shorter one. */
export const holds = (text: string, part: string): boolean =>
  text
    .split(part)
    .slice(1)
    .some((rest) => !/^[\p{L}\p{N}_-]/u.test(rest));

const scheduleOf = (
  { not_before, not_after }: { not_before?: string | undefined; not_after?: string | undefined },
  at: number,
): Proposed['schedule'] | Refusal => {
  const until =
    not_after === undefined ? at + LIMITS.OUTREACH_DAYS_DEFAULT * DAY_MS : epoch(not_after);
  const late = endFault(until, at, LIMITS.OUTREACH_DAYS_MAX);
  if (late) return refuseField('/not_after', 'out_of_range', late);
  if (not_before === undefined) return { not_after: until };
  const from = epoch(not_before);
  return from >= until
    ? refuseField('/not_before', 'out_of_range', 'must lie before not_after')
    : { not_before: from, not_after: until };
};

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
      return isRefusal(proposal) ? proposal : issue({ type: 'Revise', at: call.at, proposal });
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

/** Checks the draft of an agent and completes it to the proposal that people decide on. */
const prepare = async (
  deps: Deps,
  call: AgentCall,
  { input, kind, target: named, subject, id, revision }: Draft & { id: string; revision: number },
): Promise<Proposed | Refusal> => {
  const unreachable = refuseUnreachable(deps, named);
  if (unreachable) return unreachable;
  const { leads, fault } = await readRecipientForAgent(deps, call.ownerId, named);
  if (fault) return CONTACT_REFUSALS[fault];
  const [recipient] = leads;
  const target = { ...named, ...present({ lead_id: recipient?.lead_id }) };
  const schedule = scheduleOf(input, call.at);
  if (isRefusal(schedule)) return schedule;
  const { agentId: agent_id } = call.caller;
  const { external_id } = input;
  const about = { outbound_id: id, agent_id, kind, target, schedule, revision, external_id };
  return complete(deps, call.ownerId, { about, written: { ...input, subject } });
};

type About = Pick<Proposed, 'outbound_id' | 'agent_id' | 'target' | 'schedule' | 'revision'> & {
  kind: OutreachKind;
  external_id: string | undefined;
};

/** Completes what was written to a proposal: under the settings that the owner has now. */
export const complete = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  { about: { external_id, ...about }, written }: { about: About; written: ContentInput },
): Promise<Proposed | Refusal> => {
  const route = await findRoute(deps, ownerId, about.kind);
  if (isRefusal(route)) return route;
  const checked = await contentOf(deps, ownerId, written);
  if (isRefusal(checked)) return checked;
  const { content, campaigns } = checked;
  const proposed = { ...about, content, via: route.channel };
  const envelope = envelopeOf(ownerId, proposed);
  const tooLarge = route.channel.adapter === 'webhook' && sizeFault(envelope);
  if (tooLarge) return tooLarge;
  return {
    ...proposed,
    content_sha256: envelopeHash(envelope),
    approval: { mode: route.mode, required: route.required },
    ...present({ campaigns, external_id }),
  };
};
