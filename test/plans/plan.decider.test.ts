/** What staff plan for a record, and the exact events. */
import { describe, expect, it } from 'vitest';
import { foldSummary, plan, type PlanSummary } from '#src/plans/plan.decider.ts';
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
    spec.given(noted).when(assign(undefined)).then();
    spec
      .given()
      .when(assign(undefined))
      .rejected('no_plan', /nothing is planned for the record/);
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
    spec.given(noted).when(end).then();
    spec
      .given()
      .when(end)
      .rejected('no_plan', /nothing is planned for the record/);
  });

  it('A plan begins with a next step and its text, which stay while other things change', () => {
    const first = { type: 'PlanNextStep' as const, record, dueAt: 5_000, sealedStep: 's1.led_1.s' };
    expect(plan.decide(undefined, first)).toEqual({ accepted: true, events: [step] });
    expect(spec.given(step).state).toStrictEqual({
      due_at: 5_000,
      sealed_step: 's1.led_1.s',
      notes: 0,
    });
    expect(spec.given(step, assigned('ann'), noted).state).toStrictEqual({
      assigned_to: 'ann',
      due_at: 5_000,
      sealed_step: 's1.led_1.s',
      notes: 1,
    });
  });

  it('A plan drops the text of a step that is done, or is replaced by a step without a text', () => {
    const later = { type: 'NextStepPlanned' as const, data: { record, due_at: 6_000 } };
    expect(spec.given(assigned('ann'), step, ended).state).toStrictEqual({
      assigned_to: 'ann',
      notes: 0,
    });
    expect(spec.given(step, later).state).toStrictEqual({ due_at: 6_000, notes: 0 });
  });

  it('A plan can begin with a note', () => {
    const add = { type: 'AddNote' as const, record, sealedNote: 's1.led_1.n' };
    expect(plan.decide(undefined, add)).toEqual({ accepted: true, events: [noted] });
    expect(spec.given(noted).state).toStrictEqual({ notes: 1 });
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

describe('The summary of a plan', () => {
  const full: PlanSummary = { assigned_to: 'ann', due_at: 5_000 };
  const unassigned = { type: 'RecordAssigned' as const, data: { record } };
  const later = { ...step, data: { ...step.data, due_at: 6_000 } };

  it.each([
    ['does not change with a note', noted, full, full],
    ['gets the first person', assigned('ann'), {}, { assigned_to: 'ann' }],
    [
      'replaces the person and keeps the step',
      assigned('ben'),
      full,
      { due_at: 5_000, assigned_to: 'ben' },
    ],
    ['loses the person and keeps the step', unassigned, full, { due_at: 5_000 }],
    ['gets the first time of a step, without its text', step, {}, { due_at: 5_000 }],
    [
      'replaces the time of the step and keeps the person',
      later,
      full,
      { assigned_to: 'ann', due_at: 6_000 },
    ],
    ['loses the step that is done and keeps the person', ended, full, { assigned_to: 'ann' }],
    ['stays empty when no person is named', unassigned, {}, {}],
    ['stays empty when no step was planned', ended, {}, {}],
  ])('The summary of a plan %s', (_name, event, before, after) => {
    expect(foldSummary(before, { ...event, at: 1_000 })).toStrictEqual(after);
  });
});
