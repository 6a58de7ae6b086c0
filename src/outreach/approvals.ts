/** Approvals of outreach: decisions of people, what waits for them, and the digest by mail. */
import type { Outbound } from '#contracts/outreach/records.ts';
import type { EventType } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import type { AgentState } from '#src/access/access.decider.ts';
import {
  actorOfLast,
  everyIsMachine,
  idAtDesk,
  MACHINE,
  type PeopleDeps,
  proposerOf,
  refuseDependent,
} from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor, soleOwner } from '#src/calls/desk-handler.ts';
import { type DeliveryFault, factsOfDelivery } from '#src/handoffs/deliver-list.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { readableHandoff } from '#src/handoffs/render-handoff.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import {
  OPEN_RECORDS,
  listBy,
  type OpenRow,
  OUTBOUND_BY_EXPIRY,
  ALL_ACCESS_REQUESTS,
} from '#src/ports/rows.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import { pageOfScan, ROWS_READ_MAX, scanLists } from '#src/reading/lists.ts';
import { ERASED, openOne, openTexts, shownText } from '#src/sealing/sealed-texts.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import { type MailFacts, type Waiting, mailStream, mailToStaff } from '#src/sending/mail.ts';
import { HALTED, readHalt, readSettings } from '#src/sending/settings.ts';
import type { Call, DeskCall, SystemCall } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { visible } from '#src/shared/visible.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import { foldOf, nameOf, streamOf, streamOfKey } from '#src/writing/streams.ts';
import type { ProblemByRejection } from '#src/writing/rejections.ts';
import {
  deciderFor,
  outbound,
  type OutboundState,
  type OutboundCommand,
  type OutboundRejection,
  isSettled,
  isUndispatched,
  type OutboundStatus,
  statusAt,
} from './outbound.decider.ts';
import { type ContactFault, readRecipient } from './recipients.ts';
import { findDelivery } from './send-delivery.ts';
import { changeRequest, CONTACT_REFUSALS, NO_REQUEST, renderOutbound } from './requests.ts';

