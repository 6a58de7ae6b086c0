/** The texts of letters to owners about access: of an application, and of a decision. */
import { AGENT_BASE } from '#contracts/places.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

const OUTCOMES = { granted: 'granted', partial: 'granted in part', denied: 'denied' };

export const accessLetters: LetterTexts<'application' | 'access_decision'> = {
  application: ({ path, until }, { origin }) => ({
    subject: 'Confirm your application',
    paragraphs: [
      {
        text:
          'Somebody entered this address and applied for access for a software agent. If that was you, open this page and ' +
          'confirm the application:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Staff see the application once it is confirmed.`,
      'If it was not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
  access_decision: ({ agent_id, name, outcome, scopes, reason, key_link: link }, { origin }) => ({
    subject: `Access of ${agent_id}: ${OUTCOMES[outcome]}`,
    paragraphs: [
      `Staff decided on the access of your agent ${name} (${agent_id}): ${OUTCOMES[outcome]}.`,
      `Its scopes now: ${scopes.length > 0 ? scopes.join(', ') : 'none'}.`,
      `Reason: ${reason}`,
      ...(link
        ? [
            {
              text: `Get the key of the agent, once, until ${writerFor(HOUSE_LOCALE).moment(link.until)}:`,
              link: `${origin}${link.path}`,
            },
          ]
        : []),
      {
        text: 'The agent sees this with its key: GET',
        link: `${origin}${AGENT_BASE}/connection`,
      },
    ],
  }),
};
