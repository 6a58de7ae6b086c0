import {
  parseSync,
  Visitor,
  type Function as FunctionNode,
  type ArrowFunctionExpression,
} from 'oxc-parser';
import type { SourceFile } from './tree.ts';

/** A function of a file, with its length in lines, nested functions included. */
export type FunctionShape = { path: string; line: number; lines: number };

const lineCounter = (text: string) => {
  const starts = [...text.matchAll(/\n/g)].map(({ index }) => index);
  return (offset: number): number => starts.filter((start) => start < offset).length + 1;
};

/** Every function of a file that has a body: declarations, arrow functions, methods. */
export const functionsOf = ({ path, text }: SourceFile): FunctionShape[] => {
  const lineAt = lineCounter(text);
  const shapes: FunctionShape[] = [];
  const add = ({ start, end }: FunctionNode | ArrowFunctionExpression): void => {
    const line = lineAt(start);
    shapes.push({ path, line, lines: lineAt(end) - line + 1 });
  };
  new Visitor({
    FunctionDeclaration: add,
    FunctionExpression: add,
    ArrowFunctionExpression: add,
  }).visit(parseSync(path, text).program);
  return shapes;
};

/** Names that a file defines and exports. What it exports again from another module is not in it. */
export const exportedNames = ({ path, text }: SourceFile): string[] =>
  parseSync(path, text).module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, exportName: { name } }) =>
      moduleRequest || name === null ? [] : [name],
    ),
  );

/** Doc comments after the beginning of a file that no declaration follows, such as heads of files that were joined. */
export const strayComments = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(/^ *\/\*\*(?:[^*]|\*(?!\/))*\*\/\n(?=\n| *(?:\/[*/]|[)}\]]))/gm)]
      .filter(({ index }) => index > 0)
      .map(({ index }) => `${path}:${lineCounter(text)(index)}`),
  );
