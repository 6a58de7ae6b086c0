import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import {
  outbound,
  type OutboundCommand,
  isAtItsEnd,
  type OutboundState,
  statusAt,
} from '#src/outreach/outbound.decider.ts';
import { seedOr } from '../support/seed.ts';
import { specify } from '../support/world/decider-spec.ts';
import { verifies } from '../support/source/verifies.ts';

const DUE = 10_000;
const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const proposal = (over: Partial<EventData<'OutboundProposed'>> = {}) => ({
  outbound_id: 'out_1',
  agent_id: 'agt_1',
  kind: 'social_post' as const,
  target: { network: 'x', account_ref: 'shop' },
  content: { text: 'Hello', link_ids: [] },
  schedule: { not_after: DUE },
  via: { adapter: 'file' as const },
  content_sha256: A,
  revision: 1,
  approval: { mode: 'owner_controlled', required: 1 },
  ...over,
});
const named = { outbound_id: 'out_1', agent_id: 'agt_1' };
const proposed = { type: 'OutboundProposed' as const, data: proposal() };
const twoOf = {
  type: 'OutboundProposed' as const,
  data: proposal({ approval: { mode: 'admin_approved', required: 2 } }),
};
/** The person with a token. */
const holderOf = (by: string) => ({ by, name: `Holder of ${by}`, person_id: `id of ${by}` });
const yes = (by: string, role: 'owner' | 'staff' = 'owner', sha = A, at = 5): OutboundCommand => ({
  type: 'Approve',
  at,
  ...holderOf(by),
  role,
  contentSha256: sha,
});
const approvedBy = (by: string, role = 'owner') => ({
  type: 'OutboundApproved' as const,
  data: { ...named, ...holderOf(by), role, revision: 1, content_sha256: A },
});
const dispatch = (at = 6, contentSha256 = A): OutboundCommand => ({
  type: 'Dispatch',
  at,
  contentSha256,
  until: at + 100,
});
const dispatched = (attempt = 1) => ({
  type: 'OutboundDispatched' as const,
  data: { ...named, revision: 1, content_sha256: A, attempt, adapter: 'file', until: 106 },
});
const deferred = (attempt: number, retry_at: number, uncertain = false) => ({
  type: 'OutboundDeferred' as const,
  data: { ...named, attempt, reason: 'busy', retry_at, ...(uncertain && { uncertain }) },
});
const { given } = specify(outbound);

describe('An approval', () => {
  it('An approval approves the request if it comes from the role that the mode requires', () => {
    const after = given(proposed).when(yes('desk:1')).then(approvedBy('desk:1'));
    expect(after?.status).toBe('approved');
    given(proposed).when(yes('desk:1', 'staff')).rejected('wrong_role');
  });

  it('An approval is required from two different people if the mode requires two', () => {
    const one = given(twoOf).when(yes('desk:1', 'staff')).then(approvedBy('desk:1', 'staff'));
    expect(one?.status).toBe('pending_approval');
    // A second approval of the same person adds nothing.
    given(twoOf, approvedBy('desk:1', 'staff')).when(yes('desk:1', 'staff')).then();
    const two = given(twoOf, approvedBy('desk:1', 'staff'))
      .when(yes('desk:2', 'staff'))
      .then(approvedBy('desk:2', 'staff'));
    expect(two?.status).toBe('approved');
  });

  it.each(['dana  owner ', 'DANA OWNER', 'Ｄａｎａ Owner'])(
    'An approval of %j counts as an approval of Dana Owner',
    (name) => {
      const person_id = 'name:dana owner';
      const dana = { ...approvedBy('desk:1', 'staff').data, name: 'Dana Owner', person_id };
      const once = given(twoOf, { type: 'OutboundApproved' as const, data: dana });
      const again = { ...yes('desk:2', 'staff'), name, person_id } as OutboundCommand;
      expect(once.when(again).then()?.status).toBe('pending_approval');
    },
  );

  it('An approval applies only to one content, so that a later revision is not approved', () => {
    given(proposed)
      .when(yes('desk:1', 'owner', B))
      .rejected('content_changed');
    const revised = {
      type: 'OutboundRevised' as const,
      data: proposal({ content_sha256: B, revision: 2 }),
    };
    const after = given(proposed, approvedBy('desk:1'), revised);
    expect(after.state).toMatchObject({ status: 'pending_approval', decisions: [], revision: 2 });
    after.when(dispatch()).rejected('not_approved');
    after.when(yes('desk:1', 'owner', A)).rejected('content_changed');
  });

  it('An approval is accepted again from the same person after the delivery, and refused after a cancellation', () => {
    const story = [proposed, approvedBy('desk:1'), dispatched()];
    const confirmed = {
      type: 'OutboundConfirmed' as const,
      data: { ...named, attempt: 1, evidence: 'seen' },
    };
    for (const more of [[], [confirmed]]) {
      const sent = given(...story, ...more);
      sent.when(yes('desk:1')).then();
      sent.when(yes('desk:2')).rejected('outbound_closed');
      sent.when(yes('desk:1', 'owner', B)).rejected('outbound_closed');
    }
    const canceled = { type: 'OutboundCanceled' as const, data: { ...named, by: 'desk:1' } };
    given(proposed, approvedBy('desk:1'), canceled).when(yes('desk:1')).rejected('outbound_closed');
  });

  it('An approval is rejected once the request has expired', () => {
    given(proposed)
      .when(yes('desk:1', 'owner', A, DUE))
      .rejected('expired');
    given(proposed, approvedBy('desk:1')).when(dispatch(DUE)).rejected('expired');
    const later = proposal({ schedule: { not_after: 2 * DUE }, revision: 2 });
    given(proposed).when({ type: 'Revise', at: DUE, proposal: later }).rejected('expired');
    const { state } = given(proposed);
    expect(state && statusAt(state, DUE)).toBe('expired');
  });
});

