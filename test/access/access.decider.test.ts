import { describe, expect, it } from 'vitest';
import { agent, type AgentCommand, apiKey, type KeyCommand } from '#src/access/access.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

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

describe('The access of an agent', () => {
  it("An agent's access records its version, its times and the reason for the last decision", () => {
    expect(spec.given(requested).state).toEqual({
      agent_id: 'agt_1',
      name: 'A',
      purpose: 'P',
      pending: { name: 'A', purpose: 'P', scopes: request.scopes },
      last_request: { scopes: request.scopes, requested_at: 1_000, outcome: 'pending' },
      granted: [],
      status: 'requested',
      created_at: 1_000,
      version: 0,
    });
    expect(spec.given(requested, approved).state).toMatchObject({
      reason: 'Fine',
      decided_at: 1_001,
      created_at: 1_000,
      version: 1,
    });
    expect(spec.given(requested, denied).state).toMatchObject({
      reason: 'No',
      decided_at: 1_001,
      version: 1,
    });
    expect(spec.given(requested, approved, renamed).state?.version).toBe(2);
    expect(spec.given(requested, denied, requested).state).toMatchObject({
      status: 'requested',
      created_at: 1_000,
      version: 2,
    });
    expect(() => agent.evolve(undefined, { ...approved, at: 1 })).toThrow(/never requested/);
  });

  it("An agent's access rejects a command with the state that prevents it", () => {
    const ask: AgentCommand = { type: 'RequestAccess', request };
    expect(agent.decide(undefined, ask)).toEqual({ accepted: true, events: [requested] });
    const stopped = spec.given(requested, approved, suspended);
    stopped.when(ask).rejected('agent_not_in_state', /suspended/);
    stopped.when(approve()).rejected('agent_not_in_state', /reinstate it first/);
    stopped.when(deny).rejected('agent_not_in_state', /is suspended/);
    stopped.when(suspend('staff')).then();
    spec
      .given(requested, denied)
      .when(approve())
      .rejected('agent_not_in_state', /denied/);
    spec
      .given(requested, approved)
      .when(deny)
      .rejected('agent_not_in_state', /no request/);
    spec
      .given(requested)
      .when(suspend('staff'))
      .rejected('agent_not_in_state', /is requested/);
    spec
      .given(requested)
      .when(reinstate('staff'))
      .rejected('agent_not_in_state', /is requested/);
    spec.given(requested, approved).when(reinstate('owner')).then();
    spec
      .given(requested)
      .when(approve('a', 'b', 'links:write'))
      .rejected('scopes_not_requested', 'not requested: a, b');
    spec
      .given()
      .when(deny)
      .rejected('agent_unknown', /no such agent/);
    spec
      .given(requested, approved, suspendedBy('staff'))
      .when(reinstate('owner'))
      .rejected('suspended_by_staff', /staff suspended/);
  });

  it("An agent's access is granted for at most the requested scopes", () => {
    spec.given(requested).when(approve('links:write')).then(approved);
    spec.given(requested).when(approve('social:write')).rejected('scopes_not_requested');
    spec.given().when(approve()).rejected('agent_unknown');
  });

  it("An agent's access stays as granted while a wider request is open or denied", () => {
    const { state } = spec.given(requested, approved, requested);
    expect(state).toMatchObject({ status: 'approved', granted: ['links:write'] });
    expect(spec.given(requested, approved, requested, denied).state).toMatchObject({
      status: 'approved',
      granted: ['links:write'],
    });
    expect(spec.given(requested, denied).state).toMatchObject({ status: 'denied', granted: [] });
  });

  it("An agent's access is decided once, and scopes that were not granted have to be requested again", () => {
    spec
      .given(requested, approved)
      .when(approve('links:write', 'products:read'))
      .rejected('scopes_not_requested', 'not requested: products:read');
    spec.given(requested, denied).when(approve('links:write')).rejected('agent_not_in_state');
  });

  it("An agent's access keeps what was requested last, and how it was decided", () => {
    const { scopes } = request;
    const wider = { ...approved, data: { ...approved.data, scopes } };
    const asked = { scopes, requested_at: 1_000 };
    const last = (...events: Parameters<typeof spec.given>) =>
      spec.given(...events).state?.last_request;
    expect(last(requested, approved)).toEqual({
      ...asked,
      outcome: 'partial',
      reason: 'Fine',
      decided_at: 1_001,
    });
    expect(last(requested, wider)).toMatchObject({ ...asked, outcome: 'granted' });
    const narrowed = [requested, wider, approved];
    expect(last(...narrowed)).toMatchObject({ outcome: 'granted', decided_at: 1_001 });
    expect(last(...narrowed, requested)).toEqual({
      scopes,
      requested_at: 1_003,
      outcome: 'pending',
    });
    expect(last(...narrowed, requested, denied)).toMatchObject({ outcome: 'denied', reason: 'No' });
  });

  it("An agent's access that the machine gives is in force at once, closes its request, and is not given twice", () => {
    const given = { ...request, name: 'B', reason: 'First' };
    const granted = { type: 'AccessGranted' as const, data: given };
    const grant: AgentCommand = { type: 'GrantAccess', grant: given };
    const scopes = given.scopes;
    const state = {
      name: 'B',
      status: 'approved',
      granted: scopes,
      reason: 'First',
      last_request: { scopes, outcome: 'granted', reason: 'First' },
    };
    const first = spec.given().when(grant).then(granted);
    expect(first).toMatchObject({ ...state, version: 0, created_at: 1_000, decided_at: 1_000 });
    const later = spec.given(requested).when(grant).then(granted);
    expect(later).toMatchObject({ ...state, version: 1, created_at: 1_000 });
    expect(later?.pending).toBeUndefined();
    spec.given(granted).when(grant).then();
    spec.given(granted, requested).when(grant).then(granted);
    spec.given(requested, denied).when(grant).then(granted);
    spec.given(granted, suspended).when(grant).rejected('agent_not_in_state');
  });

  it("An agent's access stays as approved after a request with another name was denied", () => {
    const refused = spec.given(requested, approved, renamed, denied);
    expect(refused.state).toMatchObject({ name: 'A', status: 'approved' });
    const wider = { ...approved, data: { ...approved.data, scopes: request.scopes } };
    const fewer = spec.given(requested, wider, renamed, denied).when(approve('links:write'));
    expect(fewer.then(approved)).toMatchObject({ name: 'A', granted: ['links:write'] });
    expect(refused.state?.pending).toBeUndefined();
  });

  it("An agent's name changes with the approval, even if no scope changes", () => {
    const same = { ...renamed, data: { ...renamed.data, scopes: ['links:write'] } };
    const pending = spec.given(requested, approved, same);
    expect(pending.state).toMatchObject({ name: 'A', pending: { name: 'Your bank' } });
    const after = pending.when(approve('links:write')).then(approved);
    expect(after).toMatchObject({ name: 'Your bank', granted: ['links:write'] });
    expect(after?.pending).toBeUndefined();
  });

  it("An agent's access is denied only while it is requested, and approved once", () => {
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

  it('Access that an older log requested during a suspension returns only with an approval', () => {
    const whileSuspended = spec.given(requested, approved, suspended, renamed);
    expect(whileSuspended.state).toMatchObject({ status: 'suspended', name: 'A' });
    expect(spec.given(requested, approved, suspended, renamed, denied).state).toMatchObject({
      status: 'suspended',
      granted: ['links:write'],
    });
    const { state } = spec.given(requested, approved, suspended, renamed, approved);
    expect(state).toMatchObject({ status: 'approved', name: 'Your bank' });
    expect(state?.suspended_by).toBeUndefined();
  });

  it("An agent's access is suspended and reinstated", () => {
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

  it("An agent's access is reinstated by an owner only if an owner suspended it", () => {
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
  });
});

const key = {
  key_id: 'k1',
  agent_id: 'agt_1',
  environment: 'live' as const,
  last4: 'wxyz',
  hash: 'h',
  expires_at: 10_000,
};
const issued = { type: 'KeyIssued' as const, data: key };
const keySpec = specify(apiKey);

const retire = (expiresAt: number, at = 1): KeyCommand => ({
  type: 'RetireKey',
  replacedBy: 'k2',
  expiresAt,
  at,
});
const retired = (expires_at: number) => ({
  type: 'KeyRetired' as const,
  data: { key_id: 'k1', replaced_by: 'k2', expires_at },
});
const revoked = { type: 'KeyRevoked' as const, data: { key_id: 'k1', reason: 'Leaked' } };
const revoke: KeyCommand = { type: 'RevokeKey', reason: 'Leaked' };

describe('An API key', () => {
  it('An API key is issued once', () => {
    const state = keySpec.given().when({ type: 'IssueKey', key }).then(issued);
    expect(state).toEqual({ ...key, status: 'active', created_at: 1_000, version: 0 });
    keySpec
      .given(issued)
      .when({ type: 'IssueKey', key })
      .rejected('key_exists', /exists/);
  });

  it('An API key is retired no later than it expires', () => {
    const state = keySpec.given(issued).when(retire(99_000)).then(retired(10_000));
    expect(state).toEqual({
      ...key,
      status: 'rotating',
      rotated_at: 1_000,
      created_at: 1_000,
      version: 1,
    });
    const earlier = keySpec.given(issued).when(retire(5_000)).then(retired(5_000));
    expect(earlier?.expires_at).toBe(5_000);
    keySpec.given(issued).when(retire(99_000, 9_999)).then(retired(10_000));
    keySpec.given(issued).when(retire(99_000, 10_000)).rejected('key_not_active');
    keySpec.given(issued, retired(5_000)).when(retire(99_000)).rejected('key_not_active');
    keySpec.given().when(retire(5)).rejected('key_unknown');
  });

  it('An API key is revoked once and permanently', () => {
    const state = keySpec.given(issued).when(revoke).then(revoked);
    expect(state).toMatchObject({ status: 'revoked', revoked_reason: 'Leaked', version: 1 });
    keySpec.given(issued, retired(5_000)).when(revoke).then(revoked);
    keySpec.given(issued, revoked).when(revoke).then();
    keySpec.given(issued, revoked).when(retire(5)).rejected('key_not_active');
    keySpec
      .given()
      .when(revoke)
      .rejected('key_unknown', /no such key/);
  });

  it('An API key rejects impossible events', () => {
    for (const event of [retired(5), revoked])
      expect(() => apiKey.evolve(undefined, { ...event, at: 1 })).toThrow(/never issued/);
  });
});
