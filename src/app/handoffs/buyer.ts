import { z } from 'zod';
import { line } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { HandoffCommand, HandoffRejection } from '#src/domain/handoff.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import { handoff, isOpen } from '#src/domain/handoff.ts';
import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import { BUYER } from '../events/attribution.ts';
import type { Call } from '../pipeline/call.ts';
import { awaitOwnWrite } from '../pipeline/consistency.ts';
import { decideAndAppend } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { pointerOf } from '../pipeline/input-faults.ts';
import { observeRfq } from '../leads/observe-rfq.ts';
import type { Outcome, Refusal } from '../pipeline/outcome.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import type { Review } from './review.ts';
import { changesOf, GONE, namedBy, reviewOf } from './review.ts';
import type { List, TypedQuantities } from './typed-quantities.ts';
import { isOther, withQuantities } from './typed-quantities.ts';

export const RFQ_CONSENT =
  'I ask for a quotation for this list, and agree that my contact is used to answer it.';

const contactShape = z.strictObject({
  name: line(200),
  email: z.email().max(254),
  company: line(200).optional(),
  phone: line(40).optional(),
});

const MOST = { revisions: LIMITS.HANDOFF_REVISIONS_MAX, lines: LIMITS.HANDOFF_REVISED_LINES_MAX };

type Awaitable<T> = T | Promise<T>;
type BuyerOperation = 'openHandoff' | 'reviseList' | 'declineHandoff' | 'submitRfq';

/**
 * One act of the holder of the link; without a command, opening the list. Whoever presses a button has
 * opened it, with or without the script that says so, and pressing it twice is one act.
 */
const act = async (
  deps: Deps,
  token: string,
  { requestId, operation }: { requestId: string; operation: BuyerOperation },
  command?: (state: HandoffState, at: number) => Awaitable<HandoffCommand | Refusal>,
): Promise<Outcome<Review>> => {
  const named = await namedBy(deps, token);
  if (!named) return refuse('resource_not_found', GONE);
  const { owner: ownerId, handoff_id } = named;
  const at = deps.clock.now();
  const call: Call = { ownerId, actor: BUYER, surface: 'portal', operation, requestId, at };
  const next = () =>
    decideAndAppend(deps, call, {
      stream: streamOf(ownerId, 'handoff', handoff_id),
      decider: handoff,
      command(current) {
        if (!current) return refuse('resource_not_found', GONE);
        if (!command || isUnopened(current, at)) return { type: 'OpenHandoff', at };
        return command(current, at);
      },
    });
  let written = await next();
  if (command && written.ok && written.before && isUnopened(written.before, at))
    written = await next();
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  await awaitOwnWrite(deps, written.position);
  if (operation === 'submitRfq') await tellLeads(deps, call, handoff_id);
  return done(await reviewOf(deps, ownerId, written.state));
};

const isUnopened = (state: HandoffState, at: number): boolean =>
  state.status === 'awaiting_buyer' && isOpen(state, at);

/** With the reason as a word, for the page that tells it in its own. */
const conflictOf = (rejected: HandoffRejection): Refusal =>
  refuse('state_conflict', WHY[rejected], { extra: { rejected } });

const WHY: Record<HandoffRejection, string> = {
  handoff_exists: 'The list exists.',
  handoff_unknown: GONE,
  handoff_closed: 'This list is closed; nothing was changed.',
  handoff_expired: 'This list has expired; nothing was changed.',
  list_changed: 'The list was changed in the meantime. Look at it again before you send it.',
  too_many_revisions:
    'The list was changed as often as it can be. Send it, decline it, or ask for a new one.',
  totals_changed: 'The list comes to another total than was shown. Look at it before you send it.',
};

export const openHandoff = (
  deps: Deps,
  token: string,
  requestId: string,
): Promise<Outcome<Review>> => act(deps, token, { requestId, operation: 'openHandoff' });

/** New quantities by line id, as typed; 0 takes a line off the list. Prices as they are now. */
export const reviseList = (
  deps: Deps,
  token: string,
  asked: { requestId: string; listRevision: number; quantities: TypedQuantities },
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId: asked.requestId, operation: 'reviseList' }, (state, at) => {
    const list = withQuantities(deps.catalog, state, asked.quantities);
    if ('faults' in list)
      return refuse('validation_failed', 'Some quantities are not valid.', { errors: list.faults });
    return { type: 'ReviseList', at, listRevision: asked.listRevision, most: MOST, ...list };
  });

