/** A person: who invited them, what they may do, how they sign in. */
import type {
  EventData,
  EventOf,
  PersonClaimEventType,
  PersonEventType,
} from '#contracts/registries/events.ts';
import { accept, asStored, type Decider, reject } from '#src/shared/decider.ts';
import { present } from '#src/shared/json.ts';

type PersonEvent = EventOf<PersonEventType>;
type Invited = EventData<'PersonInvited'>;
type Rights = Pick<Invited, 'roles' | 'owners'>;
export type Passkey = Omit<EventData<'PasskeyAdded'>, 'person_id'> & {
  /** When it was refused because there may be a copy of it, in epoch milliseconds. */
  refused_at?: number;
};

export type PersonCommand =
  | { type: 'Invite'; person: Invited }
  | { type: 'Recognize'; person: EventData<'PersonRecognized'> }
  | { type: 'InviteAgain'; invitation: Invited['invitation'] }
  | { type: 'Join' }
  | ({ type: 'ChangeRoles'; reason: string } & Rights)
  | { type: 'EndPerson'; reason: string; erased?: string }
  | { type: 'AddPasskey'; passkey: Passkey; max: number }
  | { type: 'UsePasskey'; passkeyId: string; counter: number }
  | { type: 'RefusePasskey'; passkeyId: string }
  | { type: 'RemovePasskey'; passkeyId: string }
  | { type: 'LinkAccount'; account: { issuer: string; sealed_subject: string } }
  | { type: 'UnlinkAccount'; issuer: string };

export type PersonRejection =
  | 'person_exists'
  | 'person_unknown'
  | 'person_ended'
  | 'person_joined'
  | 'passkeys_full'
  | 'passkey_copied';

export type PersonState = Rights &
  Pick<Invited, 'person_id' | 'name' | 'sealed_for' | 'sealed_mailbox' | 'mailbox_keys'> & {
    /** The actor who invited the person; undefined for one whom nobody invited. */
    invited_by?: string;
    /** `invited`: never signed in. */
    status: 'invited' | 'active' | 'ended';
    /** The last invitation, while the person has not joined. */
    invitation?: Invited['invitation'] | undefined;
    passkeys: Passkey[];
    accounts: { issuer: string; sealed_subject: string }[];
    /** The issuers whose account the person unlinked: it does not become a way in again before the person links it. */
    unlinked: string[];
    /** Counts the changes of roles and promoters: sessions of before have ended. */
    rights: number;
    /** When the person last ended, in epoch milliseconds, also if they were invited again. */
    ended_at?: number;
    ended_reason?: string;
    /** The mailbox that was erased is sealed for this subject. */
    erased?: string;
    created_at: number;
    /** Revision of the last event. */
    version: number;
  };

const began = (
  {
    person_id,
    name,
    sealed_for,
    sealed_mailbox,
    mailbox_keys,
    roles,
    owners,
  }: Omit<Invited, 'invitation' | 'invited_by'>,
  at: number,
): Omit<PersonState, 'status' | 'rights'> => ({
  person_id,
  name,
  sealed_for,
  sealed_mailbox,
  mailbox_keys,
  roles,
  owners,
  passkeys: [],
  accounts: [],
  unlinked: [],
  created_at: at,
  version: 0,
});

const fold = (state: PersonState | undefined, event: PersonEvent & { at: number }): PersonState => {
  if (event.type === 'PersonInvited') {
    const { ended_at, created_at = event.at, version = -1, rights = -1 } = state ?? {};
    const again = {
      ...present({ ended_at }),
      created_at,
      version: version + 1,
      rights: rights + 1,
    };
    const { invited_by, invitation } = event.data;
    return { ...began(event.data, event.at), ...again, invited_by, status: 'invited', invitation };
  }
  if (event.type === 'PersonRecognized')
    return { ...began(event.data, event.at), status: 'active', rights: 0 };
  if (!state) throw new Error(`${event.type} of a person who was never invited`);
  const next = { ...state, version: state.version + 1 };
  switch (event.type) {
    case 'PersonInvitedAgain':
      return { ...next, invitation: event.data.invitation };
    case 'PersonJoined':
      return { ...next, status: 'active', invitation: undefined };
    case 'PersonRolesChanged':
      return {
        ...next,
        roles: event.data.roles,
        owners: event.data.owners,
        rights: state.rights + 1,
      };
    case 'PersonEnded':
      return {
        ...next,
        status: 'ended',
        invitation: undefined,
        passkeys: [],
        accounts: [],
        ended_at: event.at,
        ended_reason: event.data.reason,
        ...present({ erased: event.data.erased }),
      };
    default:
      return { ...next, ...foldWay(state, event) };
  }
};

type WayEvent = Exclude<PersonEvent, { type: `Person${string}` }>;

