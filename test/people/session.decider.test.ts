/** How a session starts, is used and ends, and what leads to one: links, codes, and logins of command lines. */
import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { deviceLogin, session, signIn } from '#src/people/session.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const person_id = 'per_1';
const session_id = 'ses_1';

describe('A session', () => {
  const facts: EventData<'SessionStarted'> = {
    session_id,
    person_id,
    used_in: 'browser',
    way: 'mailed_link',
    hash: 'h',
    expires_at: 9_000,
    rights: 3,
    sealed_client: 'sealed',
    place_key: 'home',
  };
  const started = { type: 'SessionStarted' as const, data: facts };
  const from = (place_key: string) => ({ sealed_client: `sealed ${place_key}`, place_key });
  const used = (place_key: string) => ({
    type: 'SessionUsed' as const,
    data: { session_id, person_id, ...from(place_key) },
  });
  const ended = (by: EventData<'SessionEnded'>['by']) => ({
    type: 'SessionEnded' as const,
    data: { session_id, person_id, by },
  });
  const start = { type: 'StartSession' as const, session: facts };
  const use = (place_key: string) => ({ type: 'UseSession' as const, client: from(place_key) });
  const end = (by: EventData<'SessionEnded'>['by']) => ({ type: 'EndSession' as const, by });
  const spec = specify(session);

  it('A session starts once, and its start counts as its first use', () => {
    expect(spec.given().when(start).then(started)).toEqual({
      ...facts,
      status: 'active',
      started_at: 1_000,
      used_at: 1_000,
      places: ['home'],
      version: 0,
    });
    spec.given(started).when(start).rejected('session_exists', 'the session exists');
    spec.given(started, ended('person')).when(start).rejected('session_exists');
  });

  it('Each use of an active session is recorded with the client and the place', () => {
    const uses = { accepted: true, events: [used('work')] };
    expect(session.decide(spec.given(started).state, use('work'))).toEqual(uses);
    expect(session.decide(spec.given(started, used('work')).state, use('work'))).toEqual(uses);
    expect(spec.given(started, used('work'), used('train')).state).toEqual({
      ...facts,
      ...from('train'),
      status: 'active',
      started_at: 1_000,
      used_at: 1_002,
      places: ['home', 'work', 'train'],
      version: 2,
    });
  });

  it('A place where a session is used again becomes its newest place', () => {
    const { state } = spec.given(started, used('work'), used('home'));
    expect(state?.places).toEqual(['work', 'home']);
    expect(spec.given(started, used('home')).state?.places).toEqual(['home']);
  });

  it('A session keeps its 20 newest places', () => {
    const more = Array.from({ length: 20 }, (_, i) => `place ${i}`);
    const others = more.slice(0, -1);
    expect(spec.given(started, ...others.map(used)).state?.places).toEqual(['home', ...others]);
    expect(spec.given(started, ...more.map(used)).state?.places).toEqual(more);
  });

  it('A session ends once, and keeps who ended it first', () => {
    const after = spec.given(started, used('work')).when(end('sign_out')).then(ended('sign_out'));
    expect(after).toEqual({
      ...facts,
      ...from('work'),
      status: 'ended',
      ended_by: 'sign_out',
      started_at: 1_000,
      used_at: 1_001,
      places: ['home', 'work'],
      version: 2,
    });
    spec.given(started, ended('replaced')).when(end('replaced')).then();
    spec.given(started, ended('replaced')).when(end('person')).then();
  });

  it('A session that never started or has ended is not used', () => {
    spec.given().when(use('work')).rejected('session_over', 'no such session');
    spec
      .given(started, ended('person'))
      .when(use('work'))
      .rejected('session_over', 'the session has ended');
  });

  it('A session that never started does not end', () => {
    spec.given().when(end('person')).rejected('session_over', 'no such session');
  });

  it('A session rejects the events of one that never started', () => {
    for (const event of [used('work'), ended('person')])
      expect(() => session.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} of a session that was never started`,
      );
  });
});

describe('A link to sign in', () => {
  const sign_in_id = 'sgn_1';
  const facts: EventData<'SignInStarted'> = {
    sign_in_id,
    sealed_for: 'psn_1',
    sealed_mailbox: 'sealed',
    browser: 'b',
    to: '/leads',
    expires_at: 5_000,
  };
  const started = { type: 'SignInStarted' as const, data: facts };
  const refused = { type: 'SignInCodeRefused' as const, data: { sign_in_id } };
  const used = { type: 'SignInUsed' as const, data: { sign_in_id, person_id, session_id } };
  const use = (at: number, max = 3) => ({
    type: 'UseSignIn' as const,
    at,
    max,
    personId: person_id,
    sessionId: session_id,
  });
  const refuse = (at: number, max = 3) => ({ type: 'RefuseCode' as const, at, max });
  const spec = specify(signIn);

  it('A link to sign in opens with the facts of who asked for it', () => {
    expect(signIn.decide(undefined, { type: 'StartSignIn', signIn: facts })).toEqual({
      accepted: true,
      events: [started],
    });
    expect(spec.given(started).state).toEqual({ ...facts, status: 'open', refused: 0 });
  });

  it('A link to sign in works once', () => {
    const after = spec.given(started).when(use(2_000)).then(used);
    expect(after).toEqual({ ...facts, status: 'used', refused: 0 });
    spec
      .given(started, used)
      .when(use(2_000))
      .rejected('sign_in_over', 'the link was used, or is over');
    spec
      .given(started, used)
      .when(refuse(2_000))
      .rejected('sign_in_over', 'the link was used, or is over');
  });

  it('A link to sign in works until the moment when it expires', () => {
    spec.given(started).when(use(4_999)).then(used);
    for (const at of [5_000, 5_001]) {
      spec.given(started).when(use(at)).rejected('sign_in_over', 'the link was used, or is over');
      spec.given(started).when(refuse(at)).rejected('sign_in_over', 'the link was used');
    }
  });

  it('A link that was never made signs no person in', () => {
    spec.given().when(use(2_000)).rejected('sign_in_over', 'the link was used, or is over');
    spec.given().when(refuse(2_000)).rejected('sign_in_over', 'the link was used, or is over');
  });

  it('Wrong codes of a link are counted until there are too many', () => {
    const counts = { accepted: true, events: [refused] };
    expect(signIn.decide(spec.given(started).state, refuse(4_999))).toEqual(counts);
    const { state } = spec.given(started, refused, refused);
    expect(state).toEqual({ ...facts, status: 'open', refused: 2 });
    expect(signIn.decide(state, refuse(2_000))).toEqual(counts);
    for (const max of [3, 2])
      for (const command of [refuse(2_000, max), use(2_000, max)])
        spec
          .given(started, refused, refused, refused)
          .when(command)
          .rejected('sign_in_over', 'too many wrong codes were typed');
  });

  it('A link keeps its count of wrong codes when it is used', () => {
    const after = spec.given(started, refused).when(use(2_000)).then(used);
    expect(after).toEqual({ ...facts, status: 'used', refused: 1 });
  });

  it('A link to sign in rejects the events of one that was never made', () => {
    for (const event of [refused, used])
      expect(() => signIn.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} of a link that was never made`,
      );
  });
});

