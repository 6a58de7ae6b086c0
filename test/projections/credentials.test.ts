import { describe, expect, test } from 'vitest';
import { access, credentials } from '#projections/access.ts';
import { happened, MIDNIGHT, rowsAfter } from '../support/world/fold.ts';

const AGENT = { agent_id: 'agt_1', name: 'Scout', purpose: 'to scout', scopes: ['links:write'] };
const KEY = {
  key_id: 'key1',
  agent_id: 'agt_1',
  environment: 'live' as const,
  last4: 'abcd',
  hash: 'h1',
  expires_at: MIDNIGHT + 90,
};
const TOKEN = {
  token_id: 'tok1',
  name: 'Staff',
  person_id: 'name:staff',
  roles: ['staff'],
  hash: 'h2',
};

const STORY = [
  happened('AccessRequested', 'agent_1', AGENT),
  happened('AccessApproved', 'agent_1', {
    agent_id: 'agt_1',
    scopes: ['links:write'],
    reason: 'ok',
  }),
  happened('KeyIssued', 'key_1', KEY),
  happened('DeskTokenIssued', 'desk-token_1', TOKEN),
];

const AGENT_ROW = {
  kind: 'agent',
  owner: 'anna',
  agent_id: 'agt_1',
  name: 'Scout',
  purpose: 'to scout',
  granted: ['links:write'],
  last_request: {
    scopes: ['links:write'],
    requested_at: MIDNIGHT,
    outcome: 'granted',
    reason: 'ok',
    decided_at: MIDNIGHT,
  },
  status: 'approved',
  reason: 'ok',
  decided_at: MIDNIGHT,
  created_at: MIDNIGHT,
  version: 1,
  sort: 1,
};
const KEY_ROW = {
  ...KEY,
  kind: 'key',
  owner: 'anna',
  status: 'active',
  created_at: MIDNIGHT,
  version: 0,
  sort: 3,
};
const TOKEN_ROW = {
  ...TOKEN,
  kind: 'desk',
  owner: 'desk',
  status: 'active',
  created_at: MIDNIGHT,
  sort: 4,
};

describe('The read model of credentials', () => {
  test('The read model of credentials contains everything that authentication needs, by id and kind', () => {
    expect(rowsAfter(credentials, STORY)).toEqual({
      'agt_1/agent': { row: AGENT_ROW, sort: null },
      'key1/key': { row: KEY_ROW, sort: null },
      'tok1/desk': { row: TOKEN_ROW, sort: null },
    });
  });

  test('The read model of credentials shows the end of an agent, key or token', () => {
    const rows = rowsAfter(credentials, [
      ...STORY,
      happened('AgentSuspended', 'agent_1', {
        agent_id: 'agt_1',
        reason: 'abuse',
        by_role: 'staff',
      }),
      happened('KeyRetired', 'key_1', { key_id: 'key1', replaced_by: 'key2', expires_at: 5 }),
      happened('KeyRevoked', 'key_1', { key_id: 'key1', reason: 'leaked' }),
      happened('DeskTokenRevoked', 'desk-token_1', { token_id: 'tok1', reason: 'left' }),
    ]);
    expect(rows['agt_1/agent']?.row).toMatchObject({ status: 'suspended', sort: 1 });
    expect(rows['key1/key']?.row).toEqual({
      ...KEY_ROW,
      status: 'revoked',
      revoked_reason: 'leaked',
      rotated_at: MIDNIGHT,
      expires_at: 5,
      version: 2,
    });
    expect(rows['tok1/desk']?.row).toEqual({ ...TOKEN_ROW, status: 'revoked' });
  });

  test('The read model of credentials rejects an impossible event', () => {
    const revoked = happened('DeskTokenRevoked', 'desk-token_1', {
      token_id: 'tok1',
      reason: 'left',
    });
    expect(() => rowsAfter(credentials, [revoked])).toThrow('never issued');
  });
});

describe('The read model of access', () => {
  test('The read model of access contains the same rows by owner and kind, in the order of their creation', () => {
    expect(rowsAfter(access, STORY)).toEqual({
      'anna/agent/agt_1': { row: AGENT_ROW, sort: 1, lists: [] },
      'anna/key/key1': { row: KEY_ROW, sort: 3, lists: [] },
      'desk/desk/tok1': { row: TOKEN_ROW, sort: 4, lists: [] },
    });
  });
});
