import type { Outbound } from '#contracts/records/outbound.ts';
import { outbound, type OutboundCommand, type OutboundRejection } from '#src/domain/outbound.ts';
import { deciderFor, isSettled, type OutboundState, statusAt } from '#src/domain/outbound-state.ts';
import { OPEN_OUTBOUND, type OpenOutboundRow } from '#src/ports/rows.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import {
  OUTBOUND_PROBLEMS,
  type ProblemByRejection,
  refuseRejected,
} from '../events/rejections.ts';
import { done, type Outcome, refuse } from '../pipeline/outcome.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';
import { notFound } from './propose.ts';
import { renderOutbound } from './render.ts';
import { outboundOf } from './requests.ts';
import { halted, haltOf, settingsOf } from './settings.ts';
import { visible } from './visible.ts';
import { streamOf } from '../records/streams.ts';
import { renderAsOf } from '../shared/time.ts';
import { findOwner } from '../records/find-owner.ts';
import { type DeskDeps, type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';

type Open = OpenOutboundRow<OutboundState>;
type Which = { outbound_id: string; owner_id?: string | undefined };

/** Rows looked through for one page: an open list longer than that is read page by page. */
const SCAN_MAX = 1_000;

/** Whose request it is, as far as the caller may know; undefined for everybody else's. */
const ownerOf = async (
  deps: DeskDeps,
  call: DeskCall,
  { outbound_id, owner_id }: Which,
): Promise<string | undefined> => {
  const known =
    owner_id ??
    (await deps.readModels.get<Open>('open-outbound', OPEN_OUTBOUND, outbound_id))?.owner ??
    (await findOwner(deps, call, { kind: 'outbound', id: outbound_id }));
  return known !== undefined && mayActFor(call, known) ? known : undefined;
};

/** The list of all owners holds what is open only. */
const OWNER_MISSING = refuse('parameter_invalid', 'Requests at their end are listed by owner.', {
  errors: [{ pointer: '/owner_id', code: 'required', detail: 'is required with this status' }],
});

export const listApprovals: DeskHandler<'listApprovals'> = async (deps, input, call) => {
  const { status, before, limit } = input;
  const owner_id = input.owner_id ?? call.caller.ownerId;
  if (owner_id === undefined && status !== undefined && isSettled({ status })) return OWNER_MISSING;
  if (owner_id !== undefined && !mayActFor(call, owner_id)) return notFound();
  const found =
    owner_id !== undefined && status !== undefined
      ? (
          await deps.readModels.list<OutboundState>('outbound', {
            scope: owner_id,
            limit: SCAN_MAX,
            ...(before !== undefined && { before }),
          })
        ).map(({ row, sort }) => ({ owner: owner_id, state: row, sort }))
      : (
          await deps.readModels.list<Open>('open-outbound', {
            scope: OPEN_OUTBOUND,
            limit: SCAN_MAX,
            ...(before !== undefined && { before }),
          })
        ).map(({ row, sort }) => ({ owner: row.owner, state: row.state, sort }));
  const wanted = found.filter(
    ({ owner, state }) =>
      mayActFor(call, owner) &&
      (owner_id === undefined || owner === owner_id) &&
      (status === undefined || statusAt(state, call.at) === status),
  );
  const shown = wanted.slice(0, limit);
  const last = wanted.length > limit ? shown.at(-1) : found.length === SCAN_MAX && found.at(-1);
  return done({
    data: shown.map(({ owner, state }) => renderOutbound(owner, state, call.at)),
    next_before: last ? last.sort : null,
    as_of: renderAsOf(deps.following.asOf()),
  });
};

export const showApproval: DeskHandler<'showApproval'> = async (deps, input, call) => {
  const ownerId = await ownerOf(deps, call, input);
  if (ownerId === undefined) return notFound();
  const state = await outboundOf(deps, ownerId, input.outbound_id);
  if (!state) return notFound();
  const bytes = envelopeOf(ownerId, state);
  const fields = [
    ...(state.content.subject === undefined ? [] : [['/subject', state.content.subject] as const]),
    ['/text', state.content.text] as const,
    ...Object.entries(state.target).map(([name, value]) => [`/target/${name}`, value] as const),
  ].map(([pointer, text]) => ({ pointer, ...visible(text) }));
  return done({
    request: renderOutbound(ownerId, state, call.at),
    exact: {
      bytes,
      bytes_count: Buffer.byteLength(bytes),
      sha256: envelopeHash(bytes),
      shown: fields
        .filter(({ pointer }) => !pointer.startsWith('/target'))
        .map(({ shown }) => shown)
        .join('\n\n'),
      hidden: fields.flatMap(({ pointer, hidden }) =>
        hidden.map((character) => ({ pointer, ...character })),
      ),
    },
  });
};

/** As for an agent, except for the rejections that only a decision can have. */
const DECISION_PROBLEMS: ProblemByRejection<OutboundRejection> = {
  ...OUTBOUND_PROBLEMS,
  content_changed: 'approval_mismatch',
  expired: 'approval_expired',
  wrong_role: 'role_missing',
};

/** One person's act on one request; approving is the only one that a halt forbids. */
const act = async (
  deps: DeskDeps,
  call: DeskCall,
  which: Which,
  command: (state: OutboundState) => OutboundCommand,
): Promise<Outcome<Outbound>> => {
  const ownerId = await ownerOf(deps, call, which);
  if (ownerId === undefined) return notFound();
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId },
    {
      stream: streamOf(ownerId, 'outbound', which.outbound_id),
      decider: outbound,
      command: async (state) => {
        if (!state) return notFound();
        const asked = command(state);
        if (asked.type !== 'Approve') return asked;
        const halt = await haltOf(deps, await settingsOf(deps, ownerId));
        return halt === undefined ? asked : halted();
      },
    },
  );
  if (written.ok)
    return done(renderOutbound(ownerId, written.state, written.state.updated_at), traceOf(written));
  return 'rejected' in written ? refuseRejected(DECISION_PROBLEMS, written, notFound()) : written;
};

