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
const deferred = (attempt = 1, uncertain?: true) => ({
  type: 'MailDeferred' as const,
  data: { ...about(attempt), reason: 'smtp_451', retry_at: 5_000, ...(uncertain && { uncertain }) },
});
const sent = { type: 'MailSent' as const, data: { ...about(1), evidence: 'smtp_250' } };
const failed = (attempt = 1) => ({
  type: 'MailFailed' as const,
  data: { ...about(attempt), reason: 'expired' },
});
const unknown = {
  type: 'MailOutcomeUnknown' as const,
  data: { ...about(1), reason: 'smtp_econnection' },
};
const send = (at = 2_000) => ({ type: 'Dispatch', at, until: 9_000 }) as const;
const confirm = (attempt = 1) => ({ type: 'Confirm', attempt, evidence: 'smtp_250' }) as const;
const fail = (attempt = 1) => ({ type: 'Fail', attempt, reason: 'expired' }) as const;

describe('A message', () => {
  it('is queued once, and nothing happens to it before', () => {
    given().when({ type: 'Queue', message }).then(queued);
    given(queued).when({ type: 'Queue', message }).rejected('mail_queued');
    given().when(send()).rejected('mail_unknown');
    expect(() => mail.evolve(undefined, { ...sent, at: 1 })).toThrow(/never queued/);
  });

  it('has one attempt under way at a time, and the next one when it is due', () => {
    given(queued).when(send()).then(dispatched());
    given(queued, dispatched()).when(send()).rejected('not_due');
    given(queued, dispatched(), deferred()).when(send(4_999)).rejected('not_due');
    given(queued, dispatched(), deferred()).when(send(5_000)).then(dispatched(2));
  });

  it('has the outcome of the attempt that is under way', () => {
    given(queued, dispatched()).when(confirm()).then(sent);
    given(queued, dispatched()).when(fail()).then(failed());
    given(queued, dispatched())
      .when({ type: 'LoseTrack', attempt: 1, reason: 'smtp_econnection' })
      .then(unknown);
    given(queued, dispatched())
      .when({ type: 'Defer', attempt: 1, reason: 'smtp_451', retryAt: 5_000 })
      .then(deferred());
    given(queued, dispatched(), deferred(), dispatched(2))
      .when(confirm(1))
      .rejected('not_dispatched');
    given(queued).when(confirm(0)).rejected('not_dispatched');
  });

  it('remembers that an earlier attempt may have delivered it', () => {
    const { state } = given(queued, dispatched(), deferred(1, true), dispatched(2));
    expect(state).toMatchObject({ uncertain: true, attempts: 2 });
    given(queued, dispatched())
      .when({ type: 'Defer', attempt: 1, reason: 'smtp_451', retryAt: 5_000, uncertain: true })
      .then(deferred(1, true));
  });

  it('can fail without an attempt, or between two', () => {
    given(queued).when(fail(0)).then(failed(0));
    given(queued, dispatched(), deferred()).when(fail(1)).then(failed(1));
  });

  it('changes no more at its end', () => {
    for (const end of [sent, failed(), unknown])
      for (const command of [send(), confirm(), fail()])
        given(queued, dispatched(), end).when(command).rejected('mail_ended');
  });
});
