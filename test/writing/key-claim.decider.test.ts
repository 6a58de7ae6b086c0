import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { keyClaim, type KeyClaimCommand } from '#src/writing/claims.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

type Claim = EventData<'RequestBound'>;

const first: Claim = { stream: 'acme-lead_1', fingerprint: '1.a' };
const other: Claim = { stream: 'acme-lead_2', fingerprint: '1.b' };
const unchanged: Claim = { ...first, revision: 3 };
const answered: Claim = { ...first, answer: { read: 2 } };
const bound = (data: Claim) => ({ type: 'RequestBound' as const, data });
const claim = ({ fingerprint, ...data }: Claim, ...earlier: string[]): KeyClaimCommand => ({
  type: 'ClaimKey',
  claim: data,
  fingerprints: [fingerprint, ...earlier],
});
const { given } = specify(keyClaim);

describe('An idempotency key', () => {
  it('An idempotency key belongs to the first request that claims it', () => {
    const state = given().when(claim(first)).then(bound(first));
    expect(state).toEqual({ fingerprint: '1.a', unchanged: [], isAnswered: false });
    given(bound(first)).when(claim(first)).then();
    given(bound(first))
      .when(claim({ ...first, stream: 'acme-lead_2' }))
      .then();
    for (const more of [{}, { revision: 0 }, { answer: {} }])
      given(bound(first))
        .when(claim({ ...other, ...more }))
        .rejected('key_reused');
    given(bound(first), bound(other)).when(claim(other)).rejected('key_reused');
  });

  it('A request is the same one under a new generation of the key that hashes it', () => {
    const later = { ...unchanged, fingerprint: '2.c' };
    given(bound(first)).when(claim(later, '1.b')).rejected('key_reused');
    const state = given(bound(first)).when(claim(later, '1.a')).then(bound(later));
    expect(state?.fingerprint).toBe('1.a');
    given(bound(first), bound(later)).when(claim(unchanged)).then();
  });

  it('An idempotency key records once per stream that its request had nothing to write', () => {
    const state = given(bound(first)).when(claim(unchanged)).then(bound(unchanged));
    expect(state).toMatchObject({ unchanged: ['acme-lead_1'] });
    given(bound(unchanged))
      .when(claim({ ...unchanged, revision: 4 }))
      .then();
    const second = { ...unchanged, stream: 'acme-lead_2' };
    const both = given(bound(unchanged)).when(claim(second)).then(bound(second));
    expect(both?.unchanged).toEqual(['acme-lead_1', 'acme-lead_2']);
    given().when(claim(unchanged)).then(bound(unchanged));
  });

  it('An idempotency key stores the first answer of its request, and no second one', () => {
    expect(given(bound(first)).when(claim(answered)).then(bound(answered))?.isAnswered).toBe(true);
    given(bound(answered))
      .when(claim({ ...answered, answer: { read: 9 } }))
      .then();
    const later = given(bound(answered), bound(unchanged));
    expect(later.state?.isAnswered).toBe(true);
    later.when(claim(answered)).then();
    given(bound(unchanged)).when(claim(answered)).then(bound(answered));
  });
});
