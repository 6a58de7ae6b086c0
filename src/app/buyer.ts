import { z } from 'zod';
import { line } from '#contracts/fields.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { HandoffCommand, HandoffRejection, HandoffState } from '#src/domain/handoff.ts';
import { handoff, isOpen } from '#src/domain/handoff.ts';
import type { LeadState } from '#src/domain/lead.ts';
import { lead } from '#src/domain/lead.ts';
import { BUYER } from './attribution.ts';
import type { Call } from './call.ts';
import { awaitOwnWrite } from './consistency.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Deps } from './deps.ts';
import { priceLine, totalsOf } from './lines.ts';
import type { Outcome, Refusal } from './outcome.ts';
import { done, refuse } from './outcome.ts';
import { streamOf } from './records.ts';
import type { Review } from './review.ts';
import { GONE, handoffBehind, reviewOf } from './review.ts';

export const RFQ_CONSENT =
  'I ask for a quotation for this list, and agree that my contact is used to answer it.';

const contactShape = z.strictObject({
  name: line(200),
  email: z.email().max(254),
  company: line(200).optional(),
  phone: line(40).optional(),
});

type Awaitable<T> = T | Promise<T>;
type BuyerOperation = 'openHandoff' | 'reviseList' | 'declineHandoff' | 'submitRfq';

/** One act of the holder of the link. Pressing a button twice is one act. */
const act = async (
  deps: Deps,
  token: string,
  { requestId, operation }: { requestId: string; operation: BuyerOperation },
  command: (state: HandoffState, at: number) => Awaitable<HandoffCommand | Refusal>,
): Promise<Outcome<Review>> => {
  const found = await handoffBehind(deps, token);
  if ('ok' in found) return found;
  const { ownerId, state } = found;
  const at = deps.clock.now();
  const call: Call = { ownerId, actor: BUYER, surface: 'portal', operation, requestId, at };
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(ownerId, 'handoff', state.handoff_id),
    decider: handoff,
    command: (current) => (current ? command(current, at) : refuse('resource_not_found', GONE)),
  });
  if (!written.ok)
    return 'rejected' in written ? refuse('state_conflict', WHY[written.rejected]) : written;
  if (operation === 'submitRfq') await observeRfq(deps, call, state.handoff_id);
  await awaitOwnWrite(deps, written.position);
  return done(reviewOf(deps, ownerId, written.state));
};

const WHY: Record<HandoffRejection, string> = {
  handoff_exists: 'The list exists.',
  handoff_unknown: GONE,
  handoff_closed: 'This list is closed; nothing was changed.',
  handoff_expired: 'This list has expired; nothing was changed.',
  list_changed: 'The list was changed in the meantime. Look at it again before you send it.',
};

export const openHandoff = (
  deps: Deps,
  token: string,
  requestId: string,
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId, operation: 'openHandoff' }, (_state, at) => ({
    type: 'OpenHandoff',
    at,
  }));

/** New quantities by line id, as typed; 0 takes a line off the list. Prices as they are now. */
export const reviseList = (
  deps: Deps,
  token: string,
  asked: { requestId: string; listRevision: number; quantities: ReadonlyMap<string, string> },
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId: asked.requestId, operation: 'reviseList' }, (state, at) => {
    const products = deps.catalog.byId(state.lines.map(({ product_id }) => product_id));
    const faults: InputFault[] = [];
    const lines = state.lines.flatMap((line) => {
      const typed = asked.quantities.get(line.line_id)?.trim() ?? String(line.quantity);
      const quantity = /^\d{1,9}$/.test(typed) ? Number(typed) : Number.NaN;
      if (!(quantity >= 0 && quantity <= 100_000_000)) {
        const detail = 'must be a whole number, 0 to take the line off the list';
        faults.push({ pointer: `/quantity.${line.line_id}`, code: 'not_a_quantity', detail });
        return [line];
      }
      if (quantity === 0) return [];
      if (quantity === line.quantity) return [line];
      const product = products.get(line.product_id);
      return [product ? priceLine(product, { ...line, quantity }) : { ...line, quantity }];
    });
    if (faults.length > 0)
      return refuse('validation_failed', 'Some quantities are not valid.', { errors: faults });
    if (lines.length === 0)
      return refuse('validation_failed', 'A list needs a line. To refuse all of it, decline it.', {
        errors: [{ pointer: '/quantities', code: 'empty', detail: 'at least one line must stay' }],
      });
    const totals = totalsOf(lines);
    if (totals.some(({ amount }) => !Number.isSafeInteger(amount)))
      return refuse('validation_failed', 'The quantities are too large to be priced.', {
        errors: [
          { pointer: '/quantities', code: 'too_large', detail: 'the total cannot be counted' },
        ],
      });
    return { type: 'ReviseList', at, listRevision: asked.listRevision, lines, totals };
  });

