import { OPEN_RECORDS } from '#src/ports/rows.ts';
import type { Work } from '#src/sending/dispatcher.ts';
import { systemCall } from '#src/calls/system-call.ts';
import { dispatchOutbound, type SendingDeps } from './send-outbound.ts';

export const outreachWork = (deps: SendingDeps): Work => ({
  readModel: 'open-outbound',
  scope: OPEN_RECORDS,
  itemOf: ({ type, data }) =>
    type.startsWith('Outbound') ? (data as { outbound_id: string }).outbound_id : undefined,
  changedBy: () => [],
  ownerEvents: /^(Outreach|Agent)/,
  advance: (ownerId, id, signal) =>
    dispatchOutbound(deps, id, systemCall(deps, 'dispatchOutbound', { ownerId, signal })),
});
