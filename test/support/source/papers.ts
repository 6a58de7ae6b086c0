import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT, type SourceFile } from './tree.ts';

/** Folders with papers; those marked `deep` are read with everything below them. */
const FOLDERS = [
  { folder: '.', deep: false },
  { folder: 'contracts', deep: true },
  { folder: 'infra', deep: false },
  { folder: 'infra/decisions', deep: false },
  { folder: 'test', deep: true },
];

/** Returns every Markdown file of the repository, by its path from the root. */
export const papers = (): SourceFile[] =>
  FOLDERS.flatMap(({ folder, deep }) =>
    readdirSync(join(ROOT, folder), { recursive: deep, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map((entry) => {
        const full = join(entry.parentPath, entry.name);
        return { path: relative(ROOT, full), text: readFileSync(full, 'utf8') };
      }),
  );

/** Counts words as `wc -w` does. */
export const countWords = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** Returns the contents of inline code, and each line of a fenced block without its comment. */
export const codeIn = (text: string): string[] => {
  const fences = [...text.matchAll(/^```.*\n([^]*?)^```/gm)].map(([, block = '']) => block);
  const prose = text.replaceAll(/^```.*\n[^]*?^```/gm, '');
  return [
    ...[...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
    ...fences.flatMap((block) => block.split('\n')).map((line) => line.replace(/\s# .*$/, '')),
  ];
};

/** Returns the anchors that headings of a paper have on GitHub. */
export const anchorsIn = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
