/** Who a person is: invitations, roles and promoters, the end of a person, and the limits of their ways in. */
import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { person, personClaim } from '#src/people/person.decider.ts';
import { added, passkey, PERSON_ID as person_id, used } from '../support/people/passkeys.ts';
import { specify } from '../support/world/decider-spec.ts';

const identity = {
  person_id,
  name: 'Ada',
  sealed_for: 'psn_1',
  sealed_mailbox: 'sealed',
  mailbox_keys: { mailbox: 'k', address: 'a', generation: 1 },
};
const invitation = { invitation_id: 'inv_1', expires_at: 5_000 };
const facts: EventData<'PersonInvited'> = {
  ...identity,
  roles: ['staff', 'admin'],
  owners: ['own_1', 'own_2'],
  invited_by: 'per_0',
  invitation,
};
const invited = { type: 'PersonInvited' as const, data: facts };
const account: EventData<'PersonRecognized'> = {
  ...identity,
  roles: ['staff', 'admin'],
  owners: ['own_1', 'own_2'],
  by: 'openid',
};
const recognized = { type: 'PersonRecognized' as const, data: account };
const joined = { type: 'PersonJoined' as const, data: { person_id } };
const ended = (erased?: string) => ({
  type: 'PersonEnded' as const,
  data: { person_id, reason: 'Left', ...(erased === undefined ? {} : { erased }) },
});
const changed = (roles: string[], owners: string[]) => ({
  type: 'PersonRolesChanged' as const,
  data: { person_id, roles, owners, reason: 'Moved' },
});
const accountAt = (issuer: string) => ({ issuer, sealed_subject: `sealed ${issuer}` });
const linked = (issuer: string) => ({
  type: 'AccountLinked' as const,
  data: { person_id, ...accountAt(issuer) },
});
const unlinked = (issuer: string) => ({
  type: 'AccountUnlinked' as const,
  data: { person_id, issuer },
});
const begun = {
  ...identity,
  roles: ['staff', 'admin'],
  owners: ['own_1', 'own_2'],
  passkeys: [],
  accounts: [],
  unlinked: [],
  created_at: 1_000,
};
const spec = specify(person);