/** Who decides, in the role that the request asks for, if they have it. */
const personOf = ({ actor, caller }: DeskCall, { approval }: OutboundState) => {
  const needed = deciderFor(approval.mode);
  const other = needed === 'owner' ? 'staff' : 'owner';
  const role = caller.roles.has(needed) ? needed : other;
  return { by: actor, name: caller.name, role } as const;
};

export const approveOutbound: DeskHandler<'approveOutbound'> = (deps, input, call) =>
  act(deps, call, input, (state) => ({
    type: 'Approve',
    at: call.at,
    ...personOf(call, state),
    contentSha256: input.content_sha256,
    ...(input.note !== undefined && { note: input.note }),
  }));

export const refuseOutbound: DeskHandler<'refuseOutbound'> = (deps, input, call) =>
  act(deps, call, input, (state) => ({
    type: 'Reject',
    at: call.at,
    ...personOf(call, state),
    contentSha256: input.content_sha256,
    reason: input.reason,
  }));

export const requestOutboundChanges: DeskHandler<'requestOutboundChanges'> = (deps, input, call) =>
  act(deps, call, input, (state) => ({
    type: 'RequestChanges',
    at: call.at,
    ...personOf(call, state),
    contentSha256: input.content_sha256,
    reason: input.reason,
  }));

export const cancelOutbound: DeskHandler<'cancelOutbound'> = (deps, input, call) =>
  act(deps, call, input, () => ({
    type: 'Cancel',
    at: call.at,
    by: call.actor,
    reason: input.reason,
  }));

export const observeOutbound: DeskHandler<'observeOutbound'> = (deps, input, call) =>
  act(deps, call, input, () => ({
    type: 'Observe',
    by: call.actor,
    outcome: input.outcome,
    evidence: input.evidence,
  }));
