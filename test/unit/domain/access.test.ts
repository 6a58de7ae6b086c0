import { describe, expect, it } from 'vitest';
import type { AgentCommand } from '#src/domain/access.ts';
import { agent, apiKey } from '#src/domain/access.ts';
import { specify } from '../../support/decider-spec.ts';

const request = {
  agent_id: 'agt_1',
  name: 'A',
  purpose: 'P',
  scopes: ['links:write', 'leads:read'],
};
const requested = { type: 'AccessRequested' as const, data: request };
const approved = {
  type: 'AccessApproved' as const,
  data: { agent_id: 'agt_1', scopes: ['links:write'], reason: 'Fine' },
};
const denied = { type: 'AccessDenied' as const, data: { agent_id: 'agt_1', reason: 'No' } };
const suspendedBy = (by_role: 'owner' | 'staff') => ({
  type: 'AgentSuspended' as const,
  data: { agent_id: 'agt_1', reason: 'Odd', by_role },
});
const suspended = suspendedBy('staff');
const suspend = (role: 'owner' | 'staff'): AgentCommand => ({
  type: 'SuspendAgent',
  role,
  reason: 'Odd',
});
const reinstate = (role: 'owner' | 'staff'): AgentCommand => ({
  type: 'ReinstateAgent',
  role,
  reason: 'Fine',
});
const reinstated = {
  type: 'AgentReinstated' as const,
  data: { agent_id: 'agt_1', reason: 'Fine' },
};
const spec = specify(agent);

describe('access of an agent', () => {
  it('is asked for, and granted no wider than asked', () => {
    spec
      .given(requested)
      .when({ type: 'ApproveAccess', scopes: ['links:write'], reason: 'Fine' })
      .then(approved);
    const wider: AgentCommand = { type: 'ApproveAccess', scopes: ['social:write'], reason: 'x' };
    spec.given(requested).when(wider).rejected('scopes_not_requested');
    spec.given().when({ type: 'ApproveAccess', scopes: [], reason: 'x' }).rejected('agent_unknown');
  });

  it('stays as granted while a wider request is open or refused', () => {
    const { state } = spec.given(requested, approved, requested);
    expect(state).toMatchObject({ status: 'approved', granted: ['links:write'] });
    expect(spec.given(requested, approved, requested, denied).state).toMatchObject({
      status: 'approved',
      granted: ['links:write'],
    });
    expect(spec.given(requested, denied).state).toMatchObject({ status: 'denied', granted: [] });
  });

  it('is decided once: the rest, or what was refused, is asked for anew', () => {
    expect(spec.given(requested, approved).state?.requested).toEqual(['links:write']);
    expect(spec.given(requested, approved, requested, denied).state?.requested).toEqual([
      'links:write',
    ]);
    const approve: AgentCommand = { type: 'ApproveAccess', scopes: ['links:write'], reason: 'x' };
    spec.given(requested, denied).when(approve).rejected('agent_not_in_state');
  });

  it('is suspended and given back', () => {
    spec.given(requested, approved).when(suspend('staff')).then(suspended);
    spec.given(requested).when(suspend('owner')).rejected('agent_not_in_state');
    spec.given(requested, approved, suspended).when(reinstate('staff')).then(reinstated);
    const approve: AgentCommand = { type: 'ApproveAccess', scopes: ['links:write'], reason: 'x' };
    spec.given(requested, approved, suspended).when(approve).rejected('agent_not_in_state');
    const ask: AgentCommand = { type: 'RequestAccess', request: requested.data };
    spec.given(requested, approved, suspended).when(ask).rejected('agent_not_in_state');
  });

  it('is given back by an owner only where an owner suspended it', () => {
    const mine = spec.given(requested, approved, suspendedBy('owner'));
    expect(mine.state?.suspended_by).toBe('owner');
    mine.when(reinstate('owner')).then(reinstated);
    mine.when(reinstate('staff')).then(reinstated);
    mine.when(suspend('owner')).then();
    mine.when(suspend('staff')).then(suspended);
    const theirs = spec.given(requested, approved, suspendedBy('owner'), suspended);
    theirs.when(reinstate('owner')).rejected('suspended_by_staff');
    theirs.when(suspend('owner')).then();
    expect(theirs.when(reinstate('staff')).then(reinstated)?.suspended_by).toBeUndefined();
    const { by_role: _unknown, ...data } = suspended.data;
    const older = { type: 'AgentSuspended' as const, data };
    spec.given(requested, approved, older).when(reinstate('owner')).rejected('suspended_by_staff');
  });
});

const key = {
  key_id: 'k1',
  agent_id: 'agt_1',
  environment: 'live' as const,
  last4: 'wxyz',
  hash: 'h',
  pepper_version: 1,
  expires_at: 10_000,
};
const issued = { type: 'KeyIssued' as const, data: key };
const keySpec = specify(apiKey);

describe('a key', () => {
  it('is retired no later than it would have expired', () => {
    const after = keySpec
      .given(issued)
      .when({ type: 'RetireKey', replacedBy: 'k2', expiresAt: 99_000, at: 1 })
      .then({ type: 'KeyRetired', data: { key_id: 'k1', replaced_by: 'k2', expires_at: 10_000 } });
    expect(after).toMatchObject({ status: 'rotating' });
    keySpec
      .given(issued)
      .when({ type: 'RetireKey', replacedBy: 'k2', expiresAt: 99_000, at: 10_000 })
      .rejected('key_not_active');
  });

  it('is revoked for ever, once', () => {
    const revoked = { type: 'KeyRevoked' as const, data: { key_id: 'k1', reason: 'Leaked' } };
    keySpec.given(issued).when({ type: 'RevokeKey', reason: 'Leaked' }).then(revoked);
    keySpec
      .given(issued, revoked)
      .when({ type: 'RetireKey', replacedBy: 'k2', expiresAt: 5, at: 1 })
      .rejected('key_not_active');
    keySpec.given().when({ type: 'RevokeKey', reason: 'x' }).rejected('key_unknown');
  });
});
