import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { mail } from '#src/sending/mail.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const { given } = specify(mail);

const message: EventData<'MailQueued'> = {
  mail_id: 'mal_1',
  kind: 'rfq_notice',
  sealed_for: 'mbx_staff',
  sealed_message: 's1.mbx_staff.x',
  is_repeatable: true,
  not_after: 90_000,
};
const queued = { type: 'MailQueued' as const, data: message };
const about = (attempt: number) => ({ mail_id: 'mal_1', attempt });
const dispatched = (attempt = 1) => ({
  type: 'MailDispatched' as const,
  data: { ...about(attempt), until: 9_000 },
});
const deferred = {
  type: 'MailDeferred' as const,
  data: { ...about(1), reason: 'smtp_451', retry_at: 5_000 },
};
const sent = { type: 'MailSent' as const, data: { ...about(1), evidence: 'smtp_250' } };
const failed = { type: 'MailFailed' as const, data: { ...about(1), reason: 'expired' } };
const unknown = {
  type: 'MailOutcomeUnknown' as const,
  data: { ...about(1), reason: 'smtp_econnection' },
};
const send = { type: 'Dispatch', at: 2_000, until: 9_000 } as const;
const confirm = (attempt = 1) => ({ type: 'Confirm', attempt, evidence: 'smtp_250' }) as const;
const fail = { type: 'Fail', attempt: 1, reason: 'expired' } as const;

describe('A message', () => {
  it('A message is queued once, and nothing happens to it before', () => {
    given().when({ type: 'Queue', message }).then(queued);
    given(queued).when({ type: 'Queue', message }).rejected('mail_queued');
    given().when(send).rejected('mail_unknown');
    expect(() => mail.evolve(undefined, { ...sent, at: 1 })).toThrow(/never queued/);
  });

  it('A message has an attempt, and the outcome of the one that is under way', () => {
    given(queued).when(send).then(dispatched());
    given(queued, dispatched()).when(confirm()).then(sent);
    given(queued, dispatched()).when(fail).then(failed);
    given(queued, dispatched())
      .when({ type: 'LoseTrack', attempt: 1, reason: 'smtp_econnection' })
      .then(unknown);
    given(queued, dispatched())
      .when({ type: 'Defer', attempt: 1, reason: 'smtp_451', retry_at: 5_000 })
      .then(deferred);
    given(queued, dispatched(), deferred, dispatched(2))
      .when(confirm(1))
      .rejected('not_dispatched');
    given(queued).when(confirm(0)).rejected('not_dispatched');
  });

  it('A message does not change after its end', () => {
    const ends = [
      [sent, 'sent'],
      [failed, 'failed'],
      [unknown, 'outcome_unknown'],
    ] as const;
    for (const [end, status] of ends) {
      const ended = given(queued, dispatched(), end);
      expect(ended.state).toMatchObject({ status });
      for (const command of [send, confirm(), fail]) ended.when(command).rejected('mail_ended');
    }
  });
});
