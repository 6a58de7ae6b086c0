import type { Verbs } from './verb.ts';
import { exportText, foundText } from '../texts/record-text.ts';

export const PRIVACY_VERBS: Verbs = {
  findPersonalData: { words: 'privacy find', args: ['mailbox'], text: foundText },
  exportPersonalData: { words: 'privacy export', args: ['mailbox'], text: exportText },
  refuseContact: { words: 'privacy withdraw', args: ['mailbox'] },
  allowContact: { words: 'privacy lift', args: ['mailbox'] },
  erasePersonalData: { words: 'privacy erase', args: ['mailbox'] },
};
