/** Leads that can be of the same person or company: hints for staff, which reject nothing. */
import { stateAt } from '#src/domain/lead.ts';
import { ALL_LEADS, type LeadHintRow, listBy } from '#src/ports/rows.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { type DeskDeps, mayActFor } from '../pipeline/desk-handler.ts';
import { leadOf } from '../records/streams.ts';

/** Leads that are compared for each key, newest first; each that is shown costs one read of the log. */
const ALIKE_MAX = 20;

/** The other leads with the telephone or a company domain of a lead, newest first, of owners for whom the caller may act. */
export const readAlike = async (
  deps: Pick<DeskDeps, 'log' | 'readModels'>,
  call: DeskCall,
  leadId: string,
) => {
  const own = await deps.readModels.get<LeadHintRow>('lead-hints', ALL_LEADS, leadId);
  if (!own) return [];
  const alike = new Map<string, { row: LeadHintRow; same: ('phone' | 'domain')[] }>();
  const add = async (kind: 'phone' | 'domain', key: string): Promise<void> => {
    const list = listBy({ [kind]: key });
    const query = { scope: ALL_LEADS, list, limit: ALIKE_MAX + 1 };
    for (const { row } of await deps.readModels.list<LeadHintRow>('lead-hints', query)) {
      if (row.lead_id === leadId || !mayActFor(call, row.owner)) continue;
      const { same = [] } = alike.get(row.lead_id) ?? {};
      if (!same.includes(kind)) alike.set(row.lead_id, { row, same: [...same, kind] });
    }
  };
  if (own.phone !== undefined) await add('phone', own.phone);
  for (const domain of own.domains) await add('domain', domain);
  const newest = [...alike.values()]
    .toSorted((one, other) => other.row.sort - one.row.sort)
    .slice(0, ALIKE_MAX);
  const shown = newest.map(async ({ row: { owner, lead_id }, same }) => {
    const state = await leadOf(deps, owner, lead_id);
    return state && { lead_id, owner_id: owner, state: stateAt(state, call.at), same };
  });
  return (await Promise.all(shown)).filter((lead) => lead !== undefined);
};
