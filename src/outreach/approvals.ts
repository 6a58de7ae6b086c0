import type { Outbound } from '#contracts/outreach/outbound.records.ts';
import type { EventType } from '#contracts/registries/events.ts';
import { actorOfLast, refuseDependent } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/call.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { OPEN_RECORDS } from '#src/ports/rows.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import { HALTED, readHalt, readSettings } from '#src/sending/settings.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { visible } from '#src/shared/visible.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import type { ProblemByRejection } from '#src/writing/rejections.ts';
import { streamOfKey } from '#src/writing/streams.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';
import { deciderFor, type OutboundState } from './outbound-state.decider.ts';
import type { OutboundCommand, OutboundRejection } from './outbound.decider.ts';
import { changeRequest, NO_REQUEST, outboundOf, renderOutbound } from './requests.ts';

type RequestRef = { outbound_id: string; owner_id?: string | undefined };
/** Finds the owner of a request; undefined unless the caller may act for that owner. */
const requestOwner = (
  deps: Deps,
  call: DeskCall,
  { outbound_id: id, owner_id }: RequestRef,
): Promise<string | undefined> =>
  ownerFor(deps, call, {
    owner_id,
    listed: ['open-outbound', OPEN_RECORDS],
    kind: 'outbound',
    id,
  });

/** Finds the invisible characters of each text; `prefix` is the pointer to the object that holds them. */
const inspect = (prefix: string, texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([name, text]) => ({ pointer: `${prefix}/${name}`, ...visible(text) }));

export const showApproval: DeskHandler<'showApproval'> = async (deps, input, call) => {
  const ownerId = await requestOwner(deps, call, input);
  const state = ownerId && (await outboundOf(deps, ownerId, input.outbound_id));
  if (!ownerId || !state) return NO_REQUEST;
  const bytes = envelopeOf(ownerId, state);
  const { subject, text } = state.content;
  const content = inspect('', present({ subject, text }));
  const target = inspect('/target', state.target);
  return done({
    request: renderOutbound(ownerId, state, call.at),
    exact: {
      bytes,
      bytes_count: Buffer.byteLength(bytes),
      sha256: envelopeHash(bytes),
      shown: content.map(({ shown }) => shown).join('\n\n'),
      hidden: [...content, ...target].flatMap(({ pointer, hidden }) =>
        hidden.map((character) => ({ pointer, ...character })),
      ),
    },
  });
};

const DESK_PROBLEMS: ProblemByRejection<OutboundRejection> = {
  content_changed: 'approval_mismatch',
  expired: 'approval_expired',
  wrong_role: 'role_missing',
};

const PROPOSALS: ReadonlySet<string> = new Set<EventType>(['OutboundProposed', 'OutboundRevised']);
const KEY_ISSUED = ['KeyIssued'] as const satisfies readonly EventType[];

type Act = { request: RequestRef; command: (state: OutboundState) => OutboundCommand };

/** The actor that issued the key which the newest content was proposed with. */
const keyIssuer = async (
  { credentials, log }: Deps,
  stored: readonly StoredEvent[],
): Promise<string[]> => {
  const proposal = stored.findLast(({ type }) => PROPOSALS.has(type));
  const key = proposal?.meta.key === undefined ? undefined : credentials.key(proposal.meta.key);
  return key
    ? actorOfLast(await log.readStream(streamOfKey(key.owner, key.key_id)), KEY_ISSUED)
    : [];
};

/**
 * Refuses an approver who is not another person. Where staff control what owners ask for, the person who holds the
 * agent's key asked; in `owner_controlled` mode the agent did, and its owner decides.
 */
const refuseApprover = async (
  deps: Deps,
  call: DeskCall,
  { state, stored }: { state: OutboundState; stored: readonly StoredEvent[] },
): Promise<Refusal | undefined> => {
  const isStaffs = deciderFor(state.approval.mode) === 'staff';
  const approvals = state.decisions.filter(({ decision }) => decision === 'approve');
  return refuseDependent(deps, call.actor, {
    askers: isStaffs ? await keyIssuer(deps, stored) : [],
    approvers: approvals.map(({ by }) => by),
  });
};

/** Runs one person's command on one request. A halt forbids approvals only. */
const act = async (
  deps: Deps,
  call: DeskCall,
  { request, command }: Act,
): Promise<Outcome<Outbound>> => {
  const ownerId = await requestOwner(deps, call, request);
  if (ownerId === undefined) return NO_REQUEST;
  return changeRequest(deps, call, {
    ownerId,
    id: request.outbound_id,
    problems: DESK_PROBLEMS,
    async command(state, stored) {
      if (!state) return NO_REQUEST;
      const decided = command(state);
      if (decided.type !== 'Approve') return issue(decided);
      const dependent = await refuseApprover(deps, call, { state, stored });
      if (dependent) return dependent;
      const halt = await readHalt(deps, await readSettings(deps, ownerId));
      return halt === undefined ? issue(decided) : HALTED;
    },
  });
};

/** The person's decision, in the role that the request needs if the person has it. */
const decisionOf = (
  { at, actor, caller }: DeskCall,
  { approval }: OutboundState,
  contentSha256: string,
) => {
  const needed = deciderFor(approval.mode);
  const other = needed === 'owner' ? ('staff' as const) : ('owner' as const);
  const role = caller.roles.has(needed) ? needed : other;
  const { name, personId: person_id } = caller;
  return { at, by: actor, name, ...present({ person_id }), role, contentSha256 };
};

export const approveOutbound: DeskHandler<'approveOutbound'> = (deps, request, call) => {
  const { content_sha256, note } = request;
  return act(deps, call, {
    request,
    command: (state) => ({
      type: 'Approve',
      ...decisionOf(call, state, content_sha256),
      ...present({ note }),
    }),
  });
};

const turnDown =
  (type: 'Reject' | 'RequestChanges'): DeskHandler<'refuseOutbound' | 'requestOutboundChanges'> =>
  (deps, request, call) => {
    const { content_sha256, reason } = request;
    return act(deps, call, {
      request,
      command: (state) => ({ type, ...decisionOf(call, state, content_sha256), reason }),
    });
  };

export const refuseOutbound: DeskHandler<'refuseOutbound'> = turnDown('Reject');

export const requestOutboundChanges: DeskHandler<'requestOutboundChanges'> =
  turnDown('RequestChanges');

export const cancelOutbound: DeskHandler<'cancelOutbound'> = (deps, request, call) => {
  const { at, actor: by } = call;
  const { reason } = request;
  return act(deps, call, { request, command: () => ({ type: 'Cancel', at, by, reason }) });
};

export const observeOutbound: DeskHandler<'observeOutbound'> = (deps, request, call) => {
  const { outcome, evidence } = request;
  const command = () => ({ type: 'Observe' as const, by: call.actor, outcome, evidence });
  return act(deps, call, { request, command });
};