describe('How a person begins', () => {
  const invite = { type: 'Invite' as const, person: facts };
  const recognize = { type: 'Recognize' as const, person: account };

  it('An invited person waits with an invitation', () => {
    expect(spec.given().when(invite).then(invited)).toStrictEqual({
      ...begun,
      invited_by: 'per_0',
      status: 'invited',
      invitation,
      rights: 0,
      version: 0,
    });
  });

  it('A recognized person is active at once, and has no inviter', () => {
    expect(spec.given().when(recognize).then(recognized)).toStrictEqual({
      ...begun,
      status: 'active',
      rights: 0,
      version: 0,
    });
  });

  it('A person who is invited or active is not invited as a new one', () => {
    for (const history of [[invited], [invited, joined], [recognized]])
      spec
        .given(...history)
        .when(invite)
        .rejected('person_exists', 'somebody with this mailbox was invited before');
  });

  it('A person who exists or has ended is not recognized again', () => {
    for (const history of [[invited], [recognized], [recognized, ended()]])
      spec
        .given(...history)
        .when(recognize)
        .rejected('person_exists', 'the person exists');
  });

  it('An ended person comes back by an invitation, without the earlier ways in', () => {
    const history = [
      invited,
      joined,
      added('a'),
      linked('one'),
      linked('two'),
      unlinked('two'),
      changed(['staff'], []),
      ended('psn_1'),
    ];
    const again = {
      ...facts,
      name: 'Ada Byron',
      sealed_for: 'psn_2',
      roles: ['staff'],
      invited_by: 'per_9',
      invitation: { invitation_id: 'inv_2', expires_at: 9_000 },
    };
    const after = spec
      .given(...history)
      .when({ type: 'Invite', person: again })
      .then({ type: 'PersonInvited', data: again });
    expect(after).toStrictEqual({
      ...begun,
      ...again,
      status: 'invited',
      rights: 2,
      ended_at: 1_007,
      version: 8,
    });
  });

  it('An unknown person is neither changed nor ended', () => {
    for (const command of [
      { type: 'InviteAgain' as const, invitation },
      { type: 'Join' as const },
      { type: 'ChangeRoles' as const, reason: 'Moved', roles: [], owners: [] },
      { type: 'EndPerson' as const, reason: 'Left' },
      { type: 'AddPasskey' as const, passkey: passkey('a'), max: 2 },
    ])
      spec.given().when(command).rejected('person_unknown', 'no such person');
  });

  it('A person rejects the events of one who was never invited', () => {
    for (const event of [joined, ended(), added('a')])
      expect(() => person.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} of a person who was never invited`,
      );
  });
});

describe('The invitation of a person', () => {
  const newer = { invitation_id: 'inv_2', expires_at: 9_000 };
  const again = { type: 'InviteAgain' as const, invitation: newer };
  const invitedAgain = {
    type: 'PersonInvitedAgain' as const,
    data: { person_id, invitation: newer },
  };
  const join = { type: 'Join' as const };

  it('A newer invitation replaces the one before', () => {
    const { state } = spec.given(invited);
    expect(person.decide(state, again)).toEqual({ accepted: true, events: [invitedAgain] });
    expect(spec.given(invited, invitedAgain).state).toStrictEqual({
      ...begun,
      invited_by: 'per_0',
      status: 'invited',
      invitation: newer,
      rights: 0,
      version: 1,
    });
  });

  it('A person who has signed in needs no newer invitation', () => {
    for (const history of [[invited, joined], [recognized]])
      spec
        .given(...history)
        .when(again)
        .rejected('person_joined', 'the person has signed in and needs no invitation');
  });

  it('An invited person joins once, and the invitation is gone', () => {
    expect(spec.given(invited).when(join).then(joined)).toStrictEqual({
      ...begun,
      invited_by: 'per_0',
      status: 'active',
      rights: 0,
      version: 1,
    });
    spec.given(invited, joined).when(join).then();
    spec.given(recognized).when(join).then();
  });
});

describe('The roles and promoters of a person', () => {
  const change = (roles: string[], owners: string[]) => ({
    type: 'ChangeRoles' as const,
    reason: 'Moved',
    roles,
    owners,
  });

  it('A change of roles alone or of promoters alone is recorded and counted', () => {
    const both = ['own_1', 'own_2'];
    const rights: [roles: string[], owners: string[]][] = [
      [['staff'], both],
      [['staff', 'admin', 'viewer'], both],
      [['staff', 'viewer'], both],
      [[], both],
      [['staff', 'admin'], ['own_2']],
      [
        ['staff', 'admin'],
        ['own_1', 'own_3'],
      ],
      [['staff'], []],
    ];
    for (const [roles, owners] of rights) {
      const after = spec.given(recognized).when(change(roles, owners)).then(changed(roles, owners));
      expect(after).toStrictEqual({
        ...begun,
        roles,
        owners,
        status: 'active',
        rights: 1,
        version: 1,
      });
    }
  });

  it('The same roles and promoters in another order are no change', () => {
    spec
      .given(recognized)
      .when(change(['staff', 'admin'], ['own_1', 'own_2']))
      .then();
    spec
      .given(recognized)
      .when(change(['admin', 'staff'], ['own_2', 'own_1']))
      .then();
  });

  it('An invited person can get other roles, and stays invited', () => {
    const after = spec
      .given(invited)
      .when(change(['staff'], []))
      .then(changed(['staff'], []));
    expect(after).toMatchObject({ status: 'invited', invitation, rights: 1 });
  });
});

describe('The end of a person', () => {
  const end = (erased?: string) => ({
    type: 'EndPerson' as const,
    reason: 'Left',
    ...(erased === undefined ? {} : { erased }),
  });

  it('A person ends once, with the reason, and without an invitation or ways in', () => {
    const after = spec.given(invited).when(end()).then(ended());
    expect(after).toStrictEqual({
      ...begun,
      invited_by: 'per_0',
      status: 'ended',
      rights: 0,
      ended_at: 1_000,
      ended_reason: 'Left',
      version: 1,
    });
    const { state } = spec.given(recognized, added('a'), linked('one'), ended());
    expect(state).toMatchObject({ status: 'ended', passkeys: [], accounts: [], ended_at: 1_003 });
    spec.given(recognized, ended()).when(end()).then();
  });

  it('An end with an erasure keeps whose key was destroyed', () => {
    const after = spec.given(recognized).when(end('psn_1')).then(ended('psn_1'));
    expect(after).toMatchObject({ status: 'ended', erased: 'psn_1' });
    spec.given(recognized, ended('psn_1')).when(end('psn_1')).then();
    spec.given(recognized, ended('psn_1')).when(end()).then();
  });

  it('The mailbox of an ended person can still be erased, but not that of another subject', () => {
    const after = spec.given(recognized, ended()).when(end('psn_1')).then(ended('psn_1'));
    expect(after).toMatchObject({ status: 'ended', erased: 'psn_1', version: 2 });
    spec.given(recognized, ended()).when(end('psn_2')).then();
  });

  it('An ended person changes no more', () => {
    for (const command of [
      { type: 'InviteAgain' as const, invitation },
      { type: 'Join' as const },
      { type: 'ChangeRoles' as const, reason: 'Moved', roles: [], owners: [] },
      { type: 'AddPasskey' as const, passkey: passkey('a'), max: 2 },
      { type: 'LinkAccount' as const, account: accountAt('one') },
    ])
      spec
        .given(recognized, ended())
        .when(command)
        .rejected('person_ended', 'the person was ended');
  });
});

describe('The ways in of a person', () => {
  it('A person with fewer passkeys than the limit gets one more, one at the limit does not', () => {
    const add = (max: number) => ({ type: 'AddPasskey' as const, passkey: passkey('c'), max });
    const full = spec.given(recognized, added('a'), added('b'));
    const after = full.when(add(3)).then(added('c'));
    expect(after).toMatchObject({
      passkeys: [passkey('a'), passkey('b'), passkey('c')],
      version: 3,
    });
    for (const max of [2, 1])
      full.when(add(max)).rejected('passkeys_full', `at most ${max} passkeys; remove one first`);
  });

  it('The counter of a passkey does not return to zero', () => {
    const use = (passkeyId: string, counter: number) => ({
      type: 'UsePasskey' as const,
      passkeyId,
      counter,
    });
    const two = spec.given(recognized, added('a', 4), added('b', 0));
    for (const counter of [0, 3, 4])
      two
        .when(use('a', counter))
        .rejected('passkey_copied', 'the counter of the passkey did not rise');
    two.when(use('c', 9)).rejected('person_unknown', 'no such passkey');
    const after = two.when(use('a', 5)).then(used('a', 5));
    expect(after?.passkeys).toEqual([passkey('a', 5), passkey('b', 0)]);
    expect(two.when(use('b', 1)).then(used('b', 1))?.passkeys).toEqual([
      passkey('a', 4),
      passkey('b', 1),
    ]);
  });

  it('A passkey that was refused is not refused again', () => {
    const refused = {
      type: 'PasskeyRefused' as const,
      data: { person_id, passkey_id: 'a' },
    };
    const refuse = { type: 'RefusePasskey' as const, passkeyId: 'a' };
    spec.given(recognized, added('a'), refused).when(refuse).then();
    spec.given(recognized, added('b')).when(refuse).then();
  });

  it('Only the passkey that a person removes is gone', () => {
    const removed = { type: 'PasskeyRemoved' as const, data: { person_id, passkey_id: 'a' } };
    const remove = { type: 'RemovePasskey' as const, passkeyId: 'a' };
    const after = spec.given(recognized, added('a'), added('b')).when(remove).then(removed);
    expect(after?.passkeys).toEqual([passkey('b')]);
    spec.given(recognized, added('b')).when(remove).then();
  });

  it('A person links at most one account of each provider', () => {
    const link = (issuer: string) => ({ type: 'LinkAccount' as const, account: accountAt(issuer) });
    const after = spec.given(recognized, linked('one')).when(link('two')).then(linked('two'));
    expect(after?.accounts).toEqual([accountAt('one'), accountAt('two')]);
    spec.given(recognized, linked('one'), linked('two')).when(link('two')).then();
    const other = { ...accountAt('one'), sealed_subject: 'sealed other' };
    spec.given(recognized, linked('one')).when({ type: 'LinkAccount', account: other }).then();
  });

  it('Only the account that a person unlinks is gone, until it is linked again', () => {
    const unlink = (issuer: string) => ({ type: 'UnlinkAccount' as const, issuer });
    const both = spec.given(recognized, linked('one'), linked('two'));
    expect(both.when(unlink('two')).then(unlinked('two'))).toMatchObject({
      accounts: [accountAt('one')],
      unlinked: ['two'],
    });
    spec.given(recognized, linked('one')).when(unlink('two')).then();
    const { state } = spec.given(
      recognized,
      linked('one'),
      linked('two'),
      unlinked('one'),
      unlinked('two'),
      linked('one'),
    );
    expect(state).toMatchObject({ accounts: [accountAt('one')], unlinked: ['two'] });
  });

  it('The person who has an account can claim it again, another person cannot', () => {
    const claimed = { type: 'PersonClaimed' as const, data: { person_id } };
    const claims = specify(personClaim);
    claims.given(claimed).when({ type: 'ClaimPerson', personId: person_id }).then();
    claims
      .given(claimed)
      .when({ type: 'ClaimPerson', personId: 'per_2' })
      .rejected('claimed', 'another person has it');
  });
});
