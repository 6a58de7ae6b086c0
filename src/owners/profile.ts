/** The profile of an owner: set by the owner or by staff, with a mailbox that its holder confirms. */
import { LIMITS } from '#contracts/limits.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { resolveTarget } from '#src/catalog/products.ts';
import type { Append } from '#src/ports/event-log.ts';
import { openRecord } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys } from '#src/sealing/suppression.ts';
import { linkToken, queueMail, type MailKind, type Letter } from '#src/sending/mail.ts';
import type { Call, DeskCall } from '#src/shared/call.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import { isSameAddress } from '#src/shared/mailbox.ts';
import { done, isRefusal, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import {
  issue,
  type RejectedBy,
  changeRecord,
  type CommandFrom,
} from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/streams.ts';
import type { EventWriter } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import {
  ownerProfile,
  type ProfileCommand,
  type ProfileRejection,
  type ProfileState,
} from './profile.decider.ts';

/**
 * How long the mailed link that confirms the mailbox of an owner's profile works after the profile was set. A later
 * profile voids it.
 */
export const MAILED_LINK_MS = LIMITS.MAILED_LINK_DAYS * DAY_MS;

export const mailboxPath = (token: string): string => `/mailbox/${token}`;

/** What the link to the profile with the subject `sealedFor` is about. */
export const aboutMailbox = (ownerId: string, sealedFor: string) => ({
  subject: ownerId,
  version: sealedFor,
});

/** Makes the append of the message with the link for a profile that the call sets for its owner. */
const mailMailboxLink = (
  deps: Pick<Deps, 'ids' | 'vault' | 'secrets'>,
  call: Call,
  { sealedFor, to }: { sealedFor: string; to: string },
): Promise<Append[]> => {
  const token = linkToken(deps.secrets, aboutMailbox(call.ownerId, sealedFor));
  const facts = { path: mailboxPath(token), until: call.at + MAILED_LINK_MS };
  return queueMail(deps, call, { kind: 'owner_mailbox', sealedFor, to, facts });
};

type Profile = { name: string; postal_address: string; mailbox: string };

const NO_PROFILE = refuse('resource_not_found', 'The owner has no profile.');
const KEY_LOST = refuse(
  'state_conflict',
  'The key of the profile is lost, so its mailbox cannot be compared. Set the profile again.',
);
const OTHER_MAILBOX = refuse(
  'state_conflict',
  'The profile has another mailbox. Read it, and check that one.',
);

export const profileStream = (ownerId: string): string => `${ownerId}-owner_profile`;

/** Opens a profile for display: a text instead of a profile says that its key is lost. */
const shownProfile = async ({ vault }: Pick<Deps, 'vault'>, state: ProfileState | undefined) =>
  state?.status === 'set' ? openRecord<Profile>(vault, state.sealed_profile) : undefined;

export const openProfile = async (
  deps: Pick<Deps, 'vault'>,
  state: ProfileState | undefined,
): Promise<Profile | undefined> => {
  const profile = await shownProfile(deps, state);
  return typeof profile === 'string' ? undefined : profile;
};

/** Reads the profile of an owner from the log; undefined if it was never set. */
export const readProfile = (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
): Promise<ProfileState | undefined> =>
  stateOf(deps, { stream: profileStream(ownerId), decider: ownerProfile });

/** Reads the mailbox for notices to an owner, and the subject of its seal; undefined unless it is confirmed. */
const confirmedMailbox = async (
  deps: Pick<Deps, 'log' | 'vault'>,
  ownerId: string,
): Promise<{ mailbox: string; sealedFor: string } | undefined> => {
  const state = await readProfile(deps, ownerId);
  if (state?.confirmed_at === undefined) return undefined;
  const profile = await openProfile(deps, state);
  return profile && { mailbox: profile.mailbox, sealedFor: state.sealed_for };
};

/** Opens the profile that is sealed for a subject, for display; undefined if it was erased, removed or replaced. */
export const profileOf = async (
  deps: Pick<Deps, 'log' | 'vault'>,
  ownerId: string,
  subject: string,
) => {
  const state = await readProfile(deps, ownerId);
  return state?.sealed_for === subject ? shownProfile(deps, state) : undefined;
};

const changeProfile = (
  deps: EventWriter,
  call: Call,
  { ownerId, command }: { ownerId: string; command: CommandFrom<ProfileState, ProfileCommand> },
) =>
  changeRecord(deps, call, {
    ownerId,
    stream: profileStream(ownerId),
    decider: ownerProfile,
    command,
    refusal: (rejection: RejectedBy<ProfileRejection>) => refuseRejected(rejection, NO_PROFILE),
    render: ({ confirmed_at, updated_at }) => ({
      owner_id: ownerId,
      mailbox_confirmed: confirmed_at !== undefined,
      updated_at: iso(updated_at),
    }),
  });

/** Makes the subject of the questions of recorded answers at the first use, and after a removal, which destroys its key. */
const answersOf = (
  { ids }: Pick<Deps, 'ids'>,
  choice: 'on' | 'off' | undefined,
  state: ProfileState | undefined,
): Pick<ProfileState, 'answers'> => {
  const before = state?.status === 'set' ? state.answers : undefined;
  if (choice === undefined) return present({ answers: before });
  if (choice === 'off' && !before) return {};
  const sealed_for = before?.sealed_for ?? `ans_${ids.uuid().replaceAll('-', '')}`;
  return { answers: { sealed_for, are_recorded: choice === 'on' } };
};

/** Destroys the keys of a profile that is removed. */
const forgetAll = async (deps: Pick<Deps, 'vault'>, before: ProfileState | undefined) => {
  if (before?.answers) await deps.vault.destroy(before.answers.sealed_for);
  await forget(deps, before);
};

/** Destroys the key of a profile that is not the present one. */
const forget = async (
  { vault }: Pick<Deps, 'vault'>,
  before: ProfileState | undefined,
): Promise<void> => {
  if (before) await vault.destroy(before.sealed_for);
};

const SET_BY_STAFF = refuseField(
  '/attribution_days',
  'not_allowed',
  'is set by staff: leave it out',
);

/** How long clicks are attributed under a profile that is set: what only staff change. */
const attributionDays = (
  { caller }: DeskCall,
  given: number | undefined,
  state: ProfileState | undefined,
): number | undefined | Refusal => {
  if (caller.roles.has('staff')) return given;
  const present = state?.attribution_days;
  return given === undefined || given === (present ?? LIMITS.ATTRIBUTION_DAYS)
    ? present
    : SET_BY_STAFF;
};

export const setOwnerProfile: DeskHandler<'setOwnerProfile'> = async (deps, input, call) => {
  const { owner_id: ownerId, name, postal_address, mailbox } = input;
  const { stale_stock_days } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const reserved = refuseHouseNames(deps, { '/owner_id': ownerId, '/name': name });
  if (reserved) return reserved;
  const subject = `own_${deps.ids.uuid().replaceAll('-', '')}`;
  let before: ProfileState | undefined;
  const outcome = await changeProfile(deps, call, {
    ownerId,
    async command(state) {
      before = state;
      const fallback = input.fallback && resolveTarget(deps, input.fallback, '/fallback');
      if (isRefusal(fallback)) return fallback;
      const attribution_days = attributionDays(call, input.attribution_days, state);
      if (isRefusal(attribution_days)) return attribution_days;
      const sealed = await deps.vault.seal(
        subject,
        JSON.stringify({ name, postal_address, mailbox } satisfies Profile),
      );
      if (sealed === null) throw new Error(`${subject} is new and was erased`);
      const earlier = await openProfile(deps, state);
      const isKept = earlier !== undefined && isSameAddress(earlier.mailbox, mailbox);
      const isConfirmed = isKept && state?.confirmed_at !== undefined;
      const letter = { sealedFor: subject, to: mailbox };
      const profile = {
        sealed_for: subject,
        sealed_profile: sealed,
        ...(isKept && { keeps_mailbox: true as const }),
        mailbox_keys: deriveMailboxKeys(deps.secrets, mailbox),
        ...present({ attribution_days, stale_stock_days, fallback: fallback?.target }),
        ...answersOf(deps, input.record_answers, state),
      };
      return issue(
        { type: 'SetProfile' as const, profile },
        {
          effects: async () =>
            isConfirmed ? [] : mailMailboxLink(deps, { ...call, ownerId }, letter),
        },
      );
    },
  });
  if (outcome.ok) await forget(deps, before);
  return outcome;
};

export const readOwnerProfile: DeskHandler<'readOwnerProfile'> = async (deps, input, call) => {
  const { owner_id } = input;
  if (!mayActFor(call, owner_id)) return NO_OWNER;
  const state = await readProfile(deps, owner_id);
  const profile = await shownProfile(deps, state);
  if (!state || !profile) return NO_PROFILE;
  const { fallback, confirmed_at, updated_at } = state;
  return done({
    owner_id,
    ...(typeof profile === 'string'
      ? { name: profile, postal_address: profile, mailbox: profile }
      : profile),
    attribution_days: state.attribution_days ?? LIMITS.ATTRIBUTION_DAYS,
    stale_stock_days: state.stale_stock_days ?? LIMITS.STOCK_STALE_DAYS,
    ...present({ fallback }),
    record_answers: state.answers?.are_recorded ? ('on' as const) : ('off' as const),
    ...(confirmed_at !== undefined && { mailbox_confirmed_at: iso(confirmed_at) }),
    updated_at: iso(updated_at),
  });
};

export const confirmOwnerMailbox: DeskHandler<'confirmOwnerMailbox'> = async (
  deps,
  { owner_id: ownerId, mailbox, reason },
  call,
) => {
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  return changeProfile(deps, call, {
    ownerId,
    async command(state) {
      const profile = await shownProfile(deps, state);
      if (!state || !profile) return NO_PROFILE;
      if (typeof profile === 'string') return KEY_LOST;
      if (!isSameAddress(profile.mailbox, mailbox)) return OTHER_MAILBOX;
      const sealedReason = await deps.vault.seal(state.sealed_for, reason);
      return sealedReason === null
        ? NO_PROFILE
        : issue({ type: 'ConfirmMailbox' as const, sealedReason });
    },
  });
};

/** Appends the event before it destroys the key; a repetition of the command destroys what a crash left. */
export const removeOwnerProfile: DeskHandler<'removeOwnerProfile'> = async (
  deps,
  { owner_id: ownerId, reason },
  call,
) => {
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  let before: ProfileState | undefined;
  const outcome = await changeProfile(deps, call, {
    ownerId,
    command(state) {
      before = state;
      return issue({ type: 'RemoveProfile' as const, reason });
    },
  });
  if (outcome.ok) await forgetAll(deps, before);
  return outcome;
};

/** Removes the profile that is sealed for the subject, as its person asked, and destroys its key. */
export const eraseProfile = async (
  deps: EventWriter & Pick<Deps, 'vault'>,
  call: Call,
  { subject, reason }: { subject: string; reason: string },
) => {
  let before: ProfileState | undefined;
  const outcome = await changeProfile(deps, call, {
    ownerId: call.ownerId,
    command(state) {
      if (state?.sealed_for === subject) before = state;
      return issue({ type: 'RemoveProfile' as const, reason, sealedFor: subject });
    },
  });
  if (outcome.ok) {
    await forgetAll(deps, before);
    await deps.vault.destroy(subject);
  }
  return outcome;
};

/** Makes the append of a message to the call's owner; empty unless the owner has a confirmed mailbox. */
export const mailToOwner = async <Kind extends MailKind>(
  deps: Pick<Deps, 'log' | 'ids' | 'vault'>,
  call: Call,
  letter: Omit<Letter<Kind>, 'to' | 'sealedFor'>,
): Promise<Append[]> => {
  const to = await confirmedMailbox(deps, call.ownerId);
  return to
    ? queueMail<Kind>(deps, call, { ...letter, sealedFor: to.sealedFor, to: to.mailbox })
    : [];
};
