import { OPEN_RECORDS } from '#src/ports/rows.ts';
import type { Work } from '../dispatch/dispatcher.ts';
import { performAsSystem } from '../pipeline/system-pipeline.ts';
import { dispatchOutbound, type SendingDeps } from './sending.ts';

/** Sends approved requests when they are due. */
export const outreachWork = (deps: SendingDeps): Work => {
  const perform = performAsSystem(deps, { dispatchOutbound });
  return {
    readModel: 'open-outbound',
    scope: OPEN_RECORDS,
    itemOf: ({ type, data }) =>
      type.startsWith('Outbound') ? (data as { outbound_id: string }).outbound_id : undefined,
    changedBy: () => [],
    ownerEvents: /^(Outreach|Agent)/,
    advance: (ownerId, outbound_id, signal) =>
      perform('dispatchOutbound', { ownerId, signal, input: { outbound_id } }),
  };
};