/** The ways in after an event of one. */
const foldWay = (
  { passkeys, accounts, unlinked }: PersonState,
  event: WayEvent & { at: number },
): Pick<PersonState, 'passkeys'> | Pick<PersonState, 'accounts' | 'unlinked'> => {
  switch (event.type) {
    case 'PasskeyAdded': {
      const { person_id: _person, ...passkey } = event.data;
      return { passkeys: [...passkeys, passkey] };
    }
    case 'PasskeyUsed':
    case 'PasskeyRefused': {
      const { passkey_id } = event.data;
      const change =
        event.type === 'PasskeyUsed' ? { counter: event.data.counter } : { refused_at: event.at };
      return {
        passkeys: passkeys.map((one) =>
          one.passkey_id === passkey_id ? { ...one, ...change } : one,
        ),
      };
    }
    case 'PasskeyRemoved': {
      const { passkey_id } = event.data;
      return { passkeys: passkeys.filter((one) => one.passkey_id !== passkey_id) };
    }
    case 'AccountLinked': {
      const { issuer, sealed_subject } = event.data;
      return {
        accounts: [...accounts, { issuer, sealed_subject }],
        unlinked: unlinked.filter((one) => one !== issuer),
      };
    }
    case 'AccountUnlinked': {
      const { issuer } = event.data;
      return {
        accounts: accounts.filter((one) => one.issuer !== issuer),
        unlinked: [...unlinked, issuer],
      };
    }
  }
};

const isEqual = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((value) => other.includes(value));

export const person: Decider<PersonState, PersonCommand, PersonEvent, PersonRejection> = {
  evolve: (state, event) => asStored(fold(state, event)),

  decide(state, command) {
    // Somebody who was ended comes back by an invitation only, as the same person.
    if (command.type === 'Invite')
      return state && state.status !== 'ended'
        ? reject('person_exists', 'somebody with this mailbox was invited before')
        : accept({ type: 'PersonInvited', data: command.person });
    if (command.type === 'Recognize')
      return state
        ? reject('person_exists', 'the person exists')
        : accept({ type: 'PersonRecognized', data: command.person });
    if (!state) return reject('person_unknown', 'no such person');
    const { person_id, status } = state;
    if (command.type === 'EndPerson') {
      const { reason, erased } = command;
      const isNew = state.sealed_for === erased && state.erased !== erased;
      return status === 'ended' && !isNew
        ? accept()
        : accept({ type: 'PersonEnded', data: { person_id, reason, ...present({ erased }) } });
    }
    if (status === 'ended') return reject('person_ended', 'the person was ended');
    switch (command.type) {
      case 'InviteAgain':
        return status === 'active'
          ? reject('person_joined', 'the person has signed in and needs no invitation')
          : accept({
              type: 'PersonInvitedAgain',
              data: { person_id, invitation: command.invitation },
            });
      case 'Join':
        return status === 'active'
          ? accept()
          : accept({ type: 'PersonJoined', data: { person_id } });
      case 'ChangeRoles': {
        const { roles, owners, reason } = command;
        return isEqual(roles, state.roles) && isEqual(owners, state.owners)
          ? accept()
          : accept({ type: 'PersonRolesChanged', data: { person_id, roles, owners, reason } });
      }
      default:
        return decideWay(state, command);
    }
  },
};

type WayCommand = Extract<
  PersonCommand,
  {
    type:
      | 'AddPasskey'
      | 'UsePasskey'
      | 'RefusePasskey'
      | 'RemovePasskey'
      | 'LinkAccount'
      | 'UnlinkAccount';
  }
>;

/** Decides on the ways in of a person who has not ended. */
const decideWay = (
  { person_id, passkeys, accounts }: PersonState,
  command: WayCommand,
): ReturnType<typeof accept<PersonEvent>> | ReturnType<typeof reject<PersonRejection>> => {
  const known = (id: string) => passkeys.find(({ passkey_id }) => passkey_id === id);
  switch (command.type) {
    case 'AddPasskey':
      if (known(command.passkey.passkey_id)) return accept();
      return passkeys.length >= command.max
        ? reject('passkeys_full', `at most ${command.max} passkeys; remove one first`)
        : accept({ type: 'PasskeyAdded', data: { person_id, ...command.passkey } });
    case 'UsePasskey': {
      const { passkeyId, counter } = command;
      const passkey = known(passkeyId);
      if (!passkey) return reject('person_unknown', 'no such passkey');
      if (counter === 0 && passkey.counter === 0) return accept();
      return counter <= passkey.counter
        ? reject('passkey_copied', 'the counter of the passkey did not rise: it may be a copy')
        : accept({ type: 'PasskeyUsed', data: { person_id, passkey_id: passkeyId, counter } });
    }
    case 'RefusePasskey': {
      const passkey = known(command.passkeyId);
      return passkey && passkey.refused_at === undefined
        ? accept({ type: 'PasskeyRefused', data: { person_id, passkey_id: command.passkeyId } })
        : accept();
    }
    case 'RemovePasskey':
      return known(command.passkeyId)
        ? accept({ type: 'PasskeyRemoved', data: { person_id, passkey_id: command.passkeyId } })
        : accept();
    case 'LinkAccount':
      return accounts.some(({ issuer }) => issuer === command.account.issuer)
        ? accept()
        : accept({ type: 'AccountLinked', data: { person_id, ...command.account } });
    case 'UnlinkAccount':
      return accounts.some(({ issuer }) => issuer === command.issuer)
        ? accept({ type: 'AccountUnlinked', data: { person_id, issuer: command.issuer } })
        : accept();
  }
};

type ClaimCommand = { type: 'ClaimPerson'; personId: string };

/** Whose an account of an OpenID provider is: the first person's, for good. */
export const personClaim: Decider<
  EventData<'PersonClaimed'>,
  ClaimCommand,
  EventOf<PersonClaimEventType>,
  'claimed'
> = {
  evolve: (_state, { data }) => data,

  decide(state, { personId }) {
    if (!state) return accept({ type: 'PersonClaimed', data: { person_id: personId } });
    return state.person_id === personId ? accept() : reject('claimed', 'another person has it');
  },
};
