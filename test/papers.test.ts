/** Checks that the papers are short, that their links lead somewhere, and that their commands exist. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { program } from '#src/cli/program.ts';
import { anchorsIn, codeIn, countWords, papers } from './support/source/papers.ts';
import { ROOT, type SourceFile } from './support/source/tree.ts';

const WORDS_MAX = 30_000;
const RUNBOOK_WORDS_MAX = 3_500;
const README_LINES_MAX = 150;

const all = papers();
const paper = (path: string): string => {
  const found = all.find((each) => each.path === path);
  if (!found) throw new Error(`there is no ${path}`);
  return found.text;
};

/** Returns the relative links that name no file, or no heading of a paper. */
const brokenLinks = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, file = '', anchor]) => {
        const target = file === '' ? path : normalize(join(dirname(path), file));
        const isThere = existsSync(join(ROOT, target));
        const isBroken =
          !isThere ||
          (anchor !== undefined &&
            !anchorsIn(readFileSync(join(ROOT, target), 'utf8')).includes(anchor));
        return isBroken ? [`${path}: ${link}`] : [];
      },
    ),
  );

/** Splits a command line at spaces outside quotes. */
const wordsOf = (line: string): string[] => line.match(/"[^"]*"|\S+/g) ?? [];

/** Names what is wrong with a command line of `tributary`, or returns undefined. */
const faultOf = (line: string): string | undefined => {
  const [, ...words] = wordsOf(line);
  if (words[0] === 'help' || words[0] === '--help' || words[0] === '--version') return undefined;
  let at: Command = program();
  let used = 0;
  for (const word of words) {
    if (at.commands.length === 0 || !/^[a-z]/.test(word)) break;
    const next = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!next) return `there is no ${word} in ${line}`;
    at = next;
    used += 1;
  }
  const flags = words.slice(used).filter((word) => word.startsWith('--'));
  const wrong = flags.find((flag) => !at.options.some(({ long }) => long === flag));
  return wrong === undefined ? undefined : `there is no ${wrong} in ${line}`;
};

const commandsIn = (text: string): string[] =>
  codeIn(text).filter((code) => /^(?:\.\/)?tributary [a-z-]/.test(code));

it('The papers together have at most 30,000 words, the README 150 lines, and the runbook 3,500 words', () => {
  expect(all.length).toBeGreaterThan(30);
  const words = all.reduce((sum, { text }) => sum + countWords(text), 0);
  expect(words).toBeLessThanOrEqual(WORDS_MAX);
  expect(countWords(paper('infra/OPERATING.md'))).toBeLessThanOrEqual(RUNBOOK_WORDS_MAX);
  expect(paper('README.md').split('\n').length - 1).toBeLessThanOrEqual(README_LINES_MAX);
});

it('Every relative link of a paper leads to a file, and its anchor to a heading', () => {
  const path = 'infra/planted.md';
  expect(brokenLinks([{ path, text: '[a](OPERATING.md#mail)' }])).toEqual([]);
  expect(brokenLinks([{ path, text: '[a](NONE.md) [b](OPERATING.md#none)' }])).toHaveLength(2);
  expect(brokenLinks(all)).toEqual([]);
});

it('Every command of tributary that a paper shows exists, with its flags', () => {
  expect(faultOf('tributary audit nothing')).toContain('nothing');
  expect(faultOf('tributary audit check --everything')).toContain('--everything');
  const shown = all.flatMap(({ text }) => commandsIn(text));
  expect(shown.length).toBeGreaterThan(60);
  expect(shown.flatMap((line) => faultOf(line) ?? [])).toEqual([]);
});

it('Every decision is in the list of decisions, and says what was considered', () => {
  const list = paper('infra/decisions/README.md');
  const records = all.filter(({ path }) => /^infra\/decisions\/\d/.test(path));
  expect(records.length).toBeGreaterThan(20);
  for (const { path, text } of records) {
    expect(list, path).toContain(`](${path.split('/').at(-1)})`);
    if (path.includes('/0002-')) continue;
    for (const part of ['Context', 'Decision', 'Considered', 'Consequences'])
      expect(text, path).toContain(`**${part}.**`);
  }
});
