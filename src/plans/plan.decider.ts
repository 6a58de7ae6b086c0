/** What staff plan for a record: the person it is assigned to, notes, and the next step. */
import type { EventOf, Happened, PlanEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type Event = EventOf<PlanEventType>;

/** Bounds the stream of a plan. */
const NOTES_MAX = 500;

/** The part of a plan that lists show. */
export type PlanSummary = {
  /** The id of a person. */
  assigned_to?: string;
  /** When the next step is due, in epoch milliseconds. */
  due_at?: number;
};

export type PlanState = PlanSummary & { sealed_step?: string; notes: number };

export type PlanCommand =
  | { type: 'Assign'; record: string; assignedTo: string | undefined }
  | { type: 'AddNote'; record: string; sealedNote: string }
  | { type: 'PlanNextStep'; record: string; dueAt: number; sealedStep: string | undefined }
  | { type: 'EndNextStep'; record: string };

export type PlanRejection = 'no_plan' | 'too_many_notes';

export const foldSummary = (summary: PlanSummary, event: Happened<PlanEventType>): PlanSummary => {
  if (event.type === 'RecordNoted') return summary;
  if (event.type === 'RecordAssigned') {
    const { assigned_to: _before, ...rest } = summary;
    const { assigned_to } = event.data;
    return assigned_to === undefined ? rest : { ...rest, assigned_to };
  }
  const { due_at: _before, ...rest } = summary;
  return event.type === 'NextStepDone' ? rest : { ...rest, due_at: event.data.due_at };
};

export const plan: Decider<PlanState, PlanCommand, Event, PlanRejection> = {
  evolve(state = { notes: 0 }, event) {
    const { notes, sealed_step: before, ...summary } = state;
    const isStep = event.type === 'NextStepPlanned' || event.type === 'NextStepDone';
    const after = event.type === 'NextStepPlanned' ? event.data.sealed_step : undefined;
    const sealed_step = isStep ? after : before;
    return {
      ...foldSummary(summary, event),
      ...(sealed_step !== undefined && { sealed_step }),
      notes: notes + Number(event.type === 'RecordNoted'),
    };
  },

  decide(stored, { record, ...command }) {
    // A stream cannot begin with nothing.
    const endsNothing =
      command.type === 'EndNextStep' ||
      (command.type === 'Assign' && command.assignedTo === undefined);
    if (!stored && endsNothing) return reject('no_plan', 'nothing is planned for the record');
    const state = stored ?? { notes: 0 };
    switch (command.type) {
      case 'Assign':
        return state.assigned_to === command.assignedTo
          ? accept()
          : accept({ type: 'RecordAssigned', data: { record, assigned_to: command.assignedTo } });
      case 'AddNote':
        return state.notes >= NOTES_MAX
          ? reject('too_many_notes', `a record has at most ${NOTES_MAX} notes`)
          : accept({ type: 'RecordNoted', data: { record, sealed_note: command.sealedNote } });
      case 'PlanNextStep': {
        const { dueAt: due_at, sealedStep: sealed_step } = command;
        return accept({ type: 'NextStepPlanned', data: { record, due_at, sealed_step } });
      }
      case 'EndNextStep':
        return state.due_at === undefined
          ? accept()
          : accept({ type: 'NextStepDone', data: { record } });
    }
  },
};