export const declineHandoff = (
  deps: Deps,
  token: string,
  asked: { requestId: string; reason: string },
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId: asked.requestId, operation: 'declineHandoff' }, (_state, at) => {
    const reason = asked.reason.trim();
    if (reason !== '' && !line(500).safeParse(reason).success)
      return refuse('validation_failed', 'The reason is not valid.', {
        errors: [
          { pointer: '/reason', code: 'invalid', detail: 'one line of at most 500 characters' },
        ],
      });
    return { type: 'DeclineHandoff', at, ...(reason !== '' && { reason }) };
  });

/**
 * The buyer, and nobody else, asks for a quotation. The list sent is the list seen: another revision
 * is refused. The contact is sealed before anything is stored.
 */
export const submitRfq = (
  deps: Deps,
  token: string,
  asked: {
    requestId: string;
    listRevision: number;
    consent: boolean;
    contact: { name: string; email: string; company?: string; phone?: string };
  },
): Promise<Outcome<Review>> =>
  act(deps, token, { requestId: asked.requestId, operation: 'submitRfq' }, async (state, at) => {
    const contact = contactShape.safeParse(asked.contact);
    const errors: InputFault[] = contact.success
      ? []
      : contact.error.issues.map(({ path, code, message }) => ({
          pointer: `/${path.join('/')}`,
          code,
          detail: message,
        }));
    if (!asked.consent)
      errors.push({ pointer: '/consent', code: 'required', detail: 'tick it to send the request' });
    if (errors.length > 0 && isOpen(state, at))
      return refuse('validation_failed', 'Some fields are not valid; nothing was sent.', {
        errors,
      });
    if (!isOpen(state, at))
      return {
        type: 'SubmitRfq',
        at,
        listRevision: asked.listRevision,
        contact: '',
        consentText: '',
      };
    const sealed = await deps.vault.seal(state.handoff_id, JSON.stringify(contact.data));
    // Erased while the buyer wrote.
    if (sealed === null) return refuse('state_conflict', WHY.handoff_closed);
    return {
      type: 'SubmitRfq',
      at,
      listRevision: asked.listRevision,
      contact: sealed,
      consentText: RFQ_CONSENT,
    };
  });

/** Leads that came from this handoff learn that their buyer has asked. */
const observeRfq = async (deps: Deps, call: Call, handoffId: string): Promise<void> => {
  let before: number | undefined;
  for (;;) {
    const rows: { row: LeadState; sort: number }[] = await deps.readModels.list<LeadState>(
      'leads',
      {
        scope: call.ownerId,
        limit: LEADS_IN_PAGE,
        ...(before !== undefined && { before }),
      },
    );
    for (const { row } of rows) {
      if (row.handoff_id !== handoffId) continue;
      await decideAndAppend(
        deps,
        { ...call, operation: 'observeRfq' },
        {
          stream: streamOf(call.ownerId, 'lead', row.lead_id),
          decider: lead,
          command: () => ({ type: 'ObserveRfq' as const, at: call.at }),
        },
      );
    }
    before = rows.at(-1)?.sort;
    if (rows.length < LEADS_IN_PAGE) return;
  }
};

const LEADS_IN_PAGE = 500;
