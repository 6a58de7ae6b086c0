import { done, refuse } from '../outcome.ts';
import { openOne, readableHandoff } from '../personal.ts';
import { handoffOf } from '../records.ts';
import { placeholderOf, renderLine } from '../render.ts';
import { iso } from '../time.ts';
import type { DeskHandler } from './handler.ts';

type Contact = { name: string; email: string; company?: string; phone?: string };

/** The one place where a buyer's contact is opened: for the staff who answer it. */
export const readRfq: DeskHandler<'readRfq'> = async (deps, { handoff_id, owner_id }) => {
  const state = await handoffOf(deps, owner_id, handoff_id);
  if (!state?.rfq) return refuse('resource_not_found', 'There is no RFQ of this handoff.');
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
  });
};
