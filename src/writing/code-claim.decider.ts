import type { EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type CodeClaim = EventData<'CodeClaimed'>;

export type CodeClaimCommand = { type: 'ClaimCode'; claim: CodeClaim };

export type CodeClaimRejection = 'code_taken';

/** The link that a short code belongs to: the first one that claims it, permanently. */
export const codeClaim: Decider<
  CodeClaim,
  CodeClaimCommand,
  EventOf<'CodeClaimed'>,
  CodeClaimRejection
> = {
  evolve: (state, { data }) => state ?? data,

  decide(state, { claim }) {
    if (!state) return accept({ type: 'CodeClaimed', data: claim });
    return state.link_id === claim.link_id
      ? accept()
      : reject('code_taken', 'another link has this code');
  },
};
