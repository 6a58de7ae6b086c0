import type { SendMailOptions } from 'nodemailer';
import type { MailDelivery } from '#src/ports/mailer.ts';

/**
 * The options from which nodemailer makes the message. The same delivery gives the same bytes at each attempt: its id is
 * in the Message-ID, and separates the parts.
 */
export const mailOptions = (
  from: string,
  { id, to, subject, text, html, at }: MailDelivery,
): SendMailOptions => ({
  from,
  // As an object, because a text would be parsed as a list of addresses.
  to: { name: '', address: to },
  subject,
  text,
  html,
  messageId: `<${id}@${/@([^>]+)/.exec(from)?.[1] ?? 'localhost'}>`,
  date: new Date(at),
  baseBoundary: id,
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
});