describe('A dispatch', () => {
  it('A dispatch requires the bytes that were approved', () => {
    given(proposed).when(dispatch()).rejected('not_approved');
    given(proposed, approvedBy('desk:1')).when(dispatch(6, B)).rejected('content_changed');
    const early = {
      type: 'OutboundProposed' as const,
      data: proposal({ schedule: { not_before: 50, not_after: DUE } }),
    };
    given(early, approvedBy('desk:1')).when(dispatch(49)).rejected('not_due');
  });

  it('A dispatch happens once, and a second one is rejected', () => {
    const sent = given(proposed, approvedBy('desk:1'), dispatched());
    sent.when(dispatch(7)).rejected('not_due', /under way/);
    sent.when({ type: 'Cancel', at: 7, by: 'agt_1' }).rejected('outbound_closed');
    const after = sent.when({ type: 'Confirm', attempt: 1, evidence: 'acme/out_1.1.json' }).then({
      type: 'OutboundConfirmed',
      data: { ...named, attempt: 1, evidence: 'acme/out_1.1.json' },
    });
    expect(after).toMatchObject({ status: 'confirmed', outcome: 'observed' });
  });

  it('A dispatch happens again only after a deferral, and an uncertain deferral cannot be canceled', () => {
    const story = [proposed, approvedBy('desk:1'), dispatched()];
    const later = given(...story, deferred(1, 60));
    later.when(dispatch(59)).rejected('not_due');
    expect(later.when(dispatch(60)).then(dispatchedAt(2, 160))?.attempts).toBe(2);
    const canceled = later.when({ type: 'Cancel', at: 7, by: 'desk:1' });
    expect(
      canceled.then({ type: 'OutboundCanceled', data: { ...named, by: 'desk:1' } })?.status,
    ).toBe('canceled');
    given(...story, deferred(1, 60, true))
      .when({ type: 'Cancel', at: 7, by: 'desk:1' })
      .rejected('outbound_closed');
  });

  it('A dispatch that is uncertain does not fail while it waits', () => {
    const story = [proposed, approvedBy('desk:1'), dispatched()];
    const fail: OutboundCommand = { type: 'Fail', attempt: 1, reason: 'channel_changed' };
    const data = { ...named, attempt: 1, reason: 'channel_changed' };
    given(...story, deferred(1, 60))
      .when(fail)
      .then({ type: 'OutboundFailed', data });
    const uncertain = given(...story, deferred(1, 60, true));
    uncertain.when(fail).rejected('not_dispatched');
    uncertain.when({ ...fail, type: 'LoseTrack' }).then({ type: 'OutboundOutcomeUnknown', data });
  });

  it('A dispatch is not affected by a late answer of an earlier attempt', () => {
    const story = [proposed, approvedBy('desk:1'), dispatched(), deferred(1, 60)];
    const again = given(...story, dispatchedAt(2, 160));
    const late = { attempt: 1, reason: 'http_503' };
    again.when({ type: 'Defer', ...late, retry_at: 90 }).rejected('not_dispatched');
    again.when({ type: 'Confirm', attempt: 1, evidence: 'seen' }).rejected('not_dispatched');
    again.when({ type: 'Fail', ...late }).rejected('not_dispatched');
    again.when({ type: 'LoseTrack', ...late }).rejected('not_dispatched');
  });

  it('A dispatch with an unknown outcome stays so until a person records the outcome', () => {
    const story = [proposed, approvedBy('desk:1'), dispatched()];
    const lost = {
      type: 'OutboundOutcomeUnknown' as const,
      data: { ...named, attempt: 1, reason: 'time-out' },
    };
    const after = given(...story)
      .when({ type: 'LoseTrack', attempt: 1, reason: 'time-out' })
      .then(lost);
    expect(after).toMatchObject({ status: 'outcome_unknown', outcome: 'unknown' });
    given(...story, lost)
      .when(dispatch(9))
      .rejected('not_approved');
    given(...story, lost)
      .when({ type: 'Observe', by: 'desk:1', outcome: 'confirmed', evidence: 'seen' })
      .then({
        type: 'OutboundConfirmed',
        data: { ...named, attempt: 1, evidence: 'seen', by: 'desk:1' },
      });
  });
});

