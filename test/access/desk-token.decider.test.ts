import { expect, it } from 'vitest';
import { deskToken } from '#src/access/access.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const token = {
  token_id: 't1',
  name: 'Ada',
  person_id: 'name:ada',
  roles: ['staff'],
  hash: 'h',
};
const issued = { type: 'DeskTokenIssued' as const, data: token };
const revoked = {
  type: 'DeskTokenRevoked' as const,
  data: { token_id: 't1', reason: 'Left' },
};
const revoke = { type: 'RevokeToken' as const, reason: 'Left' };
const spec = specify(deskToken);

it('A desk token is issued once, and revoked permanently', () => {
  spec.given().when({ type: 'IssueToken', token }).then(issued);
  spec.given(issued).when({ type: 'IssueToken', token }).rejected('token_exists');
  const after = spec.given(issued).when(revoke).then(revoked);
  expect(after).toEqual({ ...token, status: 'revoked' });
  spec.given(issued, revoked).when(revoke).then();
  spec.given().when(revoke).rejected('token_unknown');
  expect(() => deskToken.evolve(undefined, { ...revoked, at: 1 })).toThrow(/never issued/);
});
