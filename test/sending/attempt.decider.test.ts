/* The rules that the attempts of outreach, push notifications and mail share, and each row of the table of their differences. */
import { describe, expect, it } from 'vitest';
import { outbound, type OutboundCommand } from '#src/outreach/outbound.decider.ts';
import {
  ATTEMPT_RULES,
  type AttemptState,
  type OutcomeCommand,
} from '#src/sending/attempt.decider.ts';
import { mail, type MailCommand } from '#src/sending/mail.decider.ts';
import type { Decider } from '#src/shared/decider.ts';
import { push, type PushCommand } from '#src/tasks/push.decider.ts';
import { CONTENT_SHA, DANA, PROPOSAL } from '../support/world/outbound-states.ts';

type Command = OutboundCommand | PushCommand | MailCommand;
type Event = { type: string; data: object };

/** A record that is ready for its first attempt. */
const recordOf = <State extends AttemptState, C>(
  decider: Decider<State, C, Event, string>,
  before: readonly Command[],
) => {
  let state: State | undefined;
  let now = 0;
  const record = {
    state: () => state,
    /** The event that the command appends, or why it is rejected. */
    verdict(command: Command): Event | string {
      const decided = decider.decide(state, command as C);
      if (!decided.accepted) return `${decided.reason}: ${decided.detail}`;
      return decided.events[0] ?? 'no event';
    },
    /** Decides on each command and folds its event. */
    after(...commands: Command[]) {
      for (const command of commands) {
        const event = record.verdict(command);
        if (typeof event === 'string') throw new Error(event);
        now += 1;
        state = decider.evolve(state, { ...event, at: now });
      }
      return record;
    },
  };
  return record.after(...before);
};

const UNTIL = 500;
const CONFIG = {
  push_id: 'psh_1',
  task: 'tsk_1',
  agent_id: 'agt_1',
  config_id: 'mine',
  key_id: 'key_1',
  url: 'https://hook.example/in',
  after: 1,
};
const MESSAGE = {
  mail_id: 'mal_1',
  kind: 'rfq_notice',
  sealed_for: 'mbx_staff',
  sealed_message: 's1.mbx_staff.x',
  is_repeatable: true,
  not_after: 9_000,
};

type Kind = keyof typeof ATTEMPT_RULES.failsEarly;
/** `types`: of the events for Dispatch, Defer, Confirm, Fail and LoseTrack. */
const KINDS = {
  outreach: {
    ready: () =>
      recordOf(outbound, [
        { type: 'Propose', proposal: PROPOSAL },
        { type: 'Approve', at: 1, contentSha256: CONTENT_SHA, ...DANA },
      ]),
    dispatch: (at = 10) => ({
      type: 'Dispatch' as const,
      at,
      contentSha256: CONTENT_SHA,
      until: UNTIL,
    }),
    types:
      'OutboundDispatched OutboundDeferred OutboundConfirmed OutboundFailed OutboundOutcomeUnknown',
  },
  push: {
    ready: () => recordOf(push, [{ type: 'Register', config: CONFIG }]),
    dispatch: (at = 10) => ({ type: 'Dispatch' as const, at, change: 2, until: UNTIL }),
    types: 'PushDispatched PushDeferred PushDelivered PushFailed PushOutcomeUnknown',
  },
  mail: {
    ready: () => recordOf(mail, [{ type: 'Queue', message: MESSAGE }]),
    dispatch: (at = 10) => ({ type: 'Dispatch' as const, at, until: UNTIL }),
    types: 'MailDispatched MailDeferred MailSent MailFailed MailOutcomeUnknown',
  },
};
const NAMES: readonly Kind[] = ['outreach', 'push', 'mail'];

const defer = (attempt: number, isUncertain = false): OutcomeCommand => ({
  type: 'Defer',
  attempt,
  reason: 'busy',
  retry_at: 100,
  ...(isUncertain && { uncertain: true }),
});
const confirm = (attempt: number): OutcomeCommand => ({ type: 'Confirm', attempt, evidence: 'e' });
const fail = (attempt: number): OutcomeCommand => ({ type: 'Fail', attempt, reason: 'r' });
const lose = (attempt: number): OutcomeCommand => ({ type: 'LoseTrack', attempt, reason: 'r' });
const outcomes = (attempt: number) => [
  defer(attempt),
  confirm(attempt),
  fail(attempt),
  lose(attempt),
];

const typeOf = (verdict: Event | string): string =>
  typeof verdict === 'string' ? verdict : verdict.type;
/** What the command leads to for each kind, after the commands that `before` makes of the kind's dispatch. */
const verdicts = (command: Command, before: (dispatch: Command) => Command[]) =>
  Object.fromEntries(
    NAMES.map((name) => {
      const { ready, dispatch } = KINDS[name];
      return [
        name,
        typeOf(
          ready()
            .after(...before(dispatch()))
            .verdict(command),
        ),
      ];
    }),
  );

