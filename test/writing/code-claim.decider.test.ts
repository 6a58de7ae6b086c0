import { expect, it } from 'vitest';
import { codeClaim } from '#src/writing/claims.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const claim = { code: 'autumn', link_id: 'lnk_1', owner_id: 'acme' };
const claimed = { type: 'CodeClaimed' as const, data: claim };
const other = { ...claim, link_id: 'lnk_2' };
const { given } = specify(codeClaim);

it('A short code belongs to the first link that claims it', () => {
  expect(given().when({ type: 'ClaimCode', claim }).then(claimed)).toEqual(claim);
  given(claimed).when({ type: 'ClaimCode', claim }).then();
  given(claimed).when({ type: 'ClaimCode', claim: other }).rejected('code_taken');
});

it('A short code stays with its first link even if the log has a second claim', () => {
  expect(given(claimed, { ...claimed, data: other }).state).toEqual(claim);
});
