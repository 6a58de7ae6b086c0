import { handoff } from '#src/domain/handoff.ts';
import { lead } from '#src/domain/lead.ts';
import { releaseClaim } from '../claims.ts';
import { decideAndAppend } from '../decide-and-append.ts';
import { done, refuse } from '../outcome.ts';
import { streamOf } from '../records.ts';
import type { DeskHandler } from './handler.ts';

/**
 * The event comes before the key goes: a crash between the two leaves a subject that is marked and
 * a key that the same command destroys when it is sent again. The other way round would lose the mark.
 */
export const eraseSubject: DeskHandler<'eraseSubject'> = async (deps, input, call) => {
  const { subject, reason } = input;
  const ownerId = input.owner_id ?? (await ownerOf(deps, subject));
  if (ownerId === undefined) return refuse('resource_not_found', 'There is no such subject.');
  const isLead = subject.startsWith('led_');
  const stream = streamOf(ownerId, isLead ? 'lead' : 'handoff', subject);
  const stored = await deps.log.readStream(stream);
  if (stored.length === 0) return refuse('resource_not_found', 'There is no such subject.');
  const owned = { ...call, ownerId };
  if (isLead) {
    const before = await deps.readModels.get<{ lead_id: string; contact?: string }>(
      'leads',
      ownerId,
      subject,
    );
    if (before) await releaseClaim(deps, owned, before);
  }
  const written = isLead
    ? await decideAndAppend(deps, owned, {
        stream,
        decider: lead,
        command: () => ({ type: 'EraseContact' as const, subject, reason }),
      })
    : await decideAndAppend(deps, owned, {
        stream,
        decider: handoff,
        command: () => ({ type: 'EraseBuyer' as const, subject, reason }),
      });
  if (!written.ok)
    return 'rejected' in written
      ? refuse('resource_not_found', 'There is no such subject.')
      : written;
  const key = (await deps.vault.knows(subject)) === 'never' ? 'never' : 'destroyed';
  await deps.vault.destroy(subject);
  return done(
    { subject, key, erased_from: [stream] },
    written.position === undefined ? {} : { position: written.position },
  );
};

/** Subjects are named without their owner: the vault's events tell, through the log. */
const ownerOf = async (
  deps: Parameters<DeskHandler<'eraseSubject'>>[0],
  subject: string,
): Promise<string | undefined> => {
  const name = subject.slice(subject.indexOf('_') + 1);
  const kind = subject.startsWith('led_') ? 'lead' : 'handoff';
  const type = kind === 'lead' ? 'LeadSubmitted' : 'HandoffCreated';
  let after = 0;
  for (;;) {
    const page = await deps.log.readAll({ after, limit: 1_000, types: [type] });
    const found = page.find(({ stream }) => stream.endsWith(`-${kind}_${name}`));
    if (found) return found.owner;
    const last = page.at(-1);
    if (!last) return undefined;
    after = last.position;
  }
};
