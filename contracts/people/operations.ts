/** Operations of people: at the desk, and on the pages where they sign in. The registries list them. */
import { z } from 'zod';
import {
  accessReason,
  deskCommand,
  deskQuery,
  EXAMPLE_AS_OF,
  EXAMPLE_AT,
} from '#contracts/desk-operation.ts';
import {
  asOf,
  before,
  compared,
  encrypted,
  id,
  limit,
  nextBefore,
  ownerId,
  time,
  unstored,
} from '#contracts/fields.ts';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';
import { LIMITS } from '#contracts/limits.ts';
import { mailbox } from '#contracts/mailbox.ts';
import { personName } from '#contracts/person.ts';
import { DESK_ROLE_NAMES } from '#contracts/scopes.ts';
import { actingAs, passkeyRecord, personRecord, sessionRecord } from './records.ts';

const personRef = id('per').describe('Id of the person');

const roles = z
  .array(z.enum(DESK_ROLE_NAMES))
  .min(1)
  .max(DESK_ROLE_NAMES.length)
  .describe('owner alone, or any of the others');
const owners = z
  .array(ownerId)
  .max(LIMITS.OWNERS_PER_PERSON_MAX)
  .default([])
  .describe('The promoters for whom an owner acts; none for the other roles');

const exampleOf = {
  id: 'per_4d5e6f7g8h9j0k1m2n3p4q5r',
  name: 'Ann Lee',
  status: 'invited',
  roles: ['staff'],
  owners: [],
  ways: ['mailed_link'],
  invited_by: 'the machine',
  invitation_expires_at: '2026-11-27T09:30:00.000Z',
  last_sign_in_at: null,
  created_at: EXAMPLE_AT,
};
const invited = personRecord.extend({
  invitation_url: z
    .string()
    .describe('Works once, and only until invitation_expires_at. Shown only in this answer'),
});
const exampleInvited = { ...exampleOf, invitation_url: 'https://t.example/invited/706572….9f…' };

const INVITERS = ['operator', 'owner'] as const;

const invitePerson = deskCommand({
  isSensitive: true,
  roles: INVITERS,
  path: '/people',
  status: 201,
  summary: 'Invite a person, who signs in by a link that is mailed and shown once',
  guidance:
    'An owner invites other owners of the same promoters; an operator invites anybody. One mailbox is one person, however it ' +
    `is spelled. The link works for ${LIMITS.MAILED_LINK_DAYS} days; after that, invite again. For 24 hours you and the person ` +
    'whom you invited do not count as two people where two must act.',
  fields: {
    name: personName.describe(
      'Name of the person, in letters of one script. It stays in records for good, and must not look like that of another person',
    ),
    mailbox: mailbox.describe('Where the person gets links to sign in'),
    roles,
    owners,
  },
  output: invited,
  example: {
    name: 'a person of staff',
    input: {
      idempotency_key: 'invite-ann',
      name: exampleOf.name,
      mailbox: 'ann@house.example',
      roles: ['staff'],
    },
    output: exampleInvited,
  },
});

const invitePersonAgain = deskCommand({
  isSensitive: true,
  roles: INVITERS,
  path: '/people/{person_id}/invite',
  summary: 'Invite a person again who has not signed in yet',
  guidance: 'The earlier link no longer works.',
  fields: { person_id: personRef },
  output: invited,
  example: {
    name: 'after a week',
    input: { idempotency_key: 'invite-ann-2', person_id: exampleOf.id },
    output: exampleInvited,
  },
});

const READERS = ['operator', 'staff', 'auditor', 'owner'] as const;

const listPeople = deskQuery({
  roles: READERS,
  path: '/people',
  summary: 'List people, newest first',
  guidance:
    'An owner sees the people of the same promoters only. Read the next page with next_before until it is null.',
  fields: {
    owner_id: ownerId.optional().describe('Only people who act for this promoter'),
    name: unstored.line(100).optional().describe('Only people whose name has words that begin so'),
    before,
    limit,
  },
  output: z.object({ data: z.array(personRecord), next_before: nextBefore, as_of: asOf }),
  example: {
    name: 'everybody',
    input: {},
    output: { data: [exampleOf], next_before: null, as_of: EXAMPLE_AS_OF },
  },
});

const readPerson = deskQuery({
  readsPersonalData: true,
  roles: INVITERS,
  path: '/people/{person_id}',
  summary: 'Show a person with the mailbox',
  guidance: 'Each call is recorded, because the answer has personal data.',
  fields: { person_id: personRef },
  output: personRecord.extend({ mailbox: z.string() }),
  example: {
    name: 'an invited person',
    input: { person_id: exampleOf.id },
    output: { ...exampleOf, mailbox: 'ann@house.example' },
  },
});

