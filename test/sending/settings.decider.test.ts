import { describe, expect, it } from 'vitest';
import { outreach, type OutreachCommand } from '#src/sending/settings.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const settings = {
  mode: 'owner_controlled' as const,
  approvals_required: 1,
  channels: { message: { adapter: 'file' as const } },
};
const configured = { type: 'OutreachConfigured' as const, data: settings };
const halted = { type: 'OutreachHalted' as const, data: { reason: 'Spam' } };
const resumed = { type: 'OutreachResumed' as const, data: { reason: 'Fixed' } };
const disabled = {
  type: 'OutreachChannelDisabled' as const,
  data: { kind: 'message' as const, reason: 'Gone' },
};
const disable = (kind: 'message' | 'social_post' = 'message'): OutreachCommand => ({
  type: 'DisableChannel',
  kind,
  reason: 'Gone',
});
const automatic = (perDay: number): OutreachCommand => ({ type: 'SetAutomaticDelivery', perDay });
const automaticSet = (per_day: number) => ({
  type: 'AutomaticDeliverySet' as const,
  data: { per_day },
});
const { given } = specify(outreach);

describe('The outreach of an owner', () => {
  it('The outreach of an owner is halted once, and can be halted before it is configured', () => {
    const state = given().when({ type: 'Halt', reason: 'Spam' }).then(halted);
    expect(state).toEqual({ disabled: {}, halted: 'Spam' });
    given(configured, halted).when({ type: 'Halt', reason: 'Again' }).then();
    const again = given(configured, halted, resumed).when({ type: 'Halt', reason: 'Spam' });
    expect(again.then(halted)).toEqual({ settings, disabled: {}, halted: 'Spam' });
  });

  it('The outreach of an owner records every resumption, even if nothing is halted', () => {
    const resume: OutreachCommand = { type: 'Resume', reason: 'Fixed' };
    for (const history of [[], [halted], [halted, resumed]]) {
      const { state } = given(...history);
      expect(outreach.decide(state, resume)).toEqual({ accepted: true, events: [resumed] });
    }
    expect(given(halted, resumed).state).toEqual({ disabled: {}, halted: undefined });
  });

  it('The outreach of an owner disables a channel once, until it is configured again', () => {
    const state = given(configured).when(disable()).then(disabled);
    expect(state).toEqual({ settings, disabled: { message: 'Gone' } });
    given(configured, disabled).when(disable()).then();
    const other = { ...disabled, data: { ...disabled.data, kind: 'social_post' as const } };
    const both = given(configured, disabled).when(disable('social_post')).then(other);
    expect(both?.disabled).toEqual({ message: 'Gone', social_post: 'Gone' });
    given().when(disable()).rejected('never_configured');
    given(halted).when(disable()).rejected('never_configured');
    expect(given(halted, disabled, configured).state).toEqual({
      settings,
      disabled: {},
      halted: 'Spam',
    });
  });

  it('The outreach of an owner stores every configuration', () => {
    const decision = outreach.decide(given(configured).state, { type: 'Configure', settings });
    expect(decision).toEqual({ accepted: true, events: [configured] });
  });

  it('The outreach of an owner delivers as many links a day without an approval as were set last', () => {
    expect(given(configured).when(automatic(3)).then(automaticSet(3))).toEqual({
      settings,
      disabled: {},
      automatic_per_day: 3,
    });
    const set = given(configured, automaticSet(3));
    set.when(automatic(3)).then();
    for (const perDay of [2, 4, 0]) set.when(automatic(perDay)).then(automaticSet(perDay));
  });

  it('The outreach of an owner delivers no link without an approval before that is set', () => {
    given(configured).when(automatic(0)).then();
    given(configured).when(automatic(1)).then(automaticSet(1));
    given(configured, automaticSet(3), automaticSet(0)).when(automatic(0)).then();
  });

  it('The outreach of an owner keeps its deliveries without an approval in a new configuration', () => {
    const again = given(configured, automaticSet(3), configured);
    expect(again.state?.automatic_per_day).toBe(3);
    again.when(automatic(3)).then();
  });

  it('The outreach of an owner delivers nothing without an approval until it is configured', () => {
    for (const history of [[], [halted]])
      for (const perDay of [0, 3])
        given(...history)
          .when(automatic(perDay))
          .rejected('never_configured', /outreach is not configured/);
  });
});
