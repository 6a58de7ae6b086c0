import { handoff } from '#src/domain/handoff.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { ALL_RFQS } from '#src/ports/rows.ts';
import { foldOf } from '../events/fold.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { openOne, placeholderOf } from '../privacy/sealed-texts.ts';
import { ownerFor } from '../records/find-owner.ts';
import { streamOf } from '../records/streams.ts';
import { readableHandoff, renderLine } from './render-handoff.ts';
import { iso } from '../shared/time.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';

type Contact = { name: string; email: string; company?: string; phone?: string };

const NO_RFQ = refuse('resource_not_found', 'There is no RFQ of this handoff.');

/** Reads an RFQ for the staff who answer it. No other operation opens the contact of a buyer. */
export const readRfq: DeskHandler<'readRfq'> = async (deps, { handoff_id, ...input }, call) => {
  const listed = ['rfqs', ALL_RFQS] as const;
  const record = { owner_id: input.owner_id, listed, kind: 'handoff', id: handoff_id } as const;
  const owner_id = await ownerFor(deps, call, record);
  if (owner_id === undefined) return NO_RFQ;
  const stored = await deps.log.readStream(streamOf(owner_id, 'handoff', handoff_id));
  const state = foldOf(handoff, stored);
  if (!state?.rfq) return NO_RFQ;
  const opened = await openOne(deps.vault, state.rfq.contact);
  const { lines } = await readableHandoff(deps, state);
  return done({
    handoff_id,
    owner_id,
    title: state.title,
    submitted_at: iso(state.rfq.submitted_at),
    contact: typeof opened === 'string' ? (JSON.parse(opened) as Contact) : placeholderOf(opened),
    list_revision: state.list_revision,
    line_items: lines.map(renderLine),
    indicative_totals: state.totals,
    evidence: evidenceOf(stored),
  });
};

const evidenceOf = (stored: readonly StoredEvent[]) => {
  const firstOf = (type: string) => stored.find((event) => event.type === type)?.meta;
  const [created, opened, sent] = [
    stored[0]?.meta,
    firstOf('HandoffOpenedByBuyer'),
    firstOf('RfqSubmittedByBuyer'),
  ];
  const ms = Math.max(0, (sent?.at ?? 0) - (created?.at ?? 0));
  return {
    seconds_after_creation: Math.floor(ms / 1000),
    // The request that sends the list also opens it.
    opened_before: opened !== undefined && opened.request !== sent?.request,
  };
};