const changePersonRoles = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: ['operator'],
  path: '/people/{person_id}/roles',
  summary: 'Change what a person may do',
  guidance:
    'Replaces all roles and promoters. The sessions of the person end, and the next sign-in has the new roles. Nobody changes their own.',
  fields: { person_id: personRef, roles, owners, reason: accessReason },
  output: personRecord,
  example: {
    name: 'staff becomes an auditor',
    input: {
      idempotency_key: 'roles-ann',
      person_id: exampleOf.id,
      roles: ['auditor'],
      reason: 'Moved to audit',
    },
    output: { ...exampleOf, roles: ['auditor'] },
  },
});

const endPerson = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: INVITERS,
  path: '/people/{person_id}/end',
  summary:
    'End a person: sessions, tokens and logins of command lines stop working within a second',
  guidance:
    'The records of what the person did stay. The mailbox can be invited again, as the same person. An owner ends people of the same promoters only.',
  fields: { person_id: personRef, reason: accessReason },
  output: personRecord,
  example: {
    name: 'left the company',
    input: { idempotency_key: 'end-ann', person_id: exampleOf.id, reason: 'Left' },
    output: { ...exampleOf, status: 'ended', ways: [], reason: 'Left' },
  },
});

const exampleSession = {
  id: 's1B2c3D4e5F6',
  used_in: 'browser',
  way: 'mailed_link',
  device: 'Firefox on Linux',
  place: 'this machine',
  places: 1,
  started_at: EXAMPLE_AT,
  used_at: EXAMPLE_AT,
  expires_at: '2026-11-27T09:30:00.000Z',
  is_current: true,
};

const whoAmI = deskQuery({
  roles: DESK_ROLE_NAMES,
  path: '/me',
  summary: 'Show who acts: a person, the holder of a token, or the machine',
  guidance: 'Roles and promoters are those of now.',
  fields: {},
  output: actingAs,
  example: {
    name: 'a person of staff',
    input: {},
    output: {
      acts_as: 'person',
      id: exampleOf.id,
      name: exampleOf.name,
      roles: ['staff'],
      owners: [],
      session: exampleSession,
      passkeys: [],
      accounts: [],
    },
  },
});

const listSessions = deskQuery({
  roles: DESK_ROLE_NAMES,
  path: '/me/sessions',
  summary: 'List your sessions and logins of command lines that have not ended, newest first',
  guidance: 'A desk token has none.',
  fields: {},
  output: z.object({ data: z.array(sessionRecord), as_of: asOf }),
  example: {
    name: 'one browser',
    input: {},
    output: { data: [exampleSession], as_of: EXAMPLE_AS_OF },
  },
});

const sessionId = z
  .string()
  .regex(/^[0-9A-Za-z]{12}$/, { error: 'must be 12 letters and digits' })
  .describe('Id of the session');

const endSession = deskCommand({
  roles: DESK_ROLE_NAMES,
  path: '/me/sessions/{session_id}/end',
  summary: 'End one of your sessions or logins of command lines, within a second',
  guidance: 'Signing out ends the session that the call is made with.',
  fields: { session_id: sessionId },
  output: z.object({ id: z.string(), ended: z.literal(true) }),
  example: {
    name: 'a lost laptop',
    input: { idempotency_key: 'end-1', session_id: exampleSession.id },
    output: { id: exampleSession.id, ended: true },
  },
});

const userCode = unstored
  .line(40)
  .describe('The code that the command line shows, like BCDF-GHJK, in any spelling');

const deviceLogin = z.object({
  user_code: z.string(),
  status: z.enum(['open', 'allowed', 'denied']),
  device: z.string().describe('The machine, as the command names it'),
  place: z.string().describe('Its network, in words'),
  asked_at: time,
  expires_at: time,
});
const exampleLogin = {
  user_code: 'BCDF-GHJK',
  status: 'open',
  device: 'ann-laptop',
  place: 'the local network',
  asked_at: EXAMPLE_AT,
  expires_at: '2026-11-20T09:40:00.000Z',
};

const readDeviceLogin = deskQuery({
  isOnPage: true,
  readsPersonalData: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/device-logins/{user_code}',
  summary: 'Show which machine waits for a person to allow its command line',
  guidance: 'Only on the page /device, by a person who is signed in.',
  fields: { user_code: userCode },
  output: deviceLogin,
  example: {
    name: 'a laptop',
    input: { user_code: 'BCDF-GHJK' },
    output: exampleLogin,
  },
});

const allowDeviceLogin = deskCommand({
  isOnPage: true,
  isSensitive: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/device-logins/{user_code}/allow',
  summary: 'Sign the command line of a machine in, with your roles',
  guidance:
    'Only on the page /device, by a person who is signed in. Its login is one of your sessions.',
  fields: { user_code: userCode },
  output: deviceLogin,
  example: {
    name: 'a laptop',
    input: { idempotency_key: 'allow-1', user_code: 'BCDF-GHJK' },
    output: { ...exampleLogin, status: 'allowed' },
  },
});

