import { describe, expect, it } from 'vitest';
import { ownerProfile } from '#src/owners/profile.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const { given } = specify(ownerProfile);

const profile = (n: number, keeps_mailbox?: true) => ({
  sealed_for: `own_${n}`,
  sealed_profile: `s1.own_${n}.x`,
  mailbox_keys: { address: `1.a${n}`, mailbox: `1.m${n}` },
  ...(keeps_mailbox && { keeps_mailbox }),
});
const set = (n: number, keepsMailbox?: true) => ({
  type: 'OwnerProfileSet' as const,
  data: profile(n, keepsMailbox),
});
const confirmed = { type: 'OwnerMailboxConfirmed' as const, data: { sealed_reason: 's1.own_1.y' } };
const removed = { type: 'OwnerProfileRemoved' as const, data: { reason: 'left' } };
const confirm = { type: 'ConfirmMailbox', sealedReason: 's1.own_1.y' } as const;
const remove = { type: 'RemoveProfile', reason: 'left' } as const;

describe('The profile of an owner', () => {
  it("An owner's profile has a confirmed mailbox until another mailbox is set", () => {
    given(set(1)).when(confirm).then(confirmed);
    given(set(1), confirmed).when(confirm).then();
    expect(given(set(1), confirmed).state).toMatchObject({ confirmed_at: 1_001 });
    expect(given(set(1), confirmed, set(2, true)).state).toMatchObject({ confirmed_at: 1_001 });
    expect(given(set(1), confirmed, set(2)).state?.confirmed_at).toBeUndefined();
  });

  it("An owner's profile is removed once, and can be set again without a confirmation", () => {
    given(set(1), confirmed).when(remove).then(removed);
    given(set(1), removed).when(remove).then();
    given(set(1), removed).when(confirm).rejected('profile_unknown');
    expect(given(set(1), confirmed, removed, set(2)).state).toMatchObject({
      status: 'set',
      sealed_for: 'own_2',
      confirmed_at: undefined,
    });
  });

  it("An owner's profile is removed for a person only if it is still the person's", () => {
    given(set(1))
      .when({ ...remove, sealedFor: 'own_1' })
      .then(removed);
    given(set(1), set(2))
      .when({ ...remove, sealedFor: 'own_1' })
      .then();
  });

  it("An owner's profile must be set before it is confirmed or removed", () => {
    for (const command of [confirm, remove]) given().when(command).rejected('profile_unknown');
    expect(() => ownerProfile.evolve(undefined, { ...removed, at: 1 })).toThrow(/never set/);
  });
});
