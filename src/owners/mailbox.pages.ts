/** The page on which an owner confirms a mailbox. */
import { html } from 'hono/html';
import type { FastifyInstance } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import type { App } from '#src/registries/app.ts';
import type { MailboxToConfirm } from './confirm-mailbox.ts';
import { mailboxPath } from './profile.ts';
import { servePage } from '#src/web/holder-admission.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { type Html, type Page, sendPage } from '#src/web/layout.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

/** The operation of each button, by the last segment of its path. */
const BUTTONS = { confirm: 'confirmOwnMailbox', 'not-me': 'disownMailbox' } as const;

/** The page behind the link that confirms the mailbox of an owner. */
export const mailboxRoutes = (scope: FastifyInstance, app: App): Promise<void> => {
  const { holders } = app;
  return servePage(scope, app, {
    linkTo: 'mailbox',
    buttons: BUTTONS,
    otherwise: 'readOwnMailbox',
    path: mailboxPath,
    read: (admission) => holders.perform(admission, 'readOwnMailbox', { input: {} }),
    page: mailboxPage,
    async press({ button, admission }, reply) {
      const outcome = await holders.perform(admission, BUTTONS[button], { input: {} });
      if (outcome.ok && button === 'not-me') return sendPage(reply, 200, DISOWNED);
      if (outcome.ok || outcome.code === 'state_conflict')
        return reply.redirect(mailboxPath(admission.caller.token), 303);
      return sendRefusal(reply, outcome);
    },
  });
};

export const lonePage = (title: string, body: Html): Page => ({
  title,
  main: html`<article class="review"><header class="head"><h1>${title}</h1></header>${body}</article>`,
});

/** The button of a person whose address somebody else entered. `what` happens then, as sentences. */
export const notMe = (action: string, what: string): Html =>
  html`<details class="card"><summary>This was not me</summary>
<p>${what} For ${LIMITS.MAILBOX_BLOCK_DAYS} days this service sends no message of this kind to your address.</p>
<form method="post" action="${action}"><button type="submit" class="second">I did not ask for this</button></form></details>`;

const mailboxPage = (
  token: string,
  { ownerId, name, mailbox, isConfirmed, until }: MailboxToConfirm,
): Page =>
  isConfirmed
    ? lonePage(
        'Your mailbox is confirmed',
        html`<p class="lede">Notices to the promoter ${ownerId} are sent to ${mailbox}.</p>`,
      )
    : lonePage(
        'Confirm your mailbox',
        html`<p class="lede">Staff entered ${mailbox} as the mailbox of ${name}, the promoter ${ownerId}. If that is you,
confirm it: then you get the decisions on access for your agents, and notices of confirmed and won requests for a quotation.
They never have a contact of a buyer.</p>
<form method="post" action="${mailboxPath(token)}/confirm" class="card">
<p>You can confirm it until ${writerFor(HOUSE_LOCALE).moment(until)}.</p>
<button type="submit">Confirm the mailbox</button></form>
${notMe(`${mailboxPath(token)}/not-me`, 'The entry is removed, and your address with it.')}`,
      );

const DISOWNED = lonePage(
  'Your address is removed',
  html`<p class="lede">The entry is removed, and your address with it. You get no more such messages.</p>`,
);
