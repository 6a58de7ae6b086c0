import { parseSync } from 'oxc-parser';
import type { SourceFile } from './tree.ts';

type Node = { type?: string } & Record<string, unknown>;

/** Statements cited in tests that always run, in tests that may be skipped, and outside of tests. */
type Cited = { shown: string[]; skipped: string[]; astray: string[] };

const TESTS = ['it', 'test'];
const SUITES = ['describe'];
const MAY_SKIP = ['skip', 'skipIf', 'runIf', 'todo', 'fails'];

/** Returns the identifiers of a callee such as `describe.skipIf(absent).each(rows)`. */
const wordsOf = (callee: unknown): string[] => {
  const { type, name, object, property, callee: inner, tag } = (callee ?? {}) as Node;
  if (type === 'Identifier') return [String(name)];
  if (type === 'MemberExpression') return [...wordsOf(object), ...wordsOf(property)];
  return type === 'CallExpression' || type === 'TaggedTemplateExpression'
    ? wordsOf(inner ?? tag)
    : [];
};

/** Returns the statements in the calls of verifies() in a file, by the kind of test around each call. */
export const citedIn = ({ path, text }: SourceFile): Cited => {
  const cited: Cited = { shown: [], skipped: [], astray: [] };
  const look = (node: unknown, at: { isTest: boolean; maySkip: boolean }): void => {
    if (typeof node !== 'object' || node === null) return;
    let within = at;
    const { type, callee, arguments: given } = node as Node;
    if (type === 'CallExpression') {
      const [first = '', ...words] = wordsOf(callee);
      if (first === 'verifies') {
        const named = (given as Node[]).map(({ value }) => String(value));
        const whole = at.isTest ? cited.shown : cited.astray;
        (at.isTest && at.maySkip ? cited.skipped : whole).push(...named);
      }
      if ([...TESTS, ...SUITES].includes(first))
        within = {
          isTest: at.isTest || TESTS.includes(first),
          maySkip: at.maySkip || words.some((word) => MAY_SKIP.includes(word)),
        };
    }
    for (const value of Object.values(node)) look(value, within);
  };
  look(parseSync(path, text).program.body, { isTest: false, maySkip: false });
  return cited;
};