const denyDeviceLogin = deskCommand({
  isOnPage: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/device-logins/{user_code}/deny',
  summary: 'Refuse to sign the command line of a machine in',
  guidance: 'Only on the page /device, by a person who is signed in.',
  fields: { user_code: userCode },
  output: deviceLogin,
  example: {
    name: 'an unknown machine',
    input: { idempotency_key: 'deny-1', user_code: 'BCDF-GHJK' },
    output: { ...exampleLogin, status: 'denied' },
  },
});

/** Bytes of a credential id in base64url. */
const passkeyId = z
  .string()
  .regex(/^[\w-]{1,1400}$/, { error: 'must be letters, digits, - and _' })
  .describe('Id of the passkey');

const offerPasskey = deskQuery({
  isOnPage: true,
  isSensitive: true,
  problems: [
    'role_missing',
    'parameter_invalid',
    'resource_not_found',
    'fresh_sign_in_needed',
    'state_conflict',
  ],
  roles: DESK_ROLE_NAMES,
  path: '/me/passkeys/offer',
  summary: 'Show what a browser needs to make a passkey for you',
  guidance: `For your session in this browser, for ${LIMITS.PASSKEY_MINUTES} minutes. addPasskey takes the answer of the browser.`,
  fields: {},
  output: z.object({
    asked: z.string().describe('Send it to addPasskey with the answer'),
    options: z.looseObject({}).describe('For navigator.credentials.create(), in JSON'),
  }),
  example: {
    name: 'in a browser',
    input: {},
    output: { asked: 'x…', options: { challenge: 'q…' } },
  },
});

const addPasskey = deskCommand({
  isOnPage: true,
  isSensitive: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/passkeys',
  status: 201,
  summary: 'Add a passkey, with which you sign in without a mailed link',
  guidance: `At most ${LIMITS.PASSKEYS_PER_PERSON_MAX} for each person, and only from a browser in which you are signed in.`,
  fields: {
    asked: unstored.line(200).describe('From offerPasskey'),
    answer: unstored.text(20_000).describe('The answer of the browser, as JSON text'),
    name: encrypted.line(60).describe('What you call it'),
  },
  output: passkeyRecord,
  example: {
    name: 'a laptop',
    input: {
      idempotency_key: 'add-1',
      asked: 'x…',
      answer: '{"id":"q83vEjRWeJA",…}',
      name: 'Laptop',
    },
    output: { id: 'q83vEjRWeJA', name: 'Laptop' },
  },
});

const removePasskey = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/passkeys/{passkey_id}/remove',
  summary: 'Remove one of your passkeys: it no longer signs in',
  guidance: 'Sessions that began with it go on; end them, too, if the device is lost.',
  fields: { passkey_id: passkeyId },
  output: z.object({ id: z.string(), removed: z.literal(true) }),
  example: {
    name: 'a lost laptop',
    input: { idempotency_key: 'remove-1', passkey_id: 'q83vEjRWeJA' },
    output: { id: 'q83vEjRWeJA', removed: true },
  },
});

const offerAccountLink = deskQuery({
  isOnPage: true,
  isSensitive: true,
  problems: [
    'role_missing',
    'parameter_invalid',
    'resource_not_found',
    'fresh_sign_in_needed',
    'overloaded',
  ],
  roles: DESK_ROLE_NAMES,
  path: '/me/accounts/offer',
  summary: 'Show where your browser goes to link your account of the OpenID provider',
  guidance: `For your session in this browser, for ${LIMITS.SIGN_IN_MINUTES} minutes. linkAccount takes the answer of the provider.`,
  fields: {},
  output: z.object({
    asked: z.string().describe('Send it to linkAccount with the answer'),
    url: z.string().describe('Address of the provider'),
  }),
  example: {
    name: 'in a browser',
    input: {},
    output: { asked: 'x…', url: 'https://id.house.example/auth?…' },
  },
});

const linkAccount = deskCommand({
  isOnPage: true,
  isSensitive: true,
  problems: ['overloaded'],
  roles: DESK_ROLE_NAMES,
  path: '/me/accounts',
  status: 201,
  summary: 'Link your account of the OpenID provider, with which you sign in without a mailed link',
  guidance:
    'At most one account of a provider, and only from a browser in which you are signed in. An account that is that of ' +
    'another person, or has the mailbox of one, is refused.',
  fields: {
    asked: unstored.line(200).describe('From offerAccountLink'),
    answer: unstored
      .text(8_000)
      .describe('The query with which the provider sent the browser back'),
  },
  output: z.object({ issuer: z.string() }),
  example: {
    name: 'an account',
    input: { idempotency_key: 'link-1', asked: 'x…', answer: '?code=…&state=…' },
    output: { issuer: 'https://id.house.example' },
  },
});

