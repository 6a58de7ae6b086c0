/** The messages that wait to be sent; the dispatcher of mail reads them at its start. */
import { MAIL_EVENTS } from '#contracts/registries/events.ts';
import { foldMail } from '#src/sending/mail.decider.ts';
import { openRecords } from './open-records.ts';

/** The messages of all owners that the dispatcher has not brought to their end. */
export const openMail = openRecords({
  name: 'open-mail',
  version: 1,
  handles: MAIL_EVENTS,
  begins: 'MailQueued',
  keyOf: ({ data }) => data.mail_id,
  fold: foldMail,
  isSettled: ({ status }) => status !== 'open',
  lists: () => [],
});
