import { handoff } from './handoff.decider.ts';
import type { RfqProgress } from './rfq-state.decider.ts';
import { ALL_RFQS, listBy, type RfqRow } from '#src/ports/rows.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import type { SystemCall } from '#src/shared/call.ts';
import { listing } from '#src/reading/listing.ts';
import { streamOf } from '#src/writing/streams.ts';
import { forgetDropped } from './contact-subject.ts';

type ExpiryDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'readModels' | 'vault'>;

const PAGE_ROWS = 100;

/**
 * Ends the RFQs whose confirmation is over, and destroys the keys of their contacts; answers how many. Reads the rows of
 * all unconfirmed RFQs. The signal of the caller stops it between two of them. Throws what the log and the read model
 * throw; the next run continues.
 */
export const expireConfirmations = async (deps: ExpiryDeps, call: SystemCall): Promise<number> => {
  let expired = 0;
  const query = { scope: ALL_RFQS, list: listBy({ state: 'unconfirmed' }), limit: PAGE_ROWS };
  for await (const page of listing<RfqRow<RfqProgress>>(deps.readModels, 'rfqs', query))
    for (const { row } of page) {
      const { owner: ownerId, handoff_id, rfq } = row;
      if (call.signal.aborted) return expired;
      if ((rfq.confirmation?.until ?? Infinity) > call.at) continue;
      const written = await decideAndAppend(
        deps,
        { ...call, ownerId },
        {
          stream: streamOf(ownerId, 'handoff', handoff_id),
          decider: handoff,
          command: () => issue({ type: 'ExpireConfirmation' as const, at: call.at }),
        },
      );
      if (!written.ok || written.position === undefined) continue;
      await forgetDropped(deps, written);
      expired += 1;
    }
  return expired;
};
