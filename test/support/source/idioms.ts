import type { SourceFile } from './tree.ts';

/** Idioms of an earlier style, and what to write instead. */
const IDIOMS: readonly [pattern: RegExp, instead: string][] = [
  [/\bwhoever\b/i, 'name the person or the process'],
  [/\bof (whom|which) nobody\b/i, 'a sentence with a subject'],
  [/\bstands (in|there|behind|beside|before|still)\b/, 'is, is stored, exists'],
  [/\bwhat is over goes\b/i, 'evicts expired entries'],
  [/\b(is|are|was|were) told\b/, 'gets, is notified, is answered'],
  [/\bfor ever\b/, 'permanently, without a limit'],
  [/\b(same|one|a) road\b/, 'pipeline'],
  [/\bgoes on\b/, 'continues'],
  [/(^|[.*/]\s)Else\b/m, 'otherwise'],
  [/\bon record\b/i, 'audited'],
  [/\bafresh\b/, 'again, from the start'],
  [/\b(un)?born(e)?\b/, 'awaiting activation, activated'],
  [/\bthe house\b/, 'the repository, the service'],
];

/** Idioms in the text of files, comments and messages included. */
export const idiomsIn = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    IDIOMS.filter(([pattern]) => pattern.test(text)).map(
      ([pattern, instead]) => `${path} has ${String(pattern)}: write ${instead}`,
    ),
  );
