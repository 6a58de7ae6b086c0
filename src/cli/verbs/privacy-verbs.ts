/** Rows for the operations on all records of a person. */
import { exportText, foundText } from '../texts/privacy-text.ts';
import type { Verbs } from './verb.ts';

export const PRIVACY_VERBS: Verbs = {
  findPersonalData: { words: 'privacy find', args: ['mailbox'], text: foundText },
  exportPersonalData: { words: 'privacy export', args: ['mailbox'], text: exportText },
  refuseContact: { words: 'privacy withdraw', args: ['mailbox'] },
  allowContact: { words: 'privacy lift', args: ['mailbox'] },
  erasePersonalData: { words: 'privacy erase', args: ['mailbox'] },
};