export const declineHandoff = (
  deps: Deps,
  token: string,
  asked: { requestId: string; reason: string },
): Promise<Outcome<Review>> =>
  act(
    deps,
    token,
    { requestId: asked.requestId, operation: 'declineHandoff' },
    async (state, at) => {
      const reason = asked.reason.trim();
      if (reason !== '' && !line(500).safeParse(reason).success)
        return refuse('validation_failed', 'The reason is not valid.', {
          errors: [
            { pointer: '/reason', code: 'invalid', detail: 'one line of at most 500 characters' },
          ],
        });
      if (reason === '' || !isOpen(state, at)) return { type: 'DeclineHandoff', at };
      const sealedReason = await deps.vault.seal(state.handoff_id, reason);
      // Erased while the buyer wrote.
      if (sealedReason === null) return refuse('state_conflict', WHY.handoff_closed);
      return { type: 'DeclineHandoff', at, sealedReason };
    },
  );

/**
 * The buyer, and nobody else, asks for a quotation. The list sent is the list seen, with what was
 * typed over its quantities: another revision is refused, and so is another total than was `shown`,
 * which is the list's own where nothing else is said. The contact is sealed before anything is
 * stored.
 */
export const submitRfq = (
  deps: Deps,
  token: string,
  asked: {
    requestId: string;
    listRevision: number;
    quantities?: TypedQuantities;
    shown?: List['totals'];
    consent: boolean;
    contact: { name: string; email: string; company?: string; phone?: string };
  },
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId: asked.requestId, operation: 'submitRfq' }, async (state, at) => {
    const { listRevision, quantities = new Map(), shown = state.totals } = asked;
    if (state.status === 'rfq_submitted' && isOther(state, quantities))
      return refuse('state_conflict', 'The request was sent already, with other quantities.');
    const consentText = RFQ_CONSENT;
    const command = { type: 'SubmitRfq' as const, at, listRevision, consentText, shown };
    // Nothing is asked of the form on a list that is closed, or another than the one that was seen.
    if (!isOpen(state, at) || listRevision !== state.list_revision)
      return { ...command, contact: '', lines: state.lines, totals: state.totals, news: [] };
    const list = withQuantities(deps.catalog, state, quantities);
    const contact = contactShape.safeParse(asked.contact);
    const errors: InputFault[] = 'faults' in list ? list.faults : [];
    for (const { path, code, message } of contact.error?.issues ?? [])
      errors.push({ pointer: pointerOf(path), code, detail: message });
    if (!asked.consent)
      errors.push({ pointer: '/consent', code: 'required', detail: 'tick it to send the request' });
    if ('faults' in list || errors.length > 0)
      return refuse('validation_failed', 'Some fields are not valid; nothing was sent.', {
        errors,
      });
    const sealed = await deps.vault.seal(state.handoff_id, JSON.stringify(contact.data));
    // Erased while the buyer wrote.
    if (sealed === null) return refuse('state_conflict', WHY.handoff_closed);
    return { ...command, contact: sealed, ...list, news: newsOf(deps, list) };
  });

/** What the catalog says otherwise than a list that is sent. */
const newsOf = ({ catalog }: Deps, { lines }: List) =>
  [...changesOf(catalog, lines)].map(([line_id, now]) =>
    'withdrawn' in now
      ? { line_id, warnings: ['withdrawn'] }
      : {
          line_id,
          price: { amount: now.unit_price, currency: now.currency },
          warnings: now.warnings,
        },
  );

/**
 * Leads that came from this handoff learn of it now. One that this misses, because the read models
 * lag or are away, the log cannot write or the process dies, learns of it when staff move it.
 */
const tellLeads = async (deps: Deps, call: Call, handoffId: string): Promise<void> => {
  const { readModels } = deps;
  try {
    const row = await readModels.get<HandoffLeadsRow>('handoff-leads', call.ownerId, handoffId);
    for (const leadId of row?.leads ?? []) await observeRfq(deps, call, leadId);
  } catch {
    // The request is on the disk: the buyer must not be told otherwise.
  }
};
