import { describe, expect, it } from 'vitest';
import { agent, type AgentCommand, apiKey } from '#src/domain/access.ts';
import { specify } from '../../support/world/decider-spec.ts';

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
const renamed = { type: 'AccessRequested' as const, data: { ...request, name: 'Your bank' } };
const approve = (...scopes: string[]): AgentCommand => ({
  type: 'ApproveAccess',
  scopes,
  reason: 'Fine',
});
const deny: AgentCommand = { type: 'DenyAccess', reason: 'No' };
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
    spec.given(requested).when(approve('links:write')).then(approved);
    spec.given(requested).when(approve('social:write')).rejected('scopes_not_requested');
    spec.given().when(approve()).rejected('agent_unknown');
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
    spec.given(requested, denied).when(approve('links:write')).rejected('agent_not_in_state');
  });

  it('holds as it was approved, after a request with another name was refused', () => {
    const refused = spec.given(requested, approved, renamed, denied);
    expect(refused.state).toMatchObject({ name: 'A', status: 'approved' });
    const wider = { ...approved, data: { ...approved.data, scopes: request.scopes } };
    const fewer = spec.given(requested, wider, renamed, denied).when(approve('links:write'));
    expect(fewer.then(approved)).toMatchObject({ name: 'A', granted: ['links:write'] });
    expect(refused.state?.pending).toBeUndefined();
  });

  it('changes its name with the approval, also where no scope changes', () => {
    const same = { ...renamed, data: { ...renamed.data, scopes: ['links:write'] } };
    const asked = spec.given(requested, approved, same);
    expect(asked.state).toMatchObject({ name: 'A', pending: { name: 'Your bank' } });
    const after = asked.when(approve('links:write')).then(approved);
    expect(after).toMatchObject({ name: 'Your bank', granted: ['links:write'] });
    expect(after?.pending).toBeUndefined();
  });

  it('is refused only where it is asked for, and approved once', () => {
    spec.given(requested).when(deny).then(denied);
    spec.given(requested, denied).when(deny).then();
    spec.given(requested, approved).when(deny).rejected('agent_not_in_state');
    spec.given(requested, approved, requested).when(deny).then(denied);
    spec.given(requested, approved).when(approve('links:write')).then();
    const both = { ...approved, data: { ...approved.data, scopes: request.scopes } };
    spec
      .given(requested, both)
      .when(approve(...request.scopes.toReversed()))
      .then();
  });

  it('of older logs, asked for while suspended, comes back with an approval only', () => {
    const asked = spec.given(requested, approved, suspended, renamed);
    expect(asked.state).toMatchObject({ status: 'suspended', name: 'A' });
    expect(spec.given(requested, approved, suspended, renamed, denied).state).toMatchObject({
      status: 'suspended',
      granted: ['links:write'],
    });
    const { state } = spec.given(requested, approved, suspended, renamed, approved);
    expect(state).toMatchObject({ status: 'approved', name: 'Your bank' });
    expect(state?.suspended_by).toBeUndefined();
  });

  it('is suspended and given back', () => {
    spec.given(requested, approved).when(suspend('staff')).then(suspended);
    spec.given(requested).when(suspend('owner')).rejected('agent_not_in_state');
    spec.given(requested, approved, suspended).when(reinstate('staff')).then(reinstated);
    spec
      .given(requested, approved, suspended)
      .when(approve('links:write'))
      .rejected('agent_not_in_state');
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
