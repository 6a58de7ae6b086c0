import { OPEN_RECORDS } from '#src/ports/rows.ts';
import type { Work } from './dispatcher.ts';
import { systemCall } from '#src/calls/system-call.ts';
import { dispatchMail, type MailSendingDeps } from './dispatch-mail.ts';

export const mailWork = (deps: MailSendingDeps): Work => ({
  readModel: 'open-mail',
  scope: OPEN_RECORDS,
  itemOf: ({ type, data }) =>
    type.startsWith('Mail') ? (data as { mail_id: string }).mail_id : undefined,
  changedBy: () => [],
  ownerEvents: /^Outreach(Halted|Resumed)$/,
  advance: (ownerId, id, signal) =>
    dispatchMail(deps, id, systemCall(deps, 'dispatchMail', { ownerId, signal })),
});