describe('The login of a command line', () => {
  const login_id = 'dvl_1';
  const facts = { login_id, sealed_client: 'sealed', expires_at: 5_000 };
  const started = { type: 'DeviceLoginStarted' as const, data: facts };
  const allowed = {
    type: 'DeviceLoginAllowed' as const,
    data: { login_id, person_id, session_id },
  };
  const denied = { type: 'DeviceLoginDenied' as const, data: { login_id, person_id } };
  const start = { type: 'StartLogin' as const, login: facts };
  const allow = (at: number) => ({
    type: 'AllowLogin' as const,
    at,
    personId: person_id,
    sessionId: session_id,
  });
  const deny = (at: number) => ({ type: 'DenyLogin' as const, at, personId: person_id });
  const open = { ...facts, status: 'open', started_at: 1_000 };
  const over = ['login_over', 'the login was answered, or is over'] as const;
  const spec = specify(deviceLogin);

  it('The login of a command line is asked for once', () => {
    expect(spec.given().when(start).then(started)).toEqual(open);
    for (const history of [[started], [started, allowed], [started, denied]])
      spec
        .given(...history)
        .when(start)
        .rejected('login_exists', 'the login exists');
  });

  it('A person allows the login of a command line, which then has a session', () => {
    const after = spec.given(started).when(allow(2_000)).then(allowed);
    expect(after).toEqual({ ...open, status: 'allowed', person_id, session_id });
  });

  it('A person denies the login of a command line, which then has no session', () => {
    const after = spec.given(started).when(deny(2_000)).then(denied);
    expect(after).toEqual({ ...open, status: 'denied', person_id });
  });

  it('The login of a command line is answered once', () => {
    for (const answer of [allowed, denied]) {
      const login = spec.given(started, answer);
      login.when(allow(2_000)).rejected(...over);
      login.when(deny(2_000)).rejected(...over);
    }
  });

  it('The login of a command line can be answered until the moment when it expires', () => {
    const login = spec.given(started);
    login.when(allow(4_999)).then(allowed);
    login.when(deny(4_999)).then(denied);
    for (const at of [5_000, 5_001]) {
      login.when(allow(at)).rejected(...over);
      login.when(deny(at)).rejected(...over);
    }
  });

  it('A login that was never asked for is neither allowed nor denied', () => {
    spec
      .given()
      .when(allow(2_000))
      .rejected(...over);
    spec
      .given()
      .when(deny(2_000))
      .rejected(...over);
    for (const event of [allowed, denied])
      expect(() => deviceLogin.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} of a login that was never asked for`,
      );
  });
});
