/** Erases a record by destroying the key of its texts. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { releaseClaim } from '#src/leads/claim-contact.ts';
import { lead } from '#src/leads/lead.decider.ts';
import { ALL_ERASURES, type ErasureRow } from '#src/ports/rows.ts';
import { findOwner } from '#src/reading/find-owner.ts';
import type { Call } from '#src/shared/call.ts';
import type { Decider } from '#src/shared/decider.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { turn } from '#src/shared/work.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { answerOnce } from '#src/writing/idempotency.ts';
import { kindOfRecord, streamOfRecord } from '#src/writing/streams.ts';

type Erase = {
  type: 'EraseSubject';
  subject: string;
  reason: string;
  /** The contact of an unconfirmed RFQ, which is erased without the rest of its handoff. */
  onlyContact?: string;
};

const NO_SUBJECT = refuse('resource_not_found', 'There is no such subject.');

/** Stores its answer, because the vault cannot tell afterwards whether the subject had a key. */
export const eraseSubject: DeskHandler<'eraseSubject'> = (deps, input, call) =>
  answerOnce(deps, call, { stream: input.subject, work: () => eraseNow(deps, input, call) });

const eraseNow: DeskHandler<'eraseSubject'> = async (deps, input, call) => {
  const { subject, reason } = input;
  const kind = kindOfRecord(subject);
  const ownerId = input.owner_id ?? (await findOwner(deps, call, { kind, id: subject }));
  if (ownerId === undefined) return NO_SUBJECT;
  return eraseRecord(deps, { ...call, ownerId }, { subject, reason });
};

/**
 * Erases a lead or a handoff of the call's owner, or the unconfirmed RFQ alone. Appends the event before it destroys the key. After a crash between
 * the two, the next start destroys the key, or the same command when it is sent again. In the other order, a crash would
 * lose the event.
 */
export const eraseRecord = async (
  deps: Deps,
  call: Call,
  {
    subject,
    reason,
    onlyContact,
  }: Pick<Erase, 'subject' | 'reason'> & {
    onlyContact?: string | undefined;
  },
) => {
  const stream = streamOfRecord(call.ownerId, subject);
  const erase = <State, E extends { type: string; data: object }, Reason extends string>(
    decider: Decider<State, Erase, E, Reason>,
    first?: (state: State) => Promise<void>,
  ) =>
    decideAndAppend(deps, call, {
      stream,
      decider,
      async command(state) {
        if (state !== undefined) await first?.(state);
        return issue<Erase>({
          type: 'EraseSubject',
          subject,
          reason,
          ...present({ onlyContact }),
        });
      },
    });
  const written =
    kindOfRecord(subject) === 'lead'
      ? // Before the contact is destroyed, because only its address leads to the claim.
        await erase(lead, (state) => releaseClaim(deps, call, state))
      : await erase(handoff);
  if (!written.ok) return 'rejected' in written ? NO_SUBJECT : written;
  const contact =
    written.before && 'rfq' in written.before ? written.before.rfq?.contact_subject : undefined;
  let key: 'never' | 'destroyed' = 'never';
  for (const one of written.state.erased ? [subject, contact] : [onlyContact]) {
    if (one === undefined) continue;
    // The contact of an unconfirmed RFQ can have the only key.
    if ((await deps.vault.knows(one)) !== 'never') key = 'destroyed';
    await deps.vault.destroy(one);
  }
  return done({ subject, key, erased_from: [stream] }, traceOf(written));
};

const PAGE_ROWS = 100;

/**
 * Destroys the keys of erased subjects that still have one, newest first and at most `newest` subjects; answers the
 * number of keys. `signal` stops it between two subjects. Throws what the vault and the read model
 * throw; the next run continues.
 */
export const finishErasures = async (
  { readModels, vault }: Pick<Deps, 'readModels' | 'vault'>,
  newest: number,
  signal: AbortSignal,
): Promise<number> => {
  let [keys, remaining] = [0, newest];
  for (let before: number | undefined; remaining > 0; await turn()) {
    const page = await readModels.list<ErasureRow>('erasures', {
      scope: ALL_ERASURES,
      limit: Math.min(PAGE_ROWS, remaining),
      ...(before !== undefined && { before }),
    });
    for (const { row, sort } of page) {
      if (signal.aborted) return keys;
      // A subject without a key is marked as well, so that it cannot get a first one later.
      for (const subject of row.contact ? [row.subject, row.contact] : [row.subject]) {
        const isDone = (await vault.knows(subject)) === 'destroyed';
        if (!isDone && (await vault.destroy(subject))) keys += 1;
      }
      before = sort;
    }
    remaining -= page.length;
    if (page.length < PAGE_ROWS) return keys;
  }
  return keys;
};
