/** Claims of idempotency keys and of link codes: the first one wins. */
import type { EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type KeyClaim = EventData<'RequestBound'>;

export type KeyClaimCommand = {
  type: 'ClaimKey';
  claim: Omit<KeyClaim, 'fingerprint'>;
  /** Of the request, under each generation of the key; the first one is stored. */
  fingerprints: readonly [string, ...string[]];
};

type KeyClaimRejection = 'key_reused';

type KeyClaimState = {
  /** Keyed hash of the request that claimed the key first. */
  fingerprint: string;
  /** Streams on which the request had nothing to write. */
  unchanged: readonly string[];
  isAnswered: boolean;
};

/**
 * The request that an idempotency key belongs to: the first one that claims it, permanently. The same request
 * may add that a stream needed no event, or its answer, each once.
 */
export const keyClaim: Decider<
  KeyClaimState,
  KeyClaimCommand,
  EventOf<'RequestBound'>,
  KeyClaimRejection
> = {
  evolve(state, { data: { fingerprint, stream, revision, answer } }) {
    const unchanged = state?.unchanged ?? [];
    return {
      fingerprint: state?.fingerprint ?? fingerprint,
      unchanged: revision === undefined ? unchanged : [...unchanged, stream],
      isAnswered: answer !== undefined || state?.isAnswered === true,
    };
  },

  decide(state, { claim, fingerprints }) {
    if (state && !fingerprints.includes(state.fingerprint))
      return reject('key_reused', 'another request claimed this key');
    return state && isRecorded(state, claim)
      ? accept()
      : accept({ type: 'RequestBound', data: { ...claim, fingerprint: fingerprints[0] } });
  },
};

const isRecorded = (
  state: KeyClaimState,
  { stream, revision, answer }: KeyClaimCommand['claim'],
): boolean => {
  if (answer !== undefined) return state.isAnswered;
  return revision === undefined || state.unchanged.includes(stream);
};

type CodeClaim = EventData<'CodeClaimed'>;

type CodeClaimCommand = { type: 'ClaimCode'; claim: CodeClaim };

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
