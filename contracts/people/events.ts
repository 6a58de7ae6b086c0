/** Events of people who sign in, their sessions, and the ways in. All are in streams of the desk. */
import { z } from 'zod';
import { mailboxKeys, sealed } from '#contracts/event-fields.ts';

const person_id = z.string();

/** Roles of a person. `owners`: the promoters for whom an owner acts; empty for people of the service. */
const rights = { roles: z.array(z.string()), owners: z.array(z.string()) };

/** Where the person gets links. `sealed_for`: the subject whose erasure makes it unreadable. */
const mailbox = { sealed_for: z.string(), sealed_mailbox: sealed, mailbox_keys: mailboxKeys };

/** A link that works once, until `expires_at` in epoch milliseconds. */
const invitation = z.object({ invitation_id: z.string(), expires_at: z.number() });

/** Another person, or the machine, invited a person; one who was ended comes back so, as the same person. */
const PersonInvited = z.object({
  person_id,
  /** As in desk tokens: records name for good who did what. */
  name: z.string(),
  ...mailbox,
  ...rights,
  /** The actor of the event, for folds. */
  invited_by: z.string(),
  invitation,
});

/** Somebody whom nobody invited signed in for the first time: as the owner of a promoter, or with an OpenID account. */
const PersonRecognized = z.object({
  person_id,
  name: z.string(),
  ...mailbox,
  ...rights,
  /** What they proved: the confirmed mailbox of a promoter, or an account of the configured OpenID provider. */
  by: z.enum(['owner_mailbox', 'openid']),
});

/** The invitation before this one no longer works. */
const PersonInvitedAgain = z.object({ person_id, invitation });

/** An invited person signed in for the first time. */
const PersonJoined = z.object({ person_id });

const PersonRolesChanged = z.object({ person_id, ...rights, reason: z.string() });

/** `erased`: the subject whose key was destroyed, where the person asked for that. */
const PersonEnded = z.object({ person_id, reason: z.string(), erased: z.string().optional() });

/** A key that an authenticator made for this service. */
const PasskeyAdded = z.object({
  person_id,
  /** Its credential id, in base64url. */
  passkey_id: z.string(),
  /** The public key in COSE, in base64url. */
  public_key: z.string(),
  counter: z.number(),
  transports: z.array(z.string()),
  /** What the person calls it. */
  sealed_name: sealed,
});

/** The authenticator counted on, which a copy of it does not know. */
const PasskeyUsed = z.object({ person_id, passkey_id: z.string(), counter: z.number() });

/** The counter of a passkey did not rise, so that there may be a copy of it. Recorded once. */
const PasskeyRefused = z.object({ person_id, passkey_id: z.string() });

const PasskeyRemoved = z.object({ person_id, passkey_id: z.string() });

/** An account of an OpenID provider is one of the person's ways in. */
const AccountLinked = z.object({ person_id, issuer: z.string(), sealed_subject: sealed });

const AccountUnlinked = z.object({ person_id, issuer: z.string() });

export const personEvents = {
  AccountLinked,
  AccountUnlinked,
  PasskeyAdded,
  PasskeyRefused,
  PasskeyRemoved,
  PasskeyUsed,
  PersonEnded,
  PersonInvited,
  PersonInvitedAgain,
  PersonJoined,
  PersonRecognized,
  PersonRolesChanged,
};

// In streams `claims-account_{hash of issuer and subject}`.

/** The account of an OpenID provider is that of this person for good. */
const PersonClaimed = z.object({ person_id });

export const personClaimEvents = { PersonClaimed };

/** Where a session is used, as JSON: the device and the place in words. */
const client = { sealed_client: sealed, place_key: z.string() };

/** The secret of the session is never stored: `hash` is HMAC-SHA-256 with a key of the keyring, whose newest generation alone counts. */
const SessionStarted = z.object({
  session_id: z.string(),
  person_id,
  /** `browser`: in a cookie, for pages. `command_line`: a token, for the desk. */
  used_in: z.enum(['browser', 'command_line']),
  way: z.enum(['mailed_link', 'invitation', 'printed_link', 'passkey', 'openid', 'device']),
  hash: z.string(),
  /** Epoch milliseconds. */
  expires_at: z.number(),
  /** The number of the person's rights that it began with: it ends when they change. */
  rights: z.number(),
  ...client,
});

/** Recorded once in a while, and for each new place. */
const SessionUsed = z.object({ session_id: z.string(), person_id, ...client });

const SessionEnded = z.object({
  session_id: z.string(),
  person_id,
  /** `replaced`: the person signed in again in the same browser. */
  by: z.enum(['sign_out', 'person', 'replaced']),
});

export const sessionEvents = { SessionEnded, SessionStarted, SessionUsed };

/** Somebody asked for a link to sign in, which is mailed, or the service printed one. */
const SignInStarted = z.object({
  sign_in_id: z.string(),
  /** The subject whose erasure makes the mailbox unreadable. */
  sealed_for: z.string(),
  sealed_mailbox: sealed,
  /** Keyed hash of the cookie of the browser that asked; without it, the link works anywhere. */
  browser: z.string().optional(),
  /** The page to go on with. */
  to: z.string().optional(),
  expires_at: z.number(),
});

/** A wrong code was typed in the browser that asked. */
const SignInCodeRefused = z.object({ sign_in_id: z.string() });

const SignInUsed = z.object({ sign_in_id: z.string(), person_id, session_id: z.string() });

export const signInEvents = { SignInCodeRefused, SignInStarted, SignInUsed };

/** A command line asked for the token of a person. */
const DeviceLoginStarted = z.object({
  login_id: z.string(),
  /** Where the command runs, as JSON: the name of the machine and the place in words. */
  sealed_client: sealed,
  expires_at: z.number(),
});

const DeviceLoginAllowed = z.object({ login_id: z.string(), person_id, session_id: z.string() });

const DeviceLoginDenied = z.object({ login_id: z.string(), person_id });

export const deviceLoginEvents = { DeviceLoginAllowed, DeviceLoginDenied, DeviceLoginStarted };
