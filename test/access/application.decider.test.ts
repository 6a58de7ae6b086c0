import { describe, expect, it } from 'vitest';
import { application, type ApplicationCommand } from '#src/access/access.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const facts = {
  application_id: 'apl_1',
  sealed_application: 's1.apl_1.a',
  mailbox_keys: { address: '1.a', mailbox: '1.m' },
  expires_at: 5_000,
};
const received = { type: 'ApplicationReceived' as const, data: facts };
const confirmed = {
  type: 'ApplicationConfirmed' as const,
  data: { application_id: 'apl_1', owner_id: 'acme', agent_id: 'agt_1' },
};
const erased = (reason: string) => ({
  type: 'SubjectErased' as const,
  data: { subject: 'apl_1', reason },
});
const textsMoved = erased('It was confirmed.');
const ended = erased('Expired');
const confirmAt = (at: number): ApplicationCommand => ({
  type: 'ConfirmApplication',
  at,
  ownerId: 'acme',
  agentId: 'agt_1',
});
const end: ApplicationCommand = { type: 'EndApplication', reason: 'Expired' };
const { given } = specify(application);

describe('An application', () => {
  it('An application waits for its confirmation after it is received', () => {
    const receive: ApplicationCommand = { type: 'Receive', application: facts };
    expect(application.decide(undefined, receive)).toEqual({ accepted: true, events: [received] });
    expect(given(received).state).toStrictEqual({
      ...facts,
      status: 'waiting',
      created_at: 1_000,
      updated_at: 1_000,
      version: 0,
    });
  });

  it('An application that is confirmed names its owner and its agent, and its own texts are erased', () => {
    const state = given(received).when(confirmAt(4_000)).then(confirmed, textsMoved);
    expect(state).toStrictEqual({
      ...facts,
      status: 'confirmed',
      confirmed: { owner_id: 'acme', agent_id: 'agt_1', at: 1_000 },
      created_at: 1_000,
      updated_at: 1_001,
      version: 2,
    });
  });

  it('An application is confirmed until it expires, and not from then on', () => {
    given(received).when(confirmAt(4_999)).then(confirmed, textsMoved);
    for (const at of [5_000, 5_001])
      given(received)
        .when(confirmAt(at))
        .rejected('application_over', /was not confirmed in time, or was ended/);
  });

  it('An application is confirmed once, and a repeated confirmation is accepted at any time', () => {
    const history = [received, confirmed, textsMoved];
    for (const at of [4_000, 5_000, 9_000])
      given(...history)
        .when(confirmAt(at))
        .then();
    given(received, confirmed).when(confirmAt(4_000)).then();
  });

  it('An application is ended once while it waits, and cannot be confirmed then', () => {
    const state = given(received).when(end).then(ended);
    expect(state).toStrictEqual({
      ...facts,
      status: 'ended',
      created_at: 1_000,
      updated_at: 1_000,
      version: 1,
    });
    given(received, ended).when(end).then();
    given(received, ended)
      .when(confirmAt(4_000))
      .rejected('application_over', /was ended/);
  });

  it('An application that is confirmed is not ended, neither by a command nor by an erasure', () => {
    given(received, confirmed, textsMoved).when(end).then();
    const { state } = given(received, confirmed, textsMoved, ended);
    expect(state).toMatchObject({ status: 'confirmed', updated_at: 1_003, version: 3 });
  });

  it('An application that was never received is not confirmed or ended', () => {
    for (const command of [confirmAt(4_000), end])
      given()
        .when(command)
        .rejected('application_unknown', /no such application/);
  });

  it('An application rejects an impossible event with its type', () => {
    for (const event of [confirmed, ended])
      expect(() => application.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} on an application that was never received`,
      );
  });
});
