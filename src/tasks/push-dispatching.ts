import { OPEN_PUSH } from '#src/ports/rows.ts';
import type { Work } from '#src/sending/dispatcher.ts';
import { systemCall } from '#src/calls/system-call.ts';
import { recordOfStream } from '#src/writing/streams.ts';
import { dispatchPush, type PushSendingDeps } from './dispatch-push.ts';

/** Notifies the receivers of tasks of their changes. */
export const pushWork = (deps: PushSendingDeps): Work => ({
  readModel: 'push-configs',
  scope: OPEN_PUSH,
  itemOf: ({ type, data }) =>
    type.startsWith('Push') ? (data as { push_id: string }).push_id : undefined,
  changedBy: ({ stream, data }) => [(data as { task_id?: string }).task_id, recordOfStream(stream)],
  ownerEvents: /^(Access|Agent|Key)/,
  advance: (ownerId, id, signal) =>
    dispatchPush(deps, id, systemCall(deps, 'dispatchPush', { ownerId, signal })),
});
