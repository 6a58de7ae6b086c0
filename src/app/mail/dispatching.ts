import { OPEN_RECORDS } from '#src/ports/rows.ts';
import type { Work } from '../dispatch/dispatcher.ts';
import { performAsSystem } from '../pipeline/system-pipeline.ts';
import { dispatchMail, type MailSendingDeps } from './dispatch-mail.ts';

/** Sends queued mail when it is due. */
export const mailWork = (deps: MailSendingDeps): Work => {
  const perform = performAsSystem(deps, { dispatchMail });
  return {
    readModel: 'open-mail',
    scope: OPEN_RECORDS,
    itemOf: ({ type, data }) =>
      type.startsWith('Mail') ? (data as { mail_id: string }).mail_id : undefined,
    changedBy: () => [],
    ownerEvents: /^Outreach(Halted|Resumed)$/,
    advance: (ownerId, mail_id, signal) =>
      perform('dispatchMail', { ownerId, signal, input: { mail_id } }),
  };
};
