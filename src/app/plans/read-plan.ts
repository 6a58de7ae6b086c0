import type { EventData } from '#contracts/events/index.ts';
import { plan, type PlanSummary } from '#src/domain/staff/plan.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { withPeople } from '../audit/people.ts';
import { foldOf } from '../events/fold.ts';
import type { DeskCall } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { openOne, openTexts, shownText } from '../privacy/sealed-texts.ts';
import { maySeePlans } from '../read-models/inbox.ts';
import { present } from '../shared/present.ts';
import { iso } from '../shared/time.ts';
import { NO_RECORD, ownerOfPlanned, planStream } from './planned-record.ts';

/** Opens the notes of a plan, newest first. */
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
export const readPlan: DeskHandler<'readPlan'> = async (deps, input, call) => {
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
    ...present({ assigned_to }),
    ...(due_at !== undefined && { next_step: { due_at: iso(due_at), ...present({ step }) } }),
    notes: notes.map(({ note, actor, actor_name, at }) => ({
      note,
      by: actor,
      ...present({ by_name: actor_name }),
      at: iso(at),
    })),
  });
};

/** The plan of a row of a list; nothing for callers who are neither staff nor auditors. */
export const renderSummary = (call: DeskCall, { assigned_to, due_at }: PlanSummary = {}) =>
  maySeePlans(call)
    ? present({ assigned_to, due_at: due_at === undefined ? undefined : iso(due_at) })
    : {};
