/** What the holder of an owner's mailbox does with the link that is mailed to it. */
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { blockMailbox, isLinkAbout, subjectOfLink } from '#src/sending/mail.ts';
import type { HolderCall } from '#src/shared/call.ts';
import { done, isRefusal, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { decideAndAppend, issue, type Issued, traceOf } from '#src/writing/decide-and-append.ts';
import {
  aboutMailbox,
  MAILED_LINK_MS,
  openProfile,
  profileStream,
  readProfile,
} from './profile.ts';
import { ownerProfile, type ProfileCommand, type ProfileState } from './profile.decider.ts';

/** The mailbox as the holder of its link sees it. */
export type MailboxToConfirm = {
  ownerId: string;
  name: string;
  mailbox: string;
  isConfirmed: boolean;
  /** When the link ends, in epoch milliseconds. */
  until: number;
};

const NO_LINK = refuse(
  'resource_not_found',
  'This link is over, or not complete, or a later message has the link that works. Staff can have another one mailed.',
);
const IS_CONFIRMED = refuse('state_conflict', 'The mailbox is confirmed already.');

/** Opens the profile that the link of the call was mailed for; refuses every other state. */
const openLink = async (
  deps: Pick<Deps, 'vault' | 'secrets'>,
  { caller: { token }, ownerId, at }: HolderCall,
  state: ProfileState | undefined,
): Promise<MailboxToConfirm | Refusal> => {
  if (!state || !isLinkAbout(deps.secrets, token, aboutMailbox(ownerId, state.sealed_for)))
    return NO_LINK;
  const until = state.set_at + MAILED_LINK_MS;
  const profile = at < until ? await openProfile(deps, state) : undefined;
  if (!profile) return NO_LINK;
  const { name, mailbox } = profile;
  return { ownerId, name, mailbox, isConfirmed: state.confirmed_at !== undefined, until };
};

/** The call for the owner whom its token names, which proves nothing yet. */
const forOwner = (call: HolderCall): HolderCall | undefined => {
  const ownerId = subjectOfLink(call.caller.token);
  return ownerId === undefined ? undefined : { ...call, ownerId };
};

/** Shows what the link confirms. It changes nothing, because mail scanners also open links. */
export const readOwnMailbox: HolderHandler<'readOwnMailbox', MailboxToConfirm> = async (
  deps,
  _input,
  holderCall,
) => {
  const call = forOwner(holderCall);
  if (!call) return NO_LINK;
  const link = await openLink(deps, call, await readProfile(deps, call.ownerId));
  return isRefusal(link) ? link : done(link);
};

type CommandFor = (
  link: MailboxToConfirm,
  call: HolderCall,
) => Issued<ProfileCommand> | Promise<Issued<ProfileCommand> | Refusal>;

const actOnMailbox = async (
  deps: Deps,
  holderCall: HolderCall,
  command: CommandFor,
): Promise<Outcome<MailboxToConfirm>> => {
  const call = forOwner(holderCall);
  if (!call) return NO_LINK;
  const written = await decideAndAppend(deps, call, {
    stream: profileStream(call.ownerId),
    decider: ownerProfile,
    async command(state) {
      const link = await openLink(deps, call, state);
      return isRefusal(link) ? link : command(link, call);
    },
  });
  if (!written.ok) return 'rejected' in written ? NO_LINK : written;
  const { before, state } = written;
  const link = await openLink(deps, call, before);
  if (state.status === 'removed') await deps.vault.destroy(state.sealed_for);
  if (isRefusal(link)) return link;
  return done({ ...link, isConfirmed: state.confirmed_at !== undefined }, traceOf(written));
};

/** Confirms exactly the mailbox that the link was mailed to. */
export const confirmOwnMailbox: HolderHandler<'confirmOwnMailbox', MailboxToConfirm> = (
  deps,
  _input,
  call,
) => actOnMailbox(deps, call, () => issue({ type: 'ConfirmMailbox' }));

/**
 * Removes a profile with somebody else's mailbox, and blocks such messages to it. The block comes first: only
 * the profile names the mailbox.
 */
export const disownMailbox: HolderHandler<'disownMailbox', MailboxToConfirm> = (
  deps,
  _input,
  holderCall,
) =>
  actOnMailbox(deps, holderCall, async ({ isConfirmed, mailbox }, call) => {
    if (isConfirmed) return IS_CONFIRMED;
    const reason = 'The holder of its mailbox did not ask for it.';
    return (await blockMailbox(deps, call, mailbox)) ?? issue({ type: 'RemoveProfile', reason });
  });
