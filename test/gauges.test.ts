import { describe, expect, it } from 'vitest';
import {
  backwardImports,
  folderCircles,
  importCircles,
  singleImporterFiles,
} from '../infra/scripts/gauges.ts';

const planted = [
  { path: 'src/leads/a.ts', text: "import { b } from './b.ts'; import { d } from './d.ts';" },
  { path: 'src/leads/b.ts', text: "import type { C } from './c.ts'; import 'zod';" },
  { path: 'src/leads/c.ts', text: "import { a } from './a.ts'; import { a2 } from './a.ts';" },
  { path: 'src/leads/d.ts', text: "export { c } from './c.ts';" },
  { path: 'src/leads/e.ts', text: "const { d } = await import('./d.ts');" },
  { path: 'src/leads/f.ts', text: "import { e } from './e.ts';" },
];

describe('The gauges of the source', () => {
  it('The gauges of the source find an import circle, through types and re-exports, and no file beside it', () => {
    const circle = ['a', 'b', 'c', 'd'].map((name) => `src/leads/${name}.ts`);
    expect(importCircles(planted)).toEqual([circle]);
    expect(importCircles(planted.filter(({ path }) => path !== 'src/leads/c.ts'))).toEqual([]);
  });

  it('The gauges of the source count a file with one importer once, however often that file imports it', () => {
    expect(singleImporterFiles(planted)).toEqual([
      'src/leads/a.ts',
      'src/leads/b.ts',
      'src/leads/e.ts',
    ]);
  });

  it('The gauges of the source find a circle of folders without a circle of files, and count deciders apart', () => {
    const files = [
      { path: 'src/leads/a.ts', text: "import { b } from '../links/b.ts';" },
      { path: 'src/leads/lead.decider.ts', text: '' },
      { path: 'src/links/c.ts', text: "import type { D } from '../plans/d.ts';" },
      { path: 'src/links/b.ts', text: "import { lead } from '../leads/lead.decider.ts';" },
      { path: 'src/plans/d.ts', text: '' },
    ];
    expect(folderCircles(files)).toEqual([]);
    const back = { path: 'src/plans/e.ts', text: "import { a } from '../leads/a.ts';" };
    expect(importCircles([...files, back])).toEqual([]);
    expect(folderCircles([...files, back])).toEqual([['leads', 'links', 'plans']]);
  });

  it('The gauges of the source find the imports of later capabilities, but allow deciders everywhere', () => {
    expect(
      backwardImports([
        { path: 'src/leads/lead.decider.ts', text: '' },
        { path: 'src/handoffs/list.ts', text: "import { lead } from '../leads/lead.ts';" },
        { path: 'src/handoffs/list.decider.ts', text: '' },
        { path: 'src/leads/lead.ts', text: "import { a } from '../handoffs/list.decider.ts';" },
        { path: 'src/leads/early.ts', text: "import type { A } from '../handoffs/list.ts';" },
      ]),
    ).toEqual(['src/leads/early.ts imports src/handoffs/list.ts']);
  });
});
