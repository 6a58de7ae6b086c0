/* What each command does in each status of an outreach request, and the exact events and states. */
import { describe, expect, it } from 'vitest';
import type { Happened, OutboundEventType } from '#contracts/registries/events.ts';
import {
  isAtItsEnd,
  isSettled,
  isUndispatched,
  type OutboundState,
  statusAt,
  outbound,
  type OutboundCommand,
} from '#src/outreach/outbound.decider.ts';
import { asStored } from '../support/world/decider-spec.ts';
import {
  CONTENT,
  DANA,
  dispatched,
  foldOutbounds,
  NOT_AFTER,
  OTHER_SHA,
  OUTBOUND,
  OUTBOUND_COMMANDS,
  OUTBOUND_STATES,
  outboundEvent,
  PROPOSAL,
  proposed,
} from '../support/world/outbound-states.ts';

/** The commands that append an event in each status, and those that are accepted without one. */
const ACCEPTED: Record<keyof typeof OUTBOUND_STATES, { appends: string; repeats: string }> = {
  none: { appends: 'propose', repeats: '' },
  pending: { appends: 'revise approve reject request cancel expire', repeats: 'early' },
  changes: { appends: 'revise reject cancel expire', repeats: 'request early' },
  approved: { appends: 'revise reject request cancel expire dispatch', repeats: 'approve early' },
  sending: { appends: 'defer confirm fail lose', repeats: 'approve expire early' },
  waiting: { appends: 'cancel expire dispatch fail lose', repeats: 'approve early' },
  uncertain: { appends: 'dispatch lose', repeats: 'approve expire early' },
  confirmed: { appends: '', repeats: 'approve expire early observe' },
  failed: { appends: '', repeats: 'approve expire early' },
  unknown: { appends: 'confirm observe', repeats: 'approve expire early' },
  rejected: { appends: '', repeats: 'expire early' },
  expired: { appends: '', repeats: 'expire early' },
  canceled: { appends: '', repeats: 'cancel expire early' },
};
const stateOf = (name: keyof typeof OUTBOUND_STATES): OutboundState => {
  const state = OUTBOUND_STATES[name];
  if (!state) throw new Error(`no state ${name}`);
  return state;
};
const appended = (name: keyof typeof OUTBOUND_STATES, command: OutboundCommand) => {
  const decided = outbound.decide(OUTBOUND_STATES[name], command);
  return decided.accepted ? decided.events : decided;
};
const rejection = (name: keyof typeof OUTBOUND_STATES, command: OutboundCommand): string => {
  const decided = outbound.decide(OUTBOUND_STATES[name], command);
  return decided.accepted ? 'accepted' : `${decided.reason}: ${decided.detail}`;
};
const withOver = (name: string, over: object): OutboundCommand =>
  ({ ...OUTBOUND_COMMANDS[name], ...over }) as OutboundCommand;

