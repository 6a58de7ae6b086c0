/** The changes of an owner's records in log order, as the states that agents see. */
import type { Change, ChangeKind } from '#contracts/records/changes.ts';
import { agent, type AgentState } from '#src/access/access.decider.ts';
import type { Deps, Handler } from '#src/calls/handlers.ts';
import { type HandoffState, handoff, shownStatus } from '#src/handoffs/handoff.decider.ts';
import { rfqForAgents } from '#src/handoffs/rfq.decider.ts';
import { lead, type LeadState, stateAt } from '#src/leads/lead.decider.ts';
import { link, linkStatusAt, type LinkState } from '#src/links/link.decider.ts';
import { outbound, type OutboundState, statusAt } from '#src/outreach/outbound.decider.ts';
import type { Position, StoredEvent } from '#src/ports/event-log.ts';
import type { ChangedKind, ChangeRow } from '#src/ports/rows.ts';
import { eventLoopTurns } from '#src/shared/work.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { done, refuseParameter } from '#src/shared/outcome.ts';
import { allows } from '#contracts/scopes.ts';
import { z } from 'zod';
import { SCOPE_OF } from '#src/outreach/requests.ts';
import { readPlace, writeCursor } from '#src/reading/lists.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { RECORD_SCOPES } from './read-record.ts';

/** A record as its viewer sees it: the state of each kind of thing that it is. Empty if the viewer sees nothing of it. */
type Seen = Partial<Record<ChangeKind, { id: string; state: string }>>;

/** Who reads: which records are hidden. */
export type Viewer = {
  isLinkShown: boolean;
  isHandoffShown: boolean;
  isLeadShown: boolean;
  isOutboundShown(state: OutboundState): boolean;
  isAgentShown(state: AgentState): boolean;
};

type Subject<State> = {
  decider: { evolve(state: State | undefined, event: never): State };
  see(state: State, at: number, viewer: Viewer): Seen;
};

const linkSubject: Subject<LinkState> = {
  decider: link,
  see: (state, at, { isLinkShown }) =>
    isLinkShown ? { link: { id: state.link_id, state: linkStatusAt(state, at) } } : {},
};

const handoffSubject: Subject<HandoffState> = {
  decider: handoff,
  // The list that a buyer made belongs to the buyer.
  see(state, at, { isHandoffShown }) {
    if (!isHandoffShown || state.made_by_buyer) return {};
    const { handoff_id: id } = state;
    const rfq = rfqForAgents(state.rfq, at);
    return {
      handoff: { id, state: shownStatus(state, at) },
      ...(rfq && { rfq: { id, state: rfq.state } }),
    };
  },
};

const leadSubject: Subject<LeadState> = {
  decider: lead,
  see: (state, at, { isLeadShown }) =>
    isLeadShown ? { lead: { id: state.lead_id, state: stateAt(state, at) } } : {},
};

const outboundSubject: Subject<OutboundState> = {
  decider: outbound,
  see: (state, at, { isOutboundShown }) =>
    isOutboundShown(state)
      ? { outreach: { id: state.outbound_id, state: statusAt(state, at) } }
      : {},
};

const agentSubject: Subject<AgentState> = {
  decider: agent,
  see: (state, _at, { isAgentShown }) =>
    isAgentShown(state) ? { access: { id: state.agent_id, state: state.status } } : {},
};

/** Each is used with the streams of its own kind only. */
const SUBJECTS = {
  link: linkSubject,
  handoff: handoffSubject,
  lead: leadSubject,
  outbound: outboundSubject,
  agent: agentSubject,
} as unknown as Readonly<Record<ChangedKind, Subject<object>>>;

/** Events that change what is shown of a record, and not its state. */
const WITHIN_STATE: ReadonlySet<string> = new Set([
  'LinkUpdated',
  'HandoffRevisedByAgent',
  'LeadAmended',
  'OutboundRevised',
  'AccessRequested',
  'AccessApproved',
  'AccessDenied',
  'AccessGranted',
]);

/** Compares what a viewer sees before and after an event. An RFQ that is no longer shown has ended unconfirmed. */
const compare = (before: Seen, after: Seen, { type, meta, position }: StoredEvent): Change[] =>
  (Object.entries(after) as [ChangeKind, { id: string; state: string }][]).flatMap(
    ([kind, { id, state: to }]) => {
      const from = before[kind]?.state ?? null;
      return from !== to || (kind !== 'rfq' && WITHIN_STATE.has(type))
        ? [{ id, kind, from, to, position, at: iso(meta.at) }]
        : [];
    },
  );

const kindOf = (ownerId: string, stream: string): ChangedKind =>
  stream.slice(ownerId.length + 1, stream.indexOf('_', ownerId.length)) as ChangedKind;

/** The changes by the events of one record that the rows name, by position. Reads its stream once. */
const changesOfRecord = async (
  { log }: Pick<Deps, 'log'>,
  { ownerId, viewer }: { ownerId: string; viewer: Viewer },
  { stream, rows }: { stream: string; rows: readonly ChangeRow[] },
): Promise<[Position, Change[]][]> => {
  const { decider, see } = SUBJECTS[kindOf(ownerId, stream)];
  const last = rows.at(-1)?.revision ?? 0;
  const events = await log.readStream(stream, 0, last + 1);
  const wanted = new Set(rows.map(({ position }) => position));
  const changed: [Position, Change[]][] = [];
  let state: object | undefined;
  for (const event of events) {
    const { at } = event.meta;
    // Deciders may change the state that they fold.
    const before = state && wanted.has(event.position) ? see(state, at, viewer) : {};
    // The log validates each event when it reads it, so its data has the shape of its type.
    state = decider.evolve(state, { type: event.type, data: event.data, at } as never);
    if (wanted.has(event.position))
      changed.push([event.position, compare(before, see(state, at, viewer), event)]);
  }
  return changed;
};

/** Rows that are read for one page, which bounds its cost when the viewer sees few of them. */
const ROWS_MAX = 1_000;

/** What follows `after`: `next` is the position up to which it has all changes, `isEnd` whether none follow it now. */
export type ChangesPage = { data: Change[]; next: Position; isEnd: boolean };

/** Reads the changes after a position in log order, of at most `limit` positions. A position is never divided. */
export const readChanges = async (
  deps: Pick<Deps, 'log' | 'readModels' | 'following'>,
  { ownerId, viewer }: { ownerId: string; viewer: Viewer },
  { after, limit }: { after: Position; limit: number },
): Promise<ChangesPage> => {
  // All events up to here are in the rows that are read from now on.
  const { position: asOf } = deps.following.asOf();
  const data: Change[] = [];
  let next = after;
  let told = 0;
  const step = limit + 1;
  for (let read = 0; read < ROWS_MAX; read += step) {
    await eventLoopTurns.pause();
    const query = { scope: ownerId, isAscending: true, downTo: next + 1, limit: step };
    const page = await deps.readModels.list<ChangeRow>('changes', query);
    const byStream = Map.groupBy(
      page.map(({ row }) => row),
      ({ stream }) => stream,
    );
    const changes = new Map(
      (
        await Promise.all(
          Array.from(byStream, ([stream, rows]) =>
            changesOfRecord(deps, { ownerId, viewer }, { stream, rows }),
          ),
        )
      ).flat(),
    );
    for (const { row } of page) {
      const own = changes.get(row.position) ?? [];
      if (own.length > 0 && (told += 1) > limit) return { data, next, isEnd: false };
      data.push(...own);
      next = row.position;
    }
    if (page.length < step) return { data, next: Math.max(next, asOf), isEnd: true };
  }
  return { data, next, isEnd: false };
};

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