const dispatchedAt = (attempt: number, until: number) => {
  const { type, data } = dispatched(attempt);
  return { type, data: { ...data, until } };
};

describe('For random commands in any order', () => {
  const sha = fc.constantFrom(A, B);
  const at = fc.integer({ min: 0, max: 2 * DUE });
  const by = fc.constantFrom('desk:1', 'desk:2', 'agt_1');
  const name = fc.constantFrom('Dana', 'DANA', 'Eli');
  const person_id = fc.constantFrom('name:dana', 'dana', 'eli');
  const person = { by, name, person_id };
  const role = fc.constantFrom('owner' as const, 'staff' as const);
  const attempt = fc.integer({ min: 1, max: 3 });
  const command: fc.Arbitrary<OutboundCommand> = fc.oneof(
    fc.record({ type: fc.constant('Approve' as const), at, ...person, role, contentSha256: sha }),
    fc.record({
      type: fc.constant('Reject' as const),
      at,
      ...person,
      role,
      contentSha256: sha,
      reason: fc.constant('no'),
    }),
    fc.record({
      type: fc.constant('RequestChanges' as const),
      at,
      ...person,
      role,
      contentSha256: sha,
      reason: fc.constant('no'),
    }),
    fc.record({ type: fc.constant('Cancel' as const), at, by }),
    fc.record({ type: fc.constant('Expire' as const), at }),
    fc.record({ type: fc.constant('Dispatch' as const), at, contentSha256: sha, until: at }),
    fc.record(
      {
        type: fc.constant('Defer' as const),
        attempt,
        reason: fc.constant('busy'),
        retry_at: at,
        uncertain: fc.constant(true as const),
      },
      { requiredKeys: ['type', 'attempt', 'reason', 'retry_at'] },
    ),
    fc.record({ type: fc.constant('Confirm' as const), attempt, evidence: fc.constant('e') }),
    fc.record({ type: fc.constant('Fail' as const), attempt, reason: fc.constant('r') }),
    fc.record({ type: fc.constant('LoseTrack' as const), attempt, reason: fc.constant('r') }),
    fc.record({
      type: fc.constant('Revise' as const),
      at,
      proposal: sha.map((content_sha256) => proposal({ content_sha256 })),
    }),
  );

  it('A request is dispatched only with enough approvals of its content after random commands in any order, and a final state is final', () => {
    verifies('authentication.5.outbound');
    const required = fc.constantFrom(1, 2);
    const mode = fc.constantFrom('owner_controlled', 'admin_approved');
    fc.assert(
      fc.property(required, mode, fc.array(command, { maxLength: 30 }), (count, how, commands) => {
        const data = proposal({ approval: { mode: how, required: count } });
        let state: OutboundState = outbound.evolve(undefined, {
          type: 'OutboundProposed',
          data,
          at: 0,
        });
        let left = 0;
        for (const [i, next] of commands.entries()) {
          const decision = outbound.decide(state, next);
          if (!decision.accepted) continue;
          for (const event of decision.events) {
            if (event.type === 'OutboundDispatched') {
              left += 1;
              const people = state.decisions
                .filter(
                  ({ decision: said, content_sha256 }) =>
                    said === 'approve' && content_sha256 === event.data.content_sha256,
                )
                .map((said) => said.by);
              expect(new Set(people).size).toBeGreaterThanOrEqual(count);
              // A further dispatch comes only after a deferral.
              expect(state.status === 'approved' || state.retry_at !== undefined).toBe(true);
            } else if ('attempt' in event.data) expect(event.data.attempt).toBe(state.attempts);
            // A late answer can only confirm an unknown outcome.
            if (state.status === 'outcome_unknown') expect(event.type).toBe('OutboundConfirmed');
            else if (isAtItsEnd(state)) throw new Error(`${event.type} after ${state.status}`);
            state = outbound.evolve(state, { ...event, at: i });
          }
        }
        expect(left).toBe(state.attempts);
      }),
      { numRuns: 2_000, seed: seedOr(20_261_121) },
    );
  });
});
