/** Public applications that end without a confirmation: their key is destroyed. */
import type { Application } from '#contracts/access/applicant.holders.ts';
import { application, type ApplicationState } from './application.decider.ts';
import { OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/fold.ts';
import type { EventWriter } from '#src/writing/idempotency.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call, SystemCall } from '#src/shared/call.ts';
import { done, type Outcome, refuse, Refused } from '#src/shared/outcome.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { listing } from '#src/reading/listing.ts';
import { applicationStream } from './application-link.ts';

type EndingDeps = EventWriter & Pick<Deps, 'vault'>;

const PAGE_ROWS = 100;

/** Whether a record in which a person is found is a public application. */
export const isApplication = (id: string): boolean => id.startsWith('apl_');

/** Opens what an applicant entered; undefined once the key is destroyed, as it is from the confirmation on. */
export const openApplication = async (
  deps: Pick<Deps, 'log' | 'vault'>,
  id: string,
): Promise<Application | undefined> => {
  const state = await stateOf(deps, { stream: applicationStream(id), decider: application });
  const opened = state && (await openOne(deps.vault, state.sealed_application));
  return typeof opened === 'string' ? (JSON.parse(opened) as Application) : undefined;
};

/** Ends an application that waits. Appends the event before it destroys the key, which the next start does after a crash. */
export const eraseApplication = async (
  deps: EndingDeps,
  call: Call,
  { subject, reason }: { subject: string; reason: string },
): Promise<Outcome<{ subject: string }>> => {
  const written = await decideAndAppend(deps, call, {
    stream: applicationStream(subject),
    decider: application,
    command: () => issue({ type: 'EndApplication' as const, reason }),
  });
  if ('rejected' in written) return refuse('resource_not_found', 'There is no such application.');
  if (!written.ok) return written;
  await deps.vault.destroy(subject);
  return done({ subject }, traceOf(written));
};

/** Ends the applications that were not confirmed in time; answers how many. The next run continues after a failure. */
export const expireApplications = async (
  deps: EndingDeps & Pick<Deps, 'readModels'>,
  call: SystemCall,
): Promise<number> => {
  let expired = 0;
  const query = { scope: OPEN_RECORDS, limit: PAGE_ROWS };
  const pages = listing<OpenRow<ApplicationState>>(deps.readModels, 'open-applications', query);
  for await (const page of pages)
    for (const { row } of page) {
      if (call.signal.aborted) return expired;
      const { application_id: subject, expires_at } = row.state;
      if (expires_at > call.at) continue;
      const about = { subject, reason: 'It was not confirmed in time.' };
      const ended = await eraseApplication(deps, { ...call, ownerId: row.owner }, about);
      if (!ended.ok) throw new Refused(ended);
      expired += 1;
    }
  return expired;
};
