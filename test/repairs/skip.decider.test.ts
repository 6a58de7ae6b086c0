import { describe, expect, it } from 'vitest';
import {
  type RepairCommand,
  repairs,
  type SkippedEvent,
  skipOf,
} from '#src/repairs/skip.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const event: SkippedEvent = {
  read_model: 'leads',
  event_id: 'evt_1',
  stream: 'acme-lead_1',
  revision: 3,
  position: 17,
  type: 'LeadSubmitted',
};
const ofOtherReadModel = { ...event, read_model: 'handoffs' };
const nextEvent = { ...event, event_id: 'evt_2', revision: 4, position: 18 };

const proposed = (data: SkippedEvent) => ({
  type: 'EventSkipProposed' as const,
  data: { ...data, reason: 'Broken' },
});
const approved = (data: SkippedEvent) => ({ type: 'EventSkipApproved' as const, data });
const retried = (data: { read_model?: string }) => ({ type: 'ParkedEventsRetried' as const, data });
const propose = (data: SkippedEvent, reason = 'Broken'): RepairCommand => ({
  type: 'Propose',
  event: data,
  reason,
});
const approve = (data: SkippedEvent): RepairCommand => ({ type: 'Approve', event: data });
const skip = (data: SkippedEvent, is_approved: boolean) => ({
  ...data,
  reason: 'Broken',
  is_approved,
});
const { given } = specify(repairs);

describe('The skip of an event', () => {
  it('The skip of an event is proposed with a reason, and does not apply yet', () => {
    const state = given().when(propose(event)).then(proposed(event));
    expect(state).toStrictEqual({ skips: [skip(event, false)] });
  });

  it('The skip of an event is proposed once, whatever the second reason is', () => {
    for (const reason of ['Broken', 'Also wrong'])
      given(proposed(event))
        .when(propose(event, reason))
        .rejected('proposed_before', /proposed already: another person approves it/);
  });

  it('The skip of an event is approved without the reason of its proposal, and applies then', () => {
    const state = given(proposed(event)).when(approve(event)).then(approved(event));
    expect(state).toStrictEqual({ skips: [skip(event, true)] });
  });

  it('The skip of an event is not approved before it is proposed', () => {
    given()
      .when(approve(event))
      .rejected('not_proposed', /nobody has proposed to skip this event/);
  });

  it('The skip of an event that applies is neither proposed nor approved again', () => {
    const after = given(proposed(event), approved(event));
    for (const command of [propose(event), approve(event)])
      after.when(command).rejected('skipped_before', /^leads is folded without this event already/);
  });

  it.each([
    ['the same event for another read model', ofOtherReadModel],
    ['another event of the same read model', nextEvent],
  ])('The skip of an event says nothing about %s', (_name, other) => {
    for (const history of [[proposed(event)], [proposed(event), approved(event)]]) {
      given(...history)
        .when(approve(other))
        .rejected('not_proposed');
      given(...history)
        .when(propose(other))
        .then(proposed(other));
    }
  });

  it('The skip of an event is approved alone, in the place that its proposal has', () => {
    const others = [proposed(ofOtherReadModel), proposed(event), proposed(nextEvent)];
    expect(
      given(...others)
        .when(approve(event))
        .then(approved(event)),
    ).toStrictEqual({
      skips: [skip(ofOtherReadModel, false), skip(event, true), skip(nextEvent, false)],
    });
  });

  it('The skip of an event stays approved when another one is approved', () => {
    const { state } = given(
      proposed(event),
      proposed(nextEvent),
      approved(event),
      approved(nextEvent),
    );
    expect(state).toStrictEqual({ skips: [skip(event, true), skip(nextEvent, true)] });
  });

  it('The skip of an event is found by its read model and its event', () => {
    const { state } = given(proposed(ofOtherReadModel), proposed(nextEvent), proposed(event));
    for (const one of [event, nextEvent, ofOtherReadModel])
      expect(skipOf(state, one)).toStrictEqual(skip(one, false));
    expect(skipOf(state, { ...ofOtherReadModel, event_id: 'evt_2' })).toBeUndefined();
    expect(skipOf(undefined, event)).toBeUndefined();
  });
});

describe('A new attempt to fold what is parked', () => {
  it.each([
    ['one read model', 'leads', { read_model: 'leads' }],
    ['all read models', undefined, {}],
  ])('A new attempt to fold what is parked of %s is recorded each time', (_name, readModel, of) => {
    for (const history of [[], [retried(of)], [proposed(event), approved(event)]])
      expect(repairs.decide(given(...history).state, { type: 'Retry', readModel })).toEqual({
        accepted: true,
        events: [retried(of)],
      });
  });

  it('A new attempt to fold what is parked changes no skip', () => {
    expect(given(retried({ read_model: 'leads' })).state).toStrictEqual({ skips: [] });
    const skips = [skip(event, false)];
    expect(given(proposed(event), retried({})).state).toStrictEqual({ skips });
    given(proposed(event), retried({ read_model: 'leads' }))
      .when(approve(event))
      .then(approved(event));
  });
});