type RequestRef = { outbound_id: string; owner_id?: string | undefined };
/** Finds the owner of a request; undefined unless the caller may act for that owner. */
export const requestOwner = (
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

const NO_LEAD =
  'recipient_ref names no lead of the owner, so it is unknown whether the recipient refuses contact';
const CONTACT_FAULTS: Readonly<Record<ContactFault, string>> = {
  contact_refused: 'recipient_ref names a lead whose person refuses contact: it cannot be approved',
  contact_unreadable:
    'recipient_ref names a lead whose contact cannot be read, because its key is missing or damaged: it cannot be approved',
};

const DELIVERY_FAULTS: Readonly<Record<DeliveryFault, string>> = {
  list_closed: 'The list is closed or has expired: it cannot be delivered',
  list_changed: 'The list is not the one of this proposal any more: it cannot be delivered',
  erased: 'The personal data of the list was erased: it cannot be delivered',
  key_unavailable:
    'The address cannot be read, because its key is missing or damaged: it cannot be delivered',
  contact_refused: 'The person of the address refuses contact: it cannot be delivered',
  not_automatic: 'The lead does not allow a delivery without an approval any more',
};

/** What is delivered and to whom, as those who decide see it, and why it cannot be. */
const showDelivery = async (deps: Deps, call: Call, state: OutboundState) => {
  if (state.kind !== 'handoff_delivery') return {};
  const { state: list, ...found } = await findDelivery(deps, call, state);
  const to = 'to' in found ? found.to : undefined;
  const sealed = state.decisions.flatMap(({ sealed_how_asked: one }) => (one ? [one] : []));
  const opened = await openTexts(deps.vault, sealed);
  const readable = list && (await readableHandoff(deps, list));
  return {
    ...(readable && {
      delivery: {
        ...factsOfDelivery(readable, to ?? (await shownAddress(deps, list))),
        how_asked: sealed.map((one) => shownText(opened(one))),
      },
    }),
    ...('fault' in found && isUndispatched(state.status)
      ? { recipient_fault: DELIVERY_FAULTS[found.fault] }
      : {}),
  };
};

/** The address of a list that cannot be delivered, if it can be read. */
const shownAddress = async ({ vault }: Deps, { erased, buyer }: HandoffState): Promise<string> =>
  erased || buyer.email === undefined ? ERASED : shownText(await openOne(vault, buyer.email));

/** What the people who decide should know of the recipient; undefined if it is a lead whose person can be contacted. */
const recipientFault = async (
  deps: Deps,
  ownerId: string,
  { target }: OutboundState,
): Promise<string | undefined> => {
  if (target['recipient_ref'] === undefined) return undefined;
  const { leads, fault } = await readRecipient(deps, ownerId, target);
  if (fault) return CONTACT_FAULTS[fault];
  return leads.length === 0 ? NO_LEAD : undefined;
};

export const showApproval: DeskHandler<'showApproval', PeopleDeps> = async (deps, input, call) => {
  const ownerId = await requestOwner(deps, call, input);
  if (ownerId === undefined) return NO_REQUEST;
  const stored = await deps.log.readStream(streamOf(ownerId, 'outbound', input.outbound_id));
  const state = foldOf(outbound, stored);
  if (!state) return NO_REQUEST;
  const bytes = envelopeOf(ownerId, state);
  const { subject, text } = state.content;
  const content = inspect('', present({ subject, text }));
  const target = inspect('/target', state.target);
  return done({
    request: renderOutbound(ownerId, state, call.at),
    proposed: await proposerOf(deps, stored, PROPOSALS),
    ...present({ recipient_fault: await recipientFault(deps, ownerId, state) }),
    ...(await showDelivery(deps, { ...call, ownerId }, state)),
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

export const DESK_PROBLEMS: ProblemByRejection<OutboundRejection> = {
  content_changed: 'approval_mismatch',
  expired: 'approval_expired',
  wrong_role: 'role_missing',
};

const PROPOSALS: readonly EventType[] = ['OutboundProposed', 'OutboundRevised'];
const KEY_ISSUED = ['KeyIssued'] as const satisfies readonly EventType[];

type Act = {
  request: RequestRef;
  command: (state: OutboundState) => OutboundCommand;
  /** With an approval of a delivery: how the buyer asked for it. */
  howAsked?: string | undefined;
};

type Approval = Extract<OutboundCommand, { type: 'Approve' }>;

const HOW_ASKED_MISSING = refuseField(
  '/how_asked',
  'required',
  'is required for a delivery: say how the buyer asked for the list',
);
const NOT_DELIVERED = 'Nothing was approved.';

/** Completes the approval of a delivery, or refuses one that could not be sent. */
const approveDelivery = async (
  deps: Deps,
  call: Call,
  {
    state,
    approval,
    howAsked,
  }: { state: OutboundState; approval: Approval } & Pick<Act, 'howAsked'>,
): Promise<Approval | Refusal> => {
  if (howAsked === undefined) return HOW_ASKED_MISSING;
  const found = await findDelivery(deps, call, state);
  if ('fault' in found)
    return refuse('state_conflict', `${DELIVERY_FAULTS[found.fault]}. ${NOT_DELIVERED}`);
  const sealed = await deps.vault.seal(state.target['handoff_id'] ?? '', howAsked);
  return sealed === null
    ? refuse('state_conflict', `${DELIVERY_FAULTS.erased}. ${NOT_DELIVERED}`)
    : { ...approval, sealedHowAsked: sealed };
};

/** The person who edited the newest content; empty if an agent wrote it. */
const editorOf = (stored: readonly StoredEvent[]): string[] =>
  actorOfLast(stored, PROPOSALS).filter((actor) => idAtDesk(actor) !== undefined);

/** The actor that issued the key with which an agent proposed last. */
const keyIssuer = async (
  { credentials, log }: Deps,
  stored: readonly StoredEvent[],
): Promise<string[]> => {
  const used = stored.findLast(
    ({ type, meta: { key } }) => PROPOSALS.some((one) => one === type) && key !== undefined,
  );
  const key = used?.meta.key === undefined ? undefined : credentials.key(used.meta.key);
  return key
    ? actorOfLast(await log.readStream(streamOfKey(key.owner, key.key_id)), KEY_ISSUED)
    : [];
};

/**
 * Refuses an approver who is not another person: than who edited the content, always. Where staff control what owners ask for, the person who holds the
 * agent's key asked; in `owner_controlled` mode the agent did, and its owner decides. Where two people must approve, the
 * machine is neither.
 */
const refuseApprover = async (
  deps: Deps,
  call: DeskCall,
  { state, stored }: { state: OutboundState; stored: readonly StoredEvent[] },
): Promise<Refusal | undefined> => {
  const isStaffs = deciderFor(state.approval.mode) === 'staff';
  const approvals = state.decisions.filter(({ decision }) => decision === 'approve');
  if (state.approval.required > 1 && (await everyIsMachine(deps, [call.actor]))) return MACHINE;
  return refuseDependent(deps, call, {
    askers: [...editorOf(stored), ...(isStaffs ? await keyIssuer(deps, stored) : [])],
    approvers: approvals.map(({ by }) => by),
  });
};

/** Runs one person's command on one request. A halt forbids approvals only. */
const act = async (
  deps: Deps,
  call: DeskCall,
  { request, command, howAsked }: Act,
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
      const { fault } = await readRecipient(deps, ownerId, state.target);
      if (fault) return CONTACT_REFUSALS[fault];
      const halt = await readHalt(deps, await readSettings(deps, ownerId));
      if (halt !== undefined) return HALTED;
      if (state.kind !== 'handoff_delivery') return issue(decided);
      const owned = { ...call, ownerId };
      const approval = await approveDelivery(deps, owned, { state, approval: decided, howAsked });
      return 'code' in approval ? approval : issue(approval);
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
  return { at, by: actor, name, person_id, role, contentSha256 };
};

export const approveOutbound: DeskHandler<'approveOutbound'> = (deps, request, call) => {
  const { content_sha256, note, how_asked: howAsked } = request;
  return act(deps, call, {
    request,
    howAsked,
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

type OpenRequest = OpenRow<OutboundState>;
type ListedRequest = { owner: string; state: OutboundState; sort: number };
type RequestSearch = { before: number | undefined; limit: number; at: number };
type RequestPage = { rows: ListedRequest[]; next: number | null };

/** The list over all owners holds open requests only. */
const OWNER_MISSING = refuse('parameter_invalid', 'Requests at their end are listed by owner.', {
  errors: [{ pointer: '/owner_id', code: 'required', detail: 'is required with this status' }],
});

const findOfOwner = async (
  { readModels }: Deps,
  { owner, status }: { owner: string; status: OutboundStatus },
  { before = Infinity, limit, at }: RequestSearch,
): Promise<RequestPage> => {
  type Stored = OutboundState & { sort: number };
  const isMatch = (row: Stored): boolean => statusAt(row, at) === status;
  const inState = await scanLists<Stored>(readModels, {
    name: 'outbound',
    scope: owner,
    ranges: [{ list: listBy({ status }) }],
    after: before,
    isMatch,
    limit,
    rowsMax: ROWS_READ_MAX,
  });
  // A request expires by the clock, a moment before the dispatcher stores it.
  const byExpiry = { scope: owner, list: OUTBOUND_BY_EXPIRY, before: at + 1, limit: ROWS_READ_MAX };
  const overdue = status === 'expired' ? await readModels.list<Stored>('outbound', byExpiry) : [];
  const from = inState.next ?? 0;
  const rows = overdue
    .flatMap(({ row }) => (row.sort >= from && row.sort < before ? [row] : []))
    .concat(inState.rows)
    .sort((a, b) => b.sort - a.sort);
  return { rows: rows.map((row) => ({ owner, state: row, sort: row.sort })), next: inState.next };
};

/** Finds open requests, of all owners if `owner` is undefined. */
const findOpen = (
  { readModels }: Deps,
  call: DeskCall,
  {
    owner,
    status,
    before,
    limit,
    at,
  }: RequestSearch & { owner: string | undefined; status: OutboundStatus | undefined },
): Promise<RequestPage> => {
  const values = present({ owner, status });
  return scanLists<OpenRequest>(readModels, {
    name: 'open-outbound',
    scope: OPEN_RECORDS,
    ranges: [Object.keys(values).length > 0 ? { list: listBy(values) } : {}],
    after: before,
    limit,
    isMatch: (row) => mayActFor(call, row.owner) && (!status || statusAt(row.state, at) === status),
    rowsMax: ROWS_READ_MAX,
  });
};

export const listApprovals: DeskHandler<'listApprovals'> = async (deps, input, call) => {
  const { status, before, limit } = input;
  const owner = input.owner_id ?? soleOwner(call);
  if (owner === undefined && status !== undefined && isSettled({ status })) return OWNER_MISSING;
  if (owner !== undefined && !mayActFor(call, owner)) return NO_REQUEST;
  // One more than the page, so that its cursor is null if no other request matches.
  const search = { before, limit: limit + 1, at: call.at };
  const scanned =
    owner !== undefined && status !== undefined
      ? await findOfOwner(deps, { owner, status }, search)
      : await findOpen(deps, call, { owner, status, ...search });
  const { rows, next } = pageOfScan(scanned, limit);
  return done({
    data: rows.map(({ owner: ownerId, state }) => renderOutbound(ownerId, state, call.at)),
    next_before: next,
    as_of: renderAsOf(deps.following.asOf()),
  });
};

type DigestDeps = Pick<Deps, 'log' | 'readModels' | 'ids' | 'vault' | 'staffMail'>;

/** Requests that are counted; the message says when there are more. */
const COUNTED_MAX = 500;
const PENDING = 'pending_approval';

/**
 * Queues the digest of `day`, like 2026-11-21, once: what waits for approval, without test spaces. Queues nothing while
 * nothing waits, or staff have no mailbox. Answers whether it is queued now.
 */
export const queueDigest = async (
  deps: DigestDeps,
  day: string,
  call: SystemCall,
): Promise<boolean> => {
  const mailId = `mal_${nameOf('approvals-digest', day)}`;
  const isQueued = (await deps.log.readStream(mailStream(call.ownerId, mailId))).length > 0;
  const facts = isQueued || deps.staffMail === undefined ? undefined : await waiting(deps, call.at);
  if (!facts) return false;
  const appends = await mailToStaff(deps, call, { kind: 'approvals_digest', mailId, facts });
  // The stream is new: of two processes, the second append conflicts.
  const result = await deps.log.appendAll(appends);
  return result.outcome === 'appended';
};

const waiting = async (
  { readModels }: DigestDeps,
  at: number,
): Promise<MailFacts['approvals_digest'] | undefined> => {
  const limit = COUNTED_MAX + 1;
  const open = await readModels.list<OpenRow<OutboundState>>('open-outbound', {
    scope: OPEN_RECORDS,
    list: listBy({ status: PENDING }),
    limit,
  });
  const asked = await readModels.list<OpenRow<AgentState>>('access-requests', {
    scope: ALL_ACCESS_REQUESTS,
    list: listBy({ state: 'pending' }),
    limit,
  });
  const outreach = open
    .map(({ row }) => row)
    .filter(({ owner, state }) => !isTestSpace(owner) && statusAt(state, at) === PENDING)
    .map(({ owner, state }) => ({ owner, since: state.created_at }));
  const access = asked.map(({ row: { owner, state } }) => ({
    owner,
    since: state.last_request.requested_at,
  }));
  if (outreach.length + access.length === 0) return undefined;
  return {
    ...counted(outreach, { found: open.length, at }),
    access: counted(access, { found: asked.length, at }),
  };
};

const counted = (
  requests: readonly { owner: string; since: number }[],
  { found, at }: { found: number; at: number },
): Waiting => ({
  requests: Math.min(requests.length, COUNTED_MAX),
  has_more: found > COUNTED_MAX,
  owners: new Set(requests.map(({ owner }) => owner)).size,
  oldest_at: Math.min(at, ...requests.map(({ since }) => since)),
});