describe('The table of an outreach request', () => {
  it.each(Object.entries(ACCEPTED))(
    'An outreach request accepts exactly these commands when it is %s',
    (name, row) => {
      const verdicts = Object.entries(OUTBOUND_COMMANDS).map(([command, given]) => {
        const decided = outbound.decide(
          OUTBOUND_STATES[name as keyof typeof OUTBOUND_STATES],
          given,
        );
        return [command, decided.accepted ? decided.events.length : decided.reason] as const;
      });
      const of = (count: number) => verdicts.filter(([, verdict]) => verdict === count);
      expect(
        of(1)
          .map(([command]) => command)
          .join(' '),
      ).toBe(row.appends);
      expect(
        of(0)
          .map(([command]) => command)
          .join(' '),
      ).toBe(row.repeats);
    },
  );

  it('An outreach request says why a command is rejected', () => {
    const { approve, cancel, confirm, dispatch, fail, observe, revise } = OUTBOUND_COMMANDS;
    const other = { ...PROPOSAL, kind: 'message' as const };
    const cases: [keyof typeof OUTBOUND_STATES, OutboundCommand | undefined, string][] = [
      ['pending', OUTBOUND_COMMANDS['propose'], 'outbound_exists: request out_1 exists'],
      ['none', cancel, 'outbound_unknown: no such request'],
      ['sending', cancel, 'outbound_closed: the request is dispatched'],
      ['sending', revise, 'not_revisable: the request is dispatched'],
      [
        'pending',
        { type: 'Revise', at: 70, proposal: other },
        'other_kind: the request is a social_post, not a message',
      ],
      [
        'pending',
        withOver('revise', { at: NOT_AFTER }),
        'expired: the time in which it can be sent is over',
      ],
      [
        'pending',
        withOver('approve', { at: NOT_AFTER }),
        'expired: the time in which it can be sent is over',
      ],
      [
        'pending',
        withOver('approve', { role: 'staff' }),
        'wrong_role: the owner decides this request',
      ],
      [
        'pending',
        withOver('approve', { contentSha256: OTHER_SHA }),
        'content_changed: the decision is about content that the request no longer has',
      ],
      ['changes', approve, 'already_decided: the request is changes_requested'],
      ['pending', dispatch, 'not_approved: the request is pending_approval'],
      [
        'approved',
        withOver('dispatch', { at: NOT_AFTER }),
        'expired: the time in which it can be sent is over',
      ],
      ['waiting', withOver('dispatch', { at: 59 }), 'not_due: it is not due yet'],
      [
        'approved',
        withOver('dispatch', { contentSha256: OTHER_SHA }),
        'content_changed: the content to send is not the content that was approved',
      ],
      ['pending', confirm, 'not_dispatched: the request is pending_approval'],
      ['approved', fail, 'not_dispatched: attempt 1 is not the last one'],
      ['sending', dispatch, 'not_due: an attempt is under way'],
      ['confirmed', confirm, 'not_dispatched: the request is confirmed'],
      ['unknown', fail, 'not_dispatched: attempt 1 is not under way'],
      [
        'sending',
        observe,
        'not_dispatched: the request is dispatched; only an unknown outcome can be observed',
      ],
    ];
    for (const [name, command, text] of cases)
      expect(rejection(name, command ?? withOver('cancel', {}))).toBe(text);
  });

  it("An outreach request's commands write exactly these events", () => {
    const { propose, revise, approve, reject, request, cancel, expire, dispatch, defer } =
      OUTBOUND_COMMANDS;
    const { confirm, fail, lose, observe } = OUTBOUND_COMMANDS;
    const { context_id: _first, ...revision } = PROPOSAL;
    const data = { ...OUTBOUND, ...CONTENT, ...DANA };
    const cases: [keyof typeof OUTBOUND_STATES, OutboundCommand | undefined, string, object][] = [
      ['none', propose, 'OutboundProposed', PROPOSAL],
      ['pending', revise, 'OutboundRevised', revision],
      ['pending', approve, 'OutboundApproved', data],
      [
        'pending',
        withOver('approve', { note: 'Fine' }),
        'OutboundApproved',
        { ...data, note: 'Fine' },
      ],
      ['pending', reject, 'OutboundRejected', { ...data, reason: 'No' }],
      ['pending', request, 'OutboundChangesRequested', { ...data, reason: 'Shorter' }],
      ['pending', cancel, 'OutboundCanceled', { ...OUTBOUND, by: 'agt_1' }],
      [
        'pending',
        withOver('cancel', { reason: 'Old' }),
        'OutboundCanceled',
        { ...OUTBOUND, by: 'agt_1', reason: 'Old' },
      ],
      ['pending', expire, 'OutboundExpired', OUTBOUND],
      [
        'approved',
        dispatch,
        'OutboundDispatched',
        { ...OUTBOUND, ...CONTENT, attempt: 1, adapter: 'file', until: 170 },
      ],
      [
        'sending',
        defer,
        'OutboundDeferred',
        { ...OUTBOUND, attempt: 1, reason: 'busy', retry_at: 200 },
      ],
      [
        'sending',
        withOver('defer', { uncertain: true }),
        'OutboundDeferred',
        { ...OUTBOUND, attempt: 1, reason: 'busy', retry_at: 200, uncertain: true },
      ],
      ['sending', confirm, 'OutboundConfirmed', { ...OUTBOUND, attempt: 1, evidence: 'seen' }],
      ['sending', fail, 'OutboundFailed', { ...OUTBOUND, attempt: 1, reason: 'http_410' }],
      ['sending', lose, 'OutboundOutcomeUnknown', { ...OUTBOUND, attempt: 1, reason: 'timeout' }],
      [
        'unknown',
        confirm,
        'OutboundConfirmed',
        { ...OUTBOUND, attempt: 1, evidence: 'seen', by: 'dispatcher' },
      ],
      [
        'unknown',
        observe,
        'OutboundConfirmed',
        { ...OUTBOUND, attempt: 1, evidence: 'seen', by: 'desk:1' },
      ],
      [
        'unknown',
        withOver('observe', { outcome: 'failed', evidence: 'bounced' }),
        'OutboundFailed',
        { ...OUTBOUND, attempt: 1, reason: 'bounced', by: 'desk:1' },
      ],
    ];
    for (const [name, command, type, expected] of cases)
      expect(asStored(appended(name, command ?? withOver('cancel', {})))).toStrictEqual([
        { type, data: expected },
      ]);
  });

  it('An outreach request needs approvals of the present content by different people', () => {
    const two = { ...PROPOSAL, approval: { mode: 'admin_approved', required: 2 } };
    const person = (name: string) => ({ name, person_id: `name:${name}` });
    const byStaff = (by: string, name: string) => ({
      ...CONTENT,
      by,
      ...person(name),
      role: 'staff',
    });
    const first: Happened<OutboundEventType> = { type: 'OutboundProposed', data: two, at: 1 };
    const one = outboundEvent(2, 'OutboundApproved', byStaff('desk:1', 'Dana'));
    const once = foldOutbounds(first, one);
    const again = {
      at: 70,
      contentSha256: PROPOSAL.content_sha256,
      type: 'Approve',
      role: 'staff',
      by: 'desk:2',
    } as const;
    expect(outbound.decide(once, { ...again, ...person('Eli') })).toMatchObject({ events: [{}] });
    expect(outbound.decide(once, { ...again, ...person(' DANA') })).toMatchObject({ events: [] });
    // A status that the fold never reaches with one approval: the dispatch counts the approvals again.
    const forged: OutboundState = { ...(once as OutboundState), status: 'approved' };
    const changes = outboundEvent(2, 'OutboundChangesRequested', {
      ...byStaff('desk:1', 'Dana'),
      reason: 'x',
    });
    const returned = foldOutbounds(
      first,
      changes,
      outboundEvent(3, 'OutboundApproved', byStaff('desk:2', 'Eli')),
    );
    expect(returned?.status).toBe('changes_requested');
    const ofOther = {
      ...forged.decisions[0],
      content_sha256: OTHER_SHA,
    } as OutboundState['decisions'][number];
    const both = { ...forged, decisions: [...forged.decisions, ofOther] };
    const requested = {
      ...both,
      decisions: [
        ...forged.decisions,
        { ...ofOther, ...CONTENT, decision: 'request_changes' as const },
      ],
    };
    for (const state of [forged, both, requested])
      expect(outbound.decide(state, withOver('dispatch', {}))).toMatchObject({
        reason: 'content_changed',
      });
  });

  it('An outreach request folds each event into exactly these members', () => {
    const base = {
      ...PROPOSAL,
      status: 'pending_approval',
      decisions: [],
      attempts: 0,
      outcome: 'none',
      created_at: 1,
      updated_at: 1,
      version: 0,
    };
    const approval = { ...DANA, ...CONTENT, at: 2, note: 'Fine', decision: 'approve' };
    const asSent = {
      ...base,
      status: 'dispatched',
      decisions: [approval],
      attempts: 1,
      attempted_at: 3,
      until: 103,
    };
    expect(OUTBOUND_STATES.pending).toStrictEqual(base);
    expect(OUTBOUND_STATES.approved).toStrictEqual({
      ...base,
      status: 'approved',
      decisions: [approval],
      updated_at: 2,
      version: 1,
    });
    expect(OUTBOUND_STATES.sending).toStrictEqual({ ...asSent, updated_at: 3, version: 2 });
    const { until: _until, ...attempted } = asSent;
    const later = { ...attempted, version: 3 };
    expect(OUTBOUND_STATES.waiting).toStrictEqual({
      ...later,
      retry_at: 60,
      status_reason: 'busy',
      updated_at: 4,
    });
    expect(OUTBOUND_STATES.uncertain).toStrictEqual({
      ...later,
      retry_at: 60,
      status_reason: 'lost',
      uncertain: true,
      updated_at: 4,
    });
    expect(OUTBOUND_STATES.confirmed).toStrictEqual({
      ...later,
      status: 'confirmed',
      outcome: 'observed',
      evidence: 'seen',
      updated_at: 5,
    });
    expect(OUTBOUND_STATES.failed).toStrictEqual({
      ...later,
      status: 'failed',
      outcome: 'rejected',
      status_reason: 'http_410',
      updated_at: 5,
    });
    expect(OUTBOUND_STATES.unknown).toStrictEqual({
      ...later,
      status: 'outcome_unknown',
      outcome: 'unknown',
      status_reason: 'timeout',
      updated_at: 5,
    });
    const rejected = { ...DANA, ...CONTENT, at: 2, note: 'No', decision: 'reject' };
    expect(OUTBOUND_STATES.rejected).toStrictEqual({
      ...base,
      status: 'rejected',
      status_reason: 'No',
      decisions: [rejected],
      updated_at: 2,
      version: 1,
    });
    expect(OUTBOUND_STATES.canceled).toStrictEqual({
      ...base,
      status: 'canceled',
      updated_at: 2,
      version: 1,
    });
    const why = outboundEvent(2, 'OutboundCanceled', { by: 'agt_1', reason: 'Old' });
    expect(foldOutbounds(proposed, why)?.status_reason).toBe('Old');
    expect(() => foldOutbounds(dispatched)).toThrow(
      'OutboundDispatched on a request that was never proposed',
    );
  });

  it('An outreach request distinguishes its ends and the statuses before the first attempt', () => {
    const names = Object.keys(ACCEPTED).slice(1) as (keyof typeof OUTBOUND_STATES)[];
    const where = (test: (state: OutboundState) => boolean) =>
      names.filter((name) => test(stateOf(name))).join(' ');
    expect(where(isAtItsEnd)).toBe('confirmed failed unknown rejected expired canceled');
    expect(where(isSettled)).toBe('confirmed failed rejected expired canceled');
    expect(where(({ status }) => isUndispatched(status))).toBe('pending changes approved');
    expect(where((state) => statusAt(state, NOT_AFTER) === 'expired')).toBe(
      'pending changes approved expired',
    );
    expect(where((state) => statusAt(state, NOT_AFTER - 1) === 'expired')).toBe('expired');
  });
});
