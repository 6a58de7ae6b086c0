/** The text of the letter to staff about an agent that submits known contacts. */
import type { LetterTexts } from '#src/sending/letters.ts';

export const leadLetters: LetterTexts<'contacts_stopped'> = {
  contacts_stopped: ({ owner_id, agent_id, contacts }) => ({
    subject: `Contacts of ${agent_id} are refused today`,
    paragraphs: [
      `The agent ${agent_id} of the promoter ${owner_id} submitted ${contacts} contacts today that are known already, ` +
        'so it can submit no more contacts until midnight UTC. It may be asking who is known here.',
      `Suspend it with: tributary access suspend ${agent_id}`,
    ],
  }),
};
