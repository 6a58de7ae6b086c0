/** Assigns records to people, and records notes and next steps. */
import { plan, type PlanCommand, type PlanState } from '#src/domain/staff/plan.ts';
import { isOneName, personIdOfName } from '#src/domain/person.ts';
import { accessScope, type DeskTokenRow } from '#src/ports/rows.ts';
import { refuseRejected } from '../events/rejections.ts';
import { DESK } from '../pipeline/audit.ts';
import type { DeskCall } from '../pipeline/call.ts';
import type { DeskDeps, DeskHandler } from '../pipeline/desk-handler.ts';
import { isRefusal, type Refusal, refuse, refuseField } from '../pipeline/outcome.ts';
import { sealAll } from '../privacy/sealed-texts.ts';
import { listing } from '../read-models/listing.ts';
import { changeRecord } from '../records/change-record.ts';
import { present } from '../shared/present.ts';
import { epoch, iso } from '../shared/time.ts';
import { NO_RECORD, ownerOfPlanned, planStream, type RecordRef } from './planned-record.ts';

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
  ): PlanCommand | Refusal | Promise<PlanCommand | Refusal>;
};

const changePlan = async (
  deps: DeskDeps,
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

/** The ids of the people that a text names, by id or by name, among those with a valid desk token of the role staff. */
const staffNamed = async (
  { readModels }: Pick<DeskDeps, 'readModels'>,
  text: string,
  at: number,
): Promise<Set<string>> => {
  const ids = new Set<string>();
  const query = { scope: accessScope(DESK, 'desk'), limit: TOKENS_AT_ONCE };
  for await (const page of listing<DeskTokenRow>(readModels, 'access', query))
    for (const { row } of page) {
      const { name, roles, status, expires_at = Infinity } = row;
      if (status !== 'active' || !roles.includes('staff') || expires_at <= at) continue;
      const id = row.person_id ?? personIdOfName(name);
      if (id === text) return new Set([id]);
      if (id !== undefined && isOneName(name, text)) ids.add(id);
    }
  return ids;
};

const findPerson = async (
  deps: Pick<DeskDeps, 'readModels'>,
  text: string,
  at: number,
): Promise<string | Refusal> => {
  const [id, another] = await staffNamed(deps, text, at);
  if (id === undefined)
    return refuseField('/person', 'not_found', 'is no person with a desk token of the role staff');
  return another === undefined
    ? id
    : refuseField('/person', 'ambiguous', `names ${id} and ${another}: send the id of one`);
};

export const assignRecord: DeskHandler<'assignRecord'> = (deps, { person, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    command: async (record) => {
      const found = person === undefined ? undefined : await findPerson(deps, person, call.at);
      return isRefusal(found) ? found : { type: 'Assign', record, assignedTo: found };
    },
  });

export const addNote: DeskHandler<'addNote'> = (deps, { note, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    text: note,
    command: (record, sealedNote = '') => ({ type: 'AddNote', record, sealedNote }),
  });

export const planNextStep: DeskHandler<'planNextStep'> = (deps, { due_at, step, ...ref }, call) =>
  changePlan(deps, call, {
    ref,
    text: step,
    command: (record, sealedStep) => ({
      type: 'PlanNextStep',
      record,
      dueAt: epoch(due_at),
      sealedStep,
    }),
  });

export const endNextStep: DeskHandler<'endNextStep'> = (deps, ref, call) =>
  changePlan(deps, call, { ref, command: (record) => ({ type: 'EndNextStep', record }) });
