/** The operation that lists an owner's events as acts of people and agents. */
import type { z } from 'zod';
import { type EventData, EVENTS } from '#contracts/registries/events.ts';
import { type DeskOperations, deskOperations } from '#contracts/registries/desk.ts';
import type { Position, StoredEvent } from '#src/ports/event-log.ts';
import { type AgentRow, accessScope } from '#src/ports/rows.ts';
import { ACTS_SCANNED_MAX } from '#contracts/audits/operations.ts';
import { WRITES } from '#src/writing/attribution.ts';
import { done, isRefusal, type Refusal, refuseParameter } from '#src/shared/outcome.ts';
import { recordOfStream } from '#src/writing/streams.ts';
import { present } from '#src/shared/json.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { eventLoopTurns } from '#src/shared/work.ts';
import { causeOf } from './audit-diff.ts';
import { auditedRange } from './moments.ts';
import { withPeople } from '#src/access/independence.ts';
import type { DeskInput } from '#src/calls/desk-handler.ts';
import type { AuditHandler, OwnerAuditDeps } from './audit-state.ts';

export type AuditAct = z.output<DeskOperations['auditHistory']['output']>['data'][number];

type AuditRecord = EventData<'ActivityRecorded' | 'CallsAudited'>;
const AUDIT_RECORDS: ReadonlySet<string> = new Set(['ActivityRecorded', 'CallsAudited']);

/**
 * Lists the acts of an event, newest first: the calls of an audit record, or the event itself. The claim of an idempotency
 * key is part of the act that it belongs to.
 */
export const actsOf = (event: StoredEvent): AuditAct[] => {
  const { position, type, stream, data, meta } = event;
  if (AUDIT_RECORDS.has(type))
    return (data as AuditRecord).entries.toReversed().map((entry) => ({
      position,
      at: iso(entry.at),
      ...causeOf(event),
      request_id: entry.request_id,
      ...present({ key_id: (entry as { key_id?: string }).key_id }),
      surface: entry.surface,
      operation: entry.operation,
      type,
      outcome: entry.decision,
      ...present({
        code: entry.code,
        asked: entry.asked,
        record: (data as { handoff_id?: string }).handoff_id,
      }),
      count: entry.count,
    }));
  if (type === 'RequestBound') return [];
  return [
    {
      position,
      at: iso(meta.at),
      ...causeOf(event),
      ...present({ key_id: meta.key, client: meta.client }),
      surface: meta.surface,
      operation: meta.operation,
      type,
      outcome: 'done',
      ...present({ record: recordOfStream(stream) ?? recordIn(data) }),
    },
  ];
};

/** The record that an event of another stream is about. */
const recordIn = (data: object): string | undefined => {
  const { link_id, handoff_id, lead_id, key_id, agent_id } = data as Record<string, string>;
  return lead_id ?? handoff_id ?? link_id ?? key_id ?? agent_id;
};

type Filters = Pick<
  DeskInput<'auditHistory'>,
  'agent_id' | 'actor' | 'kind' | 'outcome' | 'record' | 'request_id' | 'key_id'
>;

const isWanted = (act: AuditAct, filters: Filters): boolean => {
  const { kind, ...equal } = filters;
  return (
    (kind === undefined || act.type === kind || act.operation === kind) &&
    Object.entries(equal).every(
      ([name, value]) => value === undefined || act[name as keyof AuditAct] === value,
    )
  );
};

/** The kinds of an act, except methods of a protocol, which have a colon: `mcp:tools/list`. */
const KINDS: readonly string[] = [
  ...Object.keys(EVENTS),
  ...Object.keys(deskOperations),
  ...WRITES.keys(),
];

const isEventType = (kind: string): boolean => /^[A-Z]/.test(kind);

/** Refuses an unknown kind, whose empty answer would read as "it did not happen". */
const refuseKind = (kind: string): Refusal | undefined => {
  if (kind.includes(':') || KINDS.includes(kind)) return undefined;
  const known = KINDS.filter((one) => isEventType(one) === isEventType(kind)).toSorted();
  const detail = `must be a type of event or an operation, one of ${known.join(', ')}`;
  return refuseParameter('/kind', 'unknown', detail);
};

export const auditHistory: AuditHandler<'auditHistory'> = async (deps, input, call) => {
  const { owner_id: owner, from, to, before = Infinity, limit, ...filters } = input;
  const unknown = filters.kind === undefined ? undefined : refuseKind(filters.kind);
  if (unknown) return unknown;
  const range = await auditedRange(deps, call, { owner, from, to });
  if (isRefusal(range)) return range;
  const upTo = Math.min(range.to.position, before - 1);
  const page = await readActs(deps, { owner, after: range.from.position, upTo, limit, filters });
  const names = await agentNames(deps, owner, page.acts);
  const acts = await withPeople(deps, page.acts);
  return done({
    data: acts.map((act) => ({ ...act, ...present({ agent_name: names.get(act.agent_id) }) })),
    next_before: page.next_before,
    as_of: renderAsOf(range.to),
  });
};

type Query = { owner: string; after: Position; upTo: Position; limit: number; filters: Filters };

/** Reads back until it has `limit` acts or has read as many events as a page may. */
const readActs = async (
  { log }: Pick<OwnerAuditDeps, 'log'>,
  { owner, after, upTo, limit, filters }: Query,
): Promise<{ acts: AuditAct[]; next_before: number | null }> => {
  const acts: AuditAct[] = [];
  let [last, scanned] = [upTo, 0];
  while (last > after) {
    const size = Math.min(limit, ACTS_SCANNED_MAX - scanned);
    await eventLoopTurns.pause();
    const events = await log.readBack({ upTo: last, limit: size, owner });
    for (const event of events.toReversed()) {
      if (event.position <= after) return { acts, next_before: null };
      acts.push(...actsOf(event).filter((act) => isWanted(act, filters)));
      last = event.position - 1;
      if (acts.length >= limit) return { acts, next_before: last > after ? event.position : null };
    }
    scanned += events.length;
    if (events.length === 0) return { acts, next_before: null };
    if (scanned >= ACTS_SCANNED_MAX) return { acts, next_before: last + 1 };
  }
  return { acts, next_before: null };
};

/** The names of the agents now: an act is shown with the name by which people know the agent. */
const agentNames = async (
  { readModels }: Pick<OwnerAuditDeps, 'readModels'>,
  owner: string,
  acts: readonly AuditAct[],
): Promise<Map<string | undefined, string>> => {
  const ids = new Set(acts.flatMap(({ agent_id }) => agent_id ?? []));
  const named = [...ids].map(async (id): Promise<[string, string][]> => {
    const agent = await readModels.get<AgentRow>('access', accessScope(owner, 'agent'), id);
    return agent ? [[id, agent.name]] : [];
  });
  return new Map((await Promise.all(named)).flat());
};
