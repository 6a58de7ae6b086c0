/** What staff plan for a record: assignments, notes, next steps; and the list of requests for access. */
import type { EventData } from '#contracts/registries/events.ts';
import type { AgentState } from '#src/access/access.decider.ts';
import { renderRequest } from '#src/access/get-connection.ts';
import { type PeopleDeps, withPeople } from '#src/access/independence.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import {
  accessScope,
  ALL_RFQS,
  type DeskTokenRow,
  type PersonRow,
  OPEN_RECORDS,
  ALL_ACCESS_REQUESTS,
  listBy,
  type OpenRow,
} from '#src/ports/rows.ts';
import { ownerFor } from '#src/reading/find-owner.ts';
import { maySeePlans, readInbox } from '#src/reading/inbox.ts';
import { listing } from '#src/reading/lists.ts';
import { openOne, openTexts, sealAll, shownText } from '#src/sealing/sealed-texts.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { done, isRefusal, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { isOneName } from '#src/shared/person.ts';
import { present } from '#src/shared/json.ts';
import { epoch, iso, renderAsOf } from '#src/shared/time.ts';
import { type Issued, issue, changeRecord } from '#src/writing/decide-and-append.ts';
import { foldOf, handoffOf, leadOf } from '#src/writing/streams.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { plan, type PlanCommand, type PlanState, type PlanSummary } from './plan.decider.ts';

type RecordRef = { record_id: string; owner_id?: string | undefined };

const NO_RECORD = refuse('resource_not_found', 'There is no such record.');

const planStream = (ownerId: string, recordId: string): string => `${ownerId}-plan_${recordId}`;

/** The owner of a lead, an RFQ or an agent; undefined if there is none, or if the caller may not act for its owner. */
const ownerOfPlanned = async (
  deps: Pick<Deps, 'log' | 'readModels' | 'credentials'>,
  call: DeskCall,
  { record_id: id, owner_id }: RecordRef,
): Promise<string | undefined> => {
  if (id.startsWith('agt_')) {
    const owner = deps.credentials.agent(id)?.owner;
    return owner !== undefined && mayActFor(call, owner) ? owner : undefined;
  }
  if (id.startsWith('led_')) {
    const listed = ['open-leads', OPEN_RECORDS] as const;
    const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'lead', id });
    return owner !== undefined && (await leadOf(deps, owner, id)) ? owner : undefined;
  }
  const listed = ['rfqs', ALL_RFQS] as const;
  const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'handoff', id });
  return owner !== undefined && (await handoffOf(deps, owner, id))?.rfq ? owner : undefined;
};

const ERASED = refuse(
  'state_conflict',
  'The record was erased, so no text about it can be stored. Plan the next step without a text.',
);
const NO_TEXT = refuse(
  'state_conflict',
  'A request for access has no notes and no text of a step, because it is never erased.',
);

const TOKENS_AT_ONCE = 100;

const renderPlan = (
  { record_id, owner_id }: { record_id: string; owner_id: string },
  { assigned_to, due_at, notes }: PlanState,
) => ({
  record_id,
  owner_id,
  ...present({ assigned_to, due_at: due_at === undefined ? undefined : iso(due_at) }),
  notes,
});

type Change = {
  ref: RecordRef;
  /** The text that the command stores, if there is one. */
  text?: string | undefined;
  command(
    record: string,
    sealed: string | undefined,
  ): Issued<PlanCommand> | Refusal | Promise<Issued<PlanCommand> | Refusal>;
};

const changePlan = async (
  deps: Deps,
  call: DeskCall,
  { ref, text, command }: Change,
): ReturnType<DeskHandler<'addNote'>> => {
  const { record_id } = ref;
  if (text !== undefined && record_id.startsWith('agt_')) return NO_TEXT;
  const ownerId = await ownerOfPlanned(deps, call, ref);
  if (ownerId === undefined) return NO_RECORD;
  return changeRecord(deps, call, {
    ownerId,
    stream: planStream(ownerId, record_id),
    decider: plan,
    async command() {
      const sealed = await sealAll(deps.vault, record_id, { text });
      return sealed === null ? ERASED : command(record_id, sealed.text);
    },
    refusal: (rejection) => refuseRejected(rejection, NO_RECORD),
    render: (state) => renderPlan({ record_id, owner_id: ownerId }, state),
  });
};

/** Those of staff who can act now: holders of a valid desk token, and people who sign in. */
const staffIn = async function* (
  { readModels }: Pick<Deps, 'readModels'>,
  at: number,
): AsyncGenerator<{ id: string; name: string }, void> {
  for (const kind of ['desk', 'person'] as const) {
    const query = { scope: accessScope(DESK, kind), limit: TOKENS_AT_ONCE };
    for await (const page of listing<DeskTokenRow | PersonRow>(readModels, 'access', query))
      for (const { row } of page) {
        if (row.status !== 'active' || !row.roles.includes('staff')) continue;
        if (row.kind === 'person') yield { id: row.person_id, name: row.name };
        else if ((row.expires_at ?? Infinity) > at) yield { id: row.person_id, name: row.name };
      }
  }
};

