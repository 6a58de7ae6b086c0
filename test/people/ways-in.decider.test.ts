/** The ways in of a person: passkeys and accounts. */
import { describe, expect, it } from 'vitest';
import { person, personClaim } from '#src/people/person.decider.ts';
import { added, passkey, PERSON_ID as person_id, used } from '../support/people/passkeys.ts';
import { specify } from '../support/world/decider-spec.ts';

const recognized = {
  type: 'PersonRecognized' as const,
  data: {
    person_id,
    name: 'Ada',
    sealed_for: 'psn_1',
    sealed_mailbox: 'sealed',
    mailbox_keys: { mailbox: 'k', address: 'a', generation: 1 },
    roles: ['staff'],
    owners: [],
    by: 'openid' as const,
  },
};
const ended = { type: 'PersonEnded' as const, data: { person_id, reason: 'Left' } };
const refused = (passkey_id: string) => ({
  type: 'PasskeyRefused' as const,
  data: { person_id, passkey_id },
});
const removed = (passkey_id: string) => ({
  type: 'PasskeyRemoved' as const,
  data: { person_id, passkey_id },
});
const issuer = 'https://id.house.example';
const linked = {
  type: 'AccountLinked' as const,
  data: { person_id, issuer, sealed_subject: 'sealed' },
};
const unlinked = { type: 'AccountUnlinked' as const, data: { person_id, issuer } };
const spec = specify(person);

describe('The passkeys of a person', () => {
  it('A passkey is added once, up to the limit', () => {
    const add = (id: string) => ({ type: 'AddPasskey' as const, passkey: passkey(id), max: 2 });
    spec.given(recognized).when(add('a')).then(added('a'));
    spec.given(recognized, added('a'), added('b')).when(add('a')).then();
    spec.given(recognized, added('a'), added('b')).when(add('c')).rejected('passkeys_full', '2');
  });

  it('A counter must rise, unless the authenticator does not count', () => {
    const use = (counter: number) => ({ type: 'UsePasskey' as const, passkeyId: 'a', counter });
    spec.given(recognized, added('a')).when(use(0)).then();
    const decide = (before: number, counter: number) =>
      person.decide(spec.given(recognized, added('a', before)).state, use(counter));
    expect(decide(0, 1)).toEqual({ accepted: true, events: [used('a', 1)] });
    expect(decide(1, 2)).toEqual({ accepted: true, events: [used('a', 2)] });
    for (const [before, counter] of [
      [1, 1],
      [2, 1],
      [1, 0],
    ] as const)
      expect(decide(before, counter)).toMatchObject({ reason: 'passkey_copied' });
    const { state } = spec.given(recognized, added('a'), used('a', 7));
    expect(state?.passkeys).toEqual([{ ...passkey('a'), counter: 7 }]);
  });

  it('A refused passkey is recorded once, and keeps the time of it', () => {
    const refuse = { type: 'RefusePasskey' as const, passkeyId: 'a' };
    const after = spec.given(recognized, added('b'), added('a')).when(refuse).then(refused('a'));
    expect(after?.passkeys).toEqual([passkey('b'), { ...passkey('a'), refused_at: 1_000 }]);
    spec.given(recognized).when(refuse).then();
  });

  it('A removed passkey and one of an ended person are gone', () => {
    const remove = { type: 'RemovePasskey' as const, passkeyId: 'a' };
    spec.given(recognized, added('a')).when(remove).then(removed('a'));
    const use = { type: 'UsePasskey' as const, passkeyId: 'a', counter: 1 };
    spec.given(recognized, added('a'), removed('a')).when(use).rejected('person_unknown');
    spec.given(recognized, added('a'), ended).when(use).rejected('person_ended');
    expect(spec.given(recognized, added('a'), ended).state?.passkeys).toEqual([]);
  });
});

describe('The accounts of a person', () => {
  const link = {
    type: 'LinkAccount' as const,
    account: { issuer, sealed_subject: 'sealed' },
  };
  const unlink = { type: 'UnlinkAccount' as const, issuer };

  it('An account is linked and unlinked once, and the state keeps that it was unlinked', () => {
    expect(spec.given(recognized).when(link).then(linked)).toMatchObject({
      accounts: [{ issuer, sealed_subject: 'sealed' }],
      unlinked: [],
    });
    expect(spec.given(recognized, linked).when(unlink).then(unlinked)).toMatchObject({
      accounts: [],
      unlinked: [issuer],
    });
    spec.given(recognized).when(unlink).then();
  });

  it("An account is the person's who claims it first, for good", () => {
    const claimed = { type: 'PersonClaimed' as const, data: { person_id } };
    const claim = (personId: string) => ({ type: 'ClaimPerson' as const, personId });
    const claims = specify(personClaim);
    claims.given().when(claim(person_id)).then(claimed);
    claims.given(claimed).when(claim('per_2')).rejected('claimed');
  });
});
