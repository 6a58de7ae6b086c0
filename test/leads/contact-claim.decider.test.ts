import { describe, expect, it } from 'vitest';
import { contactClaim, type ContactClaimCommand } from '#src/leads/claims.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const EXPIRY = 10_000;
const holder = { owner_id: 'acme', lead_id: 'led_1' };
const claimOf = (over: { owner_id?: string; lead_id?: string } = {}) => ({
  ...holder,
  expires_at: EXPIRY,
  ...over,
});
const claimed = (over = {}) => ({ type: 'LeadClaimed' as const, data: claimOf(over) });
const released = { type: 'LeadClaimReleased' as const, data: holder };
const claim = (over = {}, at = 1): ContactClaimCommand => ({
  type: 'ClaimContact',
  at,
  claim: claimOf(over),
});
const release = (over = {}): ContactClaimCommand => ({
  type: 'ReleaseContact',
  holder: { ...holder, ...over },
});
const { given } = specify(contactClaim);

describe('A contact claim', () => {
  it('A contact claim belongs to the first lead that claims the contact', () => {
    expect(given().when(claim()).then(claimed())).toEqual({ claim: claimOf() });
    given(claimed()).when(claim()).then();
    given(claimed())
      .when(claim({ owner_id: 'rival', lead_id: 'led_2' }))
      .rejected('held_by_other_owner');
    given(claimed())
      .when(claim({ owner_id: 'rival' }))
      .rejected('held_by_other_owner');
    given(claimed())
      .when(claim({ lead_id: 'led_2' }))
      .rejected('held_by_this_owner');
  });

  it('A contact claim ends at its expiry, and not before', () => {
    const other = { owner_id: 'rival', lead_id: 'led_2' };
    given(claimed())
      .when(claim(other, EXPIRY - 1))
      .rejected('held_by_other_owner');
    given(claimed()).when(claim(other, EXPIRY)).then(claimed(other));
    given(claimed()).when(claim({}, EXPIRY)).then();
  });

  it('A contact claim ends by a release of the lead that holds it', () => {
    const other = { owner_id: 'rival', lead_id: 'led_2' };
    expect(given(claimed()).when(release()).then(released)).toEqual({ claim: undefined });
    given(claimed(), released).when(claim(other)).then(claimed(other));
  });

  it('A contact claim is not released by another lead, twice, or before it exists', () => {
    for (const other of [{ owner_id: 'rival' }, { lead_id: 'led_2' }])
      given(claimed()).when(release(other)).rejected('not_held');
    given(claimed(), released).when(release()).rejected('not_held');
    given().when(release()).rejected('not_held');
  });
});