describe.each(NAMES)('An attempt of %s', (name) => {
  const { ready, dispatch } = KINDS[name];
  const [begun, ...ended] = KINDS[name].types.split(' ');

  it('An attempt begins when it is due and no other one is under way', () => {
    const record = ready();
    expect(record.verdict(dispatch(10))).toMatchObject({ type: begun, data: { attempt: 1 } });
    expect(record.after(dispatch(10)).state()).toMatchObject({ attempts: 1, until: UNTIL });
    const { attempted_at: first = 0 } = record.state() ?? {};
    expect(first).toBeGreaterThan(0);
    expect(record.verdict(dispatch(1_000))).toBe('not_due: an attempt is under way');
    record.after(defer(1));
    expect(record.state()).toMatchObject({ attempts: 1, retry_at: 100, attempted_at: first });
    expect(record.state()?.until).toBeUndefined();
    expect(record.verdict(dispatch(99))).toBe('not_due: it is not due yet');
    expect(record.verdict(dispatch(100))).toMatchObject({ type: begun, data: { attempt: 2 } });
    const again = { attempts: 2, until: UNTIL, attempted_at: first + 2 };
    expect(record.after(dispatch(100)).state()).toMatchObject(again);
    expect(record.state()?.retry_at).toBeUndefined();
  });

  it('An attempt has one outcome, which its event stores', () => {
    for (const [index, outcome] of outcomes(1).entries()) {
      const { type, ...members } = outcome;
      const record = ready().after(dispatch());
      const event = record.verdict(outcome);
      expect(event).toMatchObject({ type: ended[index], data: members });
      expect(event).not.toHaveProperty('data.by');
      expect(event).not.toHaveProperty('data.type');
      expect(event).not.toHaveProperty('data.uncertain');
      const retry_at = type === 'Defer' ? 100 : undefined;
      const { until, retry_at: next } = record.after(outcome).state() ?? {};
      expect([until, next]).toEqual([undefined, retry_at]);
      expect(record.verdict(defer(1))).toMatch(/^(not_dispatched|mail_ended): /);
    }
  });

  it('An attempt has no outcome before it begins, and none once a later one has begun', () => {
    for (const outcome of [defer(0), confirm(0), lose(0)])
      expect(ready().verdict(outcome)).toBe('not_dispatched: attempt 0 is not under way');
    const later = ready().after(dispatch(), defer(1), dispatch(100));
    for (const outcome of outcomes(1))
      expect(later.verdict(outcome)).toBe('not_dispatched: attempt 1 is not the last one');
  });

  it('An attempt is neither deferred again nor confirmed while the next one waits', () => {
    for (const isUncertain of [false, true])
      for (const outcome of [defer(1), confirm(1)])
        expect(ready().after(dispatch(), defer(1, isUncertain)).verdict(outcome)).toBe(
          'not_dispatched: attempt 1 is not under way',
        );
  });

  it('An attempt leaves its uncertainty to the attempts after it', () => {
    const record = ready().after(dispatch(), defer(1, true));
    expect(record.state()).toMatchObject({ uncertain: true });
    expect(record.after(dispatch(100), defer(2)).state()).toMatchObject({ uncertain: true });
  });
});

/** A test for each row of the table; a new row needs one to compile. */
const ROWS: Record<keyof typeof ATTEMPT_RULES, () => void> = {
  failsEarly() {
    const never = 'not_dispatched: attempt 1 is not under way';
    expect(verdicts(fail(0), () => [])).toEqual({
      outreach: 'OutboundFailed',
      push: 'not_dispatched: attempt 0 is not under way',
      mail: 'MailFailed',
    });
    expect(verdicts(fail(1), (dispatch) => [dispatch, defer(1)])).toEqual({
      outreach: 'OutboundFailed',
      push: never,
      mail: 'MailFailed',
    });
    expect(verdicts(fail(1), (dispatch) => [dispatch, defer(1, true)])).toEqual({
      outreach: never,
      push: never,
      mail: 'MailFailed',
    });
    expect(verdicts(lose(1), (dispatch) => [dispatch, defer(1, true)])).toEqual({
      outreach: 'OutboundOutcomeUnknown',
      push: never,
      mail: 'MailOutcomeUnknown',
    });
  },
  confirmsLate() {
    expect(verdicts(confirm(1), (dispatch) => [dispatch, lose(1)])).toEqual({
      outreach: 'OutboundConfirmed',
      push: 'not_dispatched: attempt 1 is not under way',
      mail: 'mail_ended: the message is at its end',
    });
    const { ready, dispatch } = KINDS.outreach;
    const lost = ready().after(dispatch(), defer(1), dispatch(100), lose(2));
    expect(lost.verdict(confirm(1))).toBe('not_dispatched: attempt 1 is not the last one');
    expect(lost.verdict(confirm(2))).toMatchObject({ data: { by: 'dispatcher', evidence: 'e' } });
    for (const outcome of [defer(2), fail(2), lose(2)])
      expect(lost.verdict(outcome)).toBe('not_dispatched: attempt 2 is not under way');
  },
};

describe('The table of what differs between outreach, push notifications and mail', () => {
  it.each(Object.keys(ATTEMPT_RULES) as (keyof typeof ATTEMPT_RULES)[])(
    'The table of what differs between outreach, push notifications and mail holds in %s',
    (row) => {
      ROWS[row]();
    },
  );
});
