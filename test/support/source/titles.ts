/** Finds test titles that mean nothing in a list of failures, for the law in tidy.test.ts. */
import { type Argument, type Expression, parseSync, Visitor } from 'oxc-parser';
import type { SourceFile } from './tree.ts';

/** The function at the beginning of a call: `it` of `it.each(CASES)('…')`. */
const callee = (node: Expression): string | undefined => {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'CallExpression') return callee(node.callee);
  if (node.type === 'TaggedTemplateExpression') return callee(node.tag);
  return node.type === 'MemberExpression' ? callee(node.object) : undefined;
};

const textOf = (node: Argument | undefined): string | undefined => {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  return node?.type === 'TemplateLiteral' ? node.quasis[0]?.value.raw : undefined;
};

/** A title without a subject of its own: a lower-case word begins it, or a placeholder is all of it. */
const CONTINUES = /^(?:[a-z]+(?![^\s,:;])|[%$][\w.]+$)/;

/** Test titles that continue the title of their describe. A name in camelCase or backticks may begin a title. */
export const continuedTitles = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) => {
    const titles: string[] = [];
    new Visitor({
      CallExpression(call) {
        const title = textOf(call.arguments[0]);
        if (title === undefined || call.arguments.length < 2) return;
        if (/^(?:it|test)$/.test(callee(call.callee) ?? '') && CONTINUES.test(title))
          titles.push(`${path}: ${title}`);
      },
    }).visit(parseSync(path, text).program);
    return titles;
  });
