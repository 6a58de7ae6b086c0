/** The profile of an owner, and the confirmation of its mailbox. */
import type { EventData, EventOf, OwnerEventType } from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  firstVersion,
  nextVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';

type Event = EventOf<OwnerEventType>;
type Profile = EventData<'OwnerProfileSet'>;

/** What an owner decides for all links and all agents, and its profile, whose name buyers see. */
export type OwnerSettings = Pick<
  Profile,
  'answers' | 'attribution_days' | 'fallback' | 'stale_stock_days' | 'sealed_profile'
>;

export type ProfileCommand =
  | { type: 'SetProfile'; profile: Profile }
  | { type: 'ConfirmMailbox'; sealedReason?: string }
  /** `sealedFor`: removes no profile but that of this subject. */
  | { type: 'RemoveProfile'; reason: string; sealedFor?: string };

export type ProfileRejection = 'profile_unknown';

/** Who an owner is, and where notices to the owner are sent. */
export type ProfileState = Profile &
  RecordVersion & {
    status: 'set' | 'removed';
    /** When the mailbox was confirmed, in epoch milliseconds. */
    confirmed_at?: number | undefined;
    /** When the profile was set the last time, in epoch milliseconds. */
    set_at: number;
  };

export const ownerProfile: Decider<ProfileState, ProfileCommand, Event, ProfileRejection> = {
  evolve(state, event) {
    const { at } = event;
    if (event.type === 'OwnerProfileSet')
      return {
        ...event.data,
        status: 'set',
        set_at: at,
        confirmed_at: event.data.keeps_mailbox ? state?.confirmed_at : undefined,
        ...(state ? { ...nextVersion(state, at), created_at: state.created_at } : firstVersion(at)),
      };
    if (!state) throw new Error(`${event.type} on a profile that was never set`);
    const next = { ...state, ...nextVersion(state, at) };
    return event.type === 'OwnerProfileRemoved'
      ? { ...next, status: 'removed', confirmed_at: undefined }
      : { ...next, confirmed_at: at };
  },

  decide(state, command) {
    if (command.type === 'SetProfile')
      return accept({ type: 'OwnerProfileSet', data: command.profile });
    if (!state) return reject('profile_unknown', 'the owner has no profile');
    if (command.type === 'RemoveProfile')
      return state.status === 'removed' ||
        (command.sealedFor ?? state.sealed_for) !== state.sealed_for
        ? accept()
        : accept({ type: 'OwnerProfileRemoved', data: { reason: command.reason } });
    if (state.status === 'removed') return reject('profile_unknown', 'the owner has no profile');
    return state.confirmed_at === undefined
      ? accept({
          type: 'OwnerMailboxConfirmed',
          data: command.sealedReason === undefined ? {} : { sealed_reason: command.sealedReason },
        })
      : accept();
  },
};