const unlinkAccount = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: DESK_ROLE_NAMES,
  path: '/me/accounts/unlink',
  summary: 'Unlink your account of an OpenID provider: it no longer signs in',
  guidance: 'Sign in with a mailed link or a passkey. You alone can link it again.',
  fields: { issuer: unstored.line(500).describe('Issuer of the account, from whoAmI') },
  output: z.object({ issuer: z.string(), unlinked: z.literal(true) }),
  example: {
    name: 'an account',
    input: { idempotency_key: 'unlink-1', issuer: 'https://id.house.example' },
    output: { issuer: 'https://id.house.example', unlinked: true },
  },
});

export const peopleDeskOperations = {
  allowDeviceLogin,
  addPasskey,
  changePersonRoles,
  denyDeviceLogin,
  endPerson,
  endSession,
  invitePerson,
  invitePersonAgain,
  listPeople,
  listSessions,
  readDeviceLogin,
  linkAccount,
  offerAccountLink,
  offerPasskey,
  readPerson,
  removePasskey,
  unlinkAccount,
  whoAmI,
};

/*
 * How a person comes to a session. The credential is the token of a link, or the cookie of the browser that asked for one. No
 * interface of agents or of the desk offers these operations.
 */

const act = holderActs([...LINK_PROBLEMS, 'state_conflict']);

/** The browser or command that asks, as its person sees it later. */
const client = {
  /** The client's address; its network is stored, sealed. */
  address: compared,
  device: encrypted.line(200),
};
const started = z.looseObject({ credential: z.string() });
/** The events of a sign-in that is the person's first one, or the next. */
const SIGN_IN = [
  'AccountLinked',
  'PasskeyUsed',
  'PersonClaimed',
  'PersonJoined',
  'PersonRecognized',
  'SessionEnded',
  'SessionStarted',
] as const;

export const signInOperations = {
  /** Mails a link if the mailbox is that of a person. The answer and its delay are the same for every mailbox. */
  startSignIn: act(
    { mailbox: compared, address: compared, browser: compared, to: compared.optional() },
    z.object({ sent: z.literal(true) }),
    ['SignInStarted', 'MailQueued'],
  ),
  /** Shows whose link it is, and the code for another browser. Changes nothing. */
  readSignIn: holderView({ browser: compared.optional() }, z.looseObject({ name: z.string() })),
  /** Starts the session of a mailed or printed link, once. */
  useSignIn: act(
    { browser: compared.optional(), replaces: compared.optional(), ...client },
    started,
    [...SIGN_IN, 'SignInUsed'],
  ),
  /** Starts the session of a link that was opened elsewhere, with the code that is shown there. */
  enterSignInCode: act(
    { browser: compared, code: compared, replaces: compared.optional(), ...client },
    started,
    [...SIGN_IN, 'SignInUsed', 'SignInCodeRefused'],
  ),
  /** Shows who invites whom as what. Changes nothing. */
  readInvitation: holderView({}, z.looseObject({ name: z.string() })),
  /** Starts the first session of an invited person, once. */
  acceptInvitation: act({ replaces: compared.optional(), ...client }, started, SIGN_IN),
  /** Begins the login of a command line, which a person allows on the page /device. */
  startDeviceLogin: act(
    client,
    z.object({
      device_code: z.string(),
      user_code: z.string(),
      interval: z.int(),
      expires_in: z.int(),
    }),
    ['DeviceLoginStarted'],
  ),
  /** Answers the token, once a person has allowed it; its device code is the credential. A lost answer can be asked for again. */
  pollDeviceLogin: holderView(
    {},
    z.object({
      status: z.enum(['pending', 'denied', 'expired', 'allowed']),
      token: z.string().optional(),
    }),
  ),
  /** Shows what a browser needs to ask for a passkey: nothing of any person. */
  askForPasskey: holderView({ address: compared }, z.looseObject({ asked: z.string() })),
  /** Starts the session of a person by a passkey. The credential is the cookie of the browser that asked for one. */
  usePasskey: act(
    { answer: compared, to: compared.optional(), replaces: compared.optional(), ...client },
    started,
    [...SIGN_IN, 'PasskeyRefused'],
  ),
  /** Begins a sign-in at the OpenID provider: where the browser goes. Nothing of any person. */
  askForOpenId: holderView(
    { address: compared },
    z.looseObject({ asked: z.string(), url: z.string() }),
  ),
  /** Starts the session of the person of an account. The credential is the cookie of the browser that began. */
  useOpenId: act(
    { query: compared, to: compared.optional(), replaces: compared.optional(), ...client },
    started,
    SIGN_IN,
  ),
};
