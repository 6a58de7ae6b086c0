/** How a person comes to a session, and the session itself: links, codes, and logins of command lines. */
import type {
  DeviceLoginEventType,
  EventData,
  EventOf,
  SessionEventType,
  SignInEventType,
} from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type SessionEvent = EventOf<SessionEventType>;
type Started = EventData<'SessionStarted'>;
type UsedFrom = Pick<Started, 'sealed_client' | 'place_key'>;

export type SessionCommand =
  | { type: 'StartSession'; session: Started }
  | { type: 'UseSession'; client: UsedFrom }
  | { type: 'EndSession'; by: EventData<'SessionEnded'>['by'] };

export type SessionState = Started & {
  status: 'active' | 'ended';
  ended_by?: EventData<'SessionEnded'>['by'];
  started_at: number;
  /** The last recorded use, in epoch milliseconds: later ones within half an hour are not. */
  used_at: number;
  /** The keys of the places where it was used, the newest last. */
  places: string[];
  /** Revision of the last event. */
  version: number;
};

/** A session that was used in many places keeps the newest ones. */
const PLACES_MAX = 20;

export const session: Decider<
  SessionState,
  SessionCommand,
  SessionEvent,
  'session_exists' | 'session_over'
> = {
  evolve(state, event) {
    if (event.type === 'SessionStarted')
      return {
        ...event.data,
        status: 'active',
        started_at: event.at,
        used_at: event.at,
        places: [event.data.place_key],
        version: 0,
      };
    if (!state) throw new Error(`${event.type} of a session that was never started`);
    const next = { ...state, version: state.version + 1 };
    if (event.type === 'SessionEnded') return { ...next, status: 'ended', ended_by: event.data.by };
    const { sealed_client, place_key } = event.data;
    const others = state.places.filter((key) => key !== place_key);
    const places = [...others, place_key].slice(-PLACES_MAX);
    return { ...next, sealed_client, place_key, used_at: event.at, places };
  },

  decide(state, command) {
    if (command.type === 'StartSession')
      return state
        ? reject('session_exists', 'the session exists')
        : accept({ type: 'SessionStarted', data: command.session });
    if (!state) return reject('session_over', 'no such session');
    const { session_id, person_id } = state;
    if (command.type === 'EndSession')
      return state.status === 'ended'
        ? accept()
        : accept({ type: 'SessionEnded', data: { session_id, person_id, by: command.by } });
    return state.status === 'ended'
      ? reject('session_over', 'the session has ended')
      : accept({ type: 'SessionUsed', data: { session_id, person_id, ...command.client } });
  },
};

type SignInEvent = EventOf<SignInEventType>;

export type SignInCommand =
  | { type: 'StartSignIn'; signIn: EventData<'SignInStarted'> }
  | { type: 'RefuseCode'; at: number; max: number }
  | { type: 'UseSignIn'; at: number; max: number; personId: string; sessionId: string };

export type SignInState = EventData<'SignInStarted'> & {
  status: 'open' | 'used';
  /** Wrong codes that were typed. */
  refused: number;
};

/** A link to sign in: it works once, until it expires, and until too many wrong codes were typed. */
export const signIn: Decider<SignInState, SignInCommand, SignInEvent, 'sign_in_over'> = {
  evolve(state, event) {
    if (event.type === 'SignInStarted') return { ...event.data, status: 'open', refused: 0 };
    if (!state) throw new Error(`${event.type} of a link that was never made`);
    return event.type === 'SignInUsed'
      ? { ...state, status: 'used' }
      : { ...state, refused: state.refused + 1 };
  },

  decide(state, command) {
    if (command.type === 'StartSignIn')
      return accept({ type: 'SignInStarted', data: command.signIn });
    if (state?.status !== 'open' || command.at >= state.expires_at)
      return reject('sign_in_over', 'the link was used, or is over');
    const { sign_in_id, refused } = state;
    // Also for the right code: codes that arrive together are all compared before one of them is counted.
    if (refused >= command.max) return reject('sign_in_over', 'too many wrong codes were typed');
    if (command.type === 'RefuseCode')
      return accept({ type: 'SignInCodeRefused', data: { sign_in_id } });
    const { personId: person_id, sessionId: session_id } = command;
    return accept({ type: 'SignInUsed', data: { sign_in_id, person_id, session_id } });
  },
};

type DeviceLoginEvent = EventOf<DeviceLoginEventType>;

export type DeviceLoginCommand =
  | { type: 'StartLogin'; login: EventData<'DeviceLoginStarted'> }
  | { type: 'AllowLogin'; at: number; personId: string; sessionId: string }
  | { type: 'DenyLogin'; at: number; personId: string };

export type DeviceLoginState = EventData<'DeviceLoginStarted'> & {
  status: 'open' | 'allowed' | 'denied';
  person_id?: string;
  session_id?: string;
  started_at: number;
};

/** The login of a command line: the person who types its code allows or denies it, once. */
export const deviceLogin: Decider<
  DeviceLoginState,
  DeviceLoginCommand,
  DeviceLoginEvent,
  'login_exists' | 'login_over'
> = {
  evolve(state, event) {
    if (event.type === 'DeviceLoginStarted')
      return { ...event.data, status: 'open', started_at: event.at };
    if (!state) throw new Error(`${event.type} of a login that was never asked for`);
    const { person_id } = event.data;
    return event.type === 'DeviceLoginAllowed'
      ? { ...state, status: 'allowed', person_id, session_id: event.data.session_id }
      : { ...state, status: 'denied', person_id };
  },

  decide(state, command) {
    if (command.type === 'StartLogin')
      return state
        ? reject('login_exists', 'the login exists')
        : accept({ type: 'DeviceLoginStarted', data: command.login });
    if (state?.status !== 'open' || command.at >= state.expires_at)
      return reject('login_over', 'the login was answered, or is over');
    const { login_id } = state;
    const { personId: person_id } = command;
    return command.type === 'AllowLogin'
      ? accept({
          type: 'DeviceLoginAllowed',
          data: { login_id, person_id, session_id: command.sessionId },
        })
      : accept({ type: 'DeviceLoginDenied', data: { login_id, person_id } });
  },
};