/** The ids of the people of staff that a text names, by id or by name. */
const staffNamed = async (
  deps: Pick<Deps, 'readModels'>,
  text: string,
  at: number,
): Promise<Set<string>> => {
  const ids = new Set<string>();
  for await (const { id, name } of staffIn(deps, at)) {
    if (id === text) return new Set([id]);
    if (isOneName(name, text)) ids.add(id);
  }
  return ids;
};

const findPerson = async (
  deps: Pick<Deps, 'readModels'>,
  text: string,
  at: number,
): Promise<string | Refusal> => {
  const [id, another] = await staffNamed(deps, text, at);
  if (id === undefined)
    return refuseField('/person', 'not_found', 'is no person of the role staff');
  return another === undefined
    ? id
    : refuseField('/person', 'ambiguous', `names ${id} and ${another}: send the id of one`);
};

export const assignRecord: DeskHandler<'assignRecord'> = (deps, { person, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    command: async (record) => {
      const found = person === undefined ? undefined : await findPerson(deps, person, call.at);
      return isRefusal(found) ? found : issue({ type: 'Assign', record, assignedTo: found });
    },
  });

export const addNote: DeskHandler<'addNote'> = (deps, { note, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    text: note,
    command: (record, sealedNote = '') => issue({ type: 'AddNote', record, sealedNote }),
  });

export const planNextStep: DeskHandler<'planNextStep'> = (deps, { due_at, step, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    text: step,
    command: (record, sealedStep) =>
      issue({
        type: 'PlanNextStep',
        record,
        dueAt: epoch(due_at),
        sealedStep,
      }),
  });

export const endNextStep: DeskHandler<'endNextStep'> = (deps, ref, call) =>
  changePlan(deps, call, { ref, command: (record) => issue({ type: 'EndNextStep', record }) });

const openNotes = async (
  { vault }: Pick<Deps, 'vault'>,
  stored: readonly StoredEvent[],
): Promise<{ note: string; actor: string; at: number }[]> => {
  const notes = stored
    .filter(({ type }) => type === 'RecordNoted')
    .map(({ data, meta }) => ({ sealed: (data as EventData<'RecordNoted'>).sealed_note, ...meta }));
  const opened = await openTexts(
    vault,
    notes.map(({ sealed }) => sealed),
  );
  return notes
    .toReversed()
    .map(({ sealed, actor, at }) => ({ note: shownText(opened(sealed)), actor, at }));
};

/** The texts of the notes on a record, newest first. */
export const readNotes = async (
  deps: Pick<Deps, 'log' | 'vault'>,
  ownerId: string,
  recordId: string,
): Promise<string[]> => {
  const stored = await deps.log.readStream(planStream(ownerId, recordId));
  return (await openNotes(deps, stored)).map(({ note }) => note);
};

/** Reads what staff plan for a record, for the staff who work on it. */
export const readPlan: DeskHandler<'readPlan', PeopleDeps> = async (deps, input, call) => {
  const { record_id } = input;
  const owner_id = await ownerOfPlanned(deps, call, input);
  if (owner_id === undefined) return NO_RECORD;
  const stored = await deps.log.readStream(planStream(owner_id, record_id));
  const { assigned_to, due_at, sealed_step } = foldOf(plan, stored) ?? {};
  const step =
    sealed_step === undefined ? undefined : shownText(await openOne(deps.vault, sealed_step));
  const notes = await withPeople(deps, await openNotes(deps, stored));
  return done({
    record_id,
    owner_id,
    ...present({
      assigned_to,
      assigned_name:
        assigned_to === undefined ? undefined : await deps.personName(`desk:${assigned_to}`),
    }),
    ...(due_at !== undefined && { next_step: { due_at: iso(due_at), ...present({ step }) } }),
    notes: notes.map(({ note, actor, actor_name, at }) => ({
      note,
      by: actor,
      ...present({ by_name: actor_name }),
      at: iso(at),
    })),
  });
};

/** A list row's plan; nothing for callers who are neither staff nor auditors. */
export const renderSummary = (call: DeskCall, { assigned_to, due_at }: PlanSummary = {}) =>
  maySeePlans(call)
    ? present({ assigned_to, due_at: due_at === undefined ? undefined : iso(due_at) })
    : {};

export const listAccessRequests: DeskHandler<'listAccessRequests'> = async (deps, input, call) => {
  const { state: outcome } = input;
  const list = outcome === undefined ? ALL_ACCESS_REQUESTS : listBy({ state: outcome });
  const { rows, ...next } = await readInbox<OpenRow<AgentState>>(deps.readModels, call, {
    name: 'access-requests',
    scope: ALL_ACCESS_REQUESTS,
    input,
    ranges: [{ list }],
    agentOf: ({ state }) => state.agent_id,
    beganAt: ({ state }) => state.last_request.requested_at,
    isMatch: ({ state }) => outcome === undefined || state.last_request.outcome === outcome,
  });
  const data = rows.map(({ owner, state, plan }) => {
    const { agent_id, name, purpose, pending, status, granted, last_request } = state;
    return {
      agent_id,
      owner_id: owner,
      name: pending?.name ?? name,
      purpose: pending?.purpose ?? purpose,
      ...renderRequest(last_request),
      ...present({ application_id: last_request.application_id }),
      agent_status: status,
      granted_scopes: granted,
      ...renderSummary(call, plan),
    };
  });
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
