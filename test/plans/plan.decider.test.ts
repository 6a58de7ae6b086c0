/** What staff plan for a record, and the exact events. */
import { describe, expect, it } from 'vitest';
import { plan } from '#src/plans/plan.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const record = 'led_1';
const spec = specify(plan);
const assigned = (assigned_to: string) => ({
  type: 'RecordAssigned' as const,
  data: { record, assigned_to },
});
const noted = { type: 'RecordNoted' as const, data: { record, sealed_note: 's1.led_1.n' } };
const step = {
  type: 'NextStepPlanned' as const,
  data: { record, due_at: 5_000, sealed_step: 's1.led_1.s' },
};
const ended = { type: 'NextStepDone' as const, data: { record } };

describe('A plan', () => {
  it('A plan names the person that the record was last assigned to, or none', () => {
    const assign = (assignedTo: string | undefined) => ({
      type: 'Assign' as const,
      record,
      assignedTo,
    });
    spec.given().when(assign('ann')).then(assigned('ann'));
    expect(spec.given(assigned('ann')).when(assign('ben')).then(assigned('ben'))).toEqual({
      assigned_to: 'ben',
      notes: 0,
    });
    spec.given(assigned('ann')).when(assign('ann')).then();
    const free = { type: 'RecordAssigned' as const, data: { record } };
    const after = spec.given(assigned('ann'), noted).when(assign(undefined)).then(free);
    expect(after).toEqual({ notes: 1 });
    spec.given().when(assign(undefined)).rejected('no_plan');
  });

  it('A plan keeps the newest next step until it is done', () => {
    const next = { type: 'PlanNextStep' as const, record, dueAt: 6_000, sealedStep: undefined };
    const end = { type: 'EndNextStep' as const, record };
    const later = { type: 'NextStepPlanned' as const, data: { record, due_at: 6_000 } };
    expect(plan.decide(spec.given(step).state, next)).toEqual({
      accepted: true,
      events: [later],
    });
    expect(spec.given(step, later).state).toEqual({ due_at: 6_000, notes: 0 });
    expect(spec.given(step).when(end).then(ended)).toEqual({ notes: 0 });
    spec.given(step, ended).when(end).then();
    spec.given().when(end).rejected('no_plan');
  });

  it('A plan counts its notes and bounds them', () => {
    const add = { type: 'AddNote' as const, record, sealedNote: 's1.led_1.n' };
    const { state } = spec.given(...Array.from({ length: 499 }, () => noted));
    expect(plan.decide(state, add)).toEqual({ accepted: true, events: [noted] });
    spec
      .given(...Array.from({ length: 500 }, () => noted))
      .when(add)
      .rejected('too_many_notes', /at most 500 notes/);
  });
});
