/** The records for which staff plan: leads, RFQs and requests for access. */
import { ALL_RFQS, OPEN_RECORDS } from '#src/ports/rows.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { type DeskDeps, mayActFor } from '../pipeline/desk-handler.ts';
import { refuse } from '../pipeline/outcome.ts';
import { ownerFor } from '../records/find-owner.ts';
import { handoffOf, leadOf } from '../records/streams.ts';

export type RecordRef = { record_id: string; owner_id?: string | undefined };

export const NO_RECORD = refuse('resource_not_found', 'There is no such record.');

export const planStream = (ownerId: string, recordId: string): string =>
  `${ownerId}-plan_${recordId}`;

/** The owner of a lead, an RFQ or an agent; undefined if there is none, or if the caller may not act for its owner. */
export const ownerOfPlanned = async (
  deps: Pick<DeskDeps, 'log' | 'readModels' | 'credentials'>,
  call: DeskCall,
  { record_id: id, owner_id }: RecordRef,
): Promise<string | undefined> => {
  if (id.startsWith('agt_')) {
    const owner = deps.credentials.agent(id)?.owner;
    return owner !== undefined && mayActFor(call, owner) ? owner : undefined;
  }
  if (id.startsWith('led_')) {
    const listed = ['open-leads', OPEN_RECORDS] as const;
    const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'lead', id });
    return owner !== undefined && (await leadOf(deps, owner, id)) ? owner : undefined;
  }
  const listed = ['rfqs', ALL_RFQS] as const;
  const owner = await ownerFor(deps, call, { owner_id, listed, kind: 'handoff', id });
  return owner !== undefined && (await handoffOf(deps, owner, id))?.rfq ? owner : undefined;
};
