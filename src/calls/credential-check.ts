import type {
  ConditionalRevision,
  EventLog,
  Expected,
  StreamRevision,
} from '#src/ports/event-log.ts';
import { expectedRevision, replaceAppends, StreamAdvanced } from '#src/ports/event-log.ts';
import { type Confirmation, UNCONFIRMED } from './authenticate.ts';
import { type Refusal, refuse, Refused } from '#src/shared/outcome.ts';
import type { ReadModelFollower } from '#src/ports/read-model.ts';

export type CredentialState = {
  /** Why the credential no longer allows the operation. */
  refusal: Refusal | undefined;
  /** The streams that tell so, as far as they were read; none for a caller in this process without a credential. */
  streams: readonly StreamRevision[];
};

type CheckParts = { log: EventLog; following: ReadModelFollower; confirmation?: Confirmation };

const LAGS = refuse(
  'read_model_rebuilding',
  'The credential has changed, and this process has not read the change yet.',
  { retryAfterS: 1 },
);

/** How long a process waits for its own read models after it learned that a credential has changed, in milliseconds. */
const FOLLOW_MS_MAX = 1_000;

/**
 * Wraps the log for one call: each append requires that the credential still allows the operation. An embedded log
 * checks that in the transaction of the append. On a server, the credential is looked up right before each attempt,
 * and its rows must have been confirmed within the last second. Appends of a revoked credential throw Refused.
 */
export const credentialCheckingLog = (
  { log, following, confirmation }: CheckParts,
  current: () => CredentialState,
): EventLog => {
  const confirm = async (): Promise<CredentialState['streams']> => {
    await confirmation?.awaited();
    if (confirmation?.isRecent() === false) throw new Refused(UNCONFIRMED);
    const { refusal, streams } = current();
    if (refusal) throw new Refused(refusal);
    return streams;
  };
  const follow = async (): Promise<void> => {
    const { position } = await log.head();
    if (!(await following.passed(position, FOLLOW_MS_MAX))) throw new Refused(LAGS);
  };
  return replaceAppends(log, async (appends) => {
    for (;;) {
      const unchanged = await confirm();
      const conditioned = (expected: Expected): ConditionalRevision => ({
        revision: expectedRevision(expected),
        unchanged,
        confirm: async () => void (await confirm()),
      });
      try {
        return await log.appendAll(
          appends.map((append) => ({ ...append, expected: conditioned(append.expected) })),
        );
      } catch (error) {
        if (!(error instanceof StreamAdvanced)) throw error;
        await follow();
      }
    }
  });
};

/** The dependencies of one call with such a log; the given ones for a caller without a credential. */
export const whileAllowed = <D extends CheckParts>(
  deps: D,
  current: (() => CredentialState) | undefined,
): D => (current ? { ...deps, log: credentialCheckingLog(deps, current) } : deps);
