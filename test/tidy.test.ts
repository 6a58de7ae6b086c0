import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
import { packagesFrom } from './support/source/reach.ts';
import { exportedNames, functionsOf, strayComments } from './support/source/shapes.ts';
import { idiomsIn } from './support/source/idioms.ts';
import { layerTable } from './support/source/layer-table.ts';
import { papers } from './support/source/papers.ts';
import { continuedTitles } from './support/source/titles.ts';
import {
  bannedWords,
  layerFaults,
  ROOT,
  type SourceFile,
  sourceFiles,
} from './support/source/tree.ts';

const product = sourceFiles('contracts', 'src', 'projections');
const everything = [...product, ...sourceFiles('test', 'infra/scripts')];

const FUNCTION_LINES_MAX = 60;

describe('the repository', () => {
  it("The tidy rules find the repository's source files", () => {
    expect(product.length).toBeGreaterThan(100);
  });

  it('No import is forbidden by the rules of its layer', () => {
    expect(layerFaults(product)).toEqual([]);
  });

  it('The layer rules find a forbidden import in every layer', () => {
    const planted = [
      { path: 'contracts/planted.ts', text: "import { x } from '#src/writing/streams.ts';" },
      { path: 'src/leads/planted.decider.ts', text: "import { z } from 'zod';" },
      {
        path: 'src/leads/planted2.decider.ts',
        text: "import { leadOf } from '#src/writing/streams.ts';",
      },
      {
        path: 'src/ports/planted.ts',
        text: "import type { Outcome } from '#src/shared/outcome.ts';",
      },
      { path: 'src/shared/planted.ts', text: "import { hashOf } from '#src/writing/streams.ts';" },
      {
        path: 'projections/planted.ts',
        text: "import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';",
      },
      { path: 'src/leads/planted.ts', text: "import Fastify from 'fastify';" },
      {
        path: 'src/leads/planted2.ts',
        text: "export { redisStore } from '#src/stores/redis/read-model.ts';",
      },
      {
        path: 'src/leads/planted3.ts',
        text: "import { createHandoff } from '../handoffs/create-handoff.ts';",
      },
      {
        path: 'src/leads/planted4.ts',
        text: "import type { Review } from '../handoffs/review.ts';",
      },
      { path: 'src/leads/planted5.ts', text: "import { page } from './lead.pages.ts';" },
      { path: 'src/registries/planted.ts', text: "import { page } from '../leads/lead.pages.ts';" },
      { path: 'src/web/planted.ts', text: "import { submitLead } from '../leads/submit-lead.ts';" },
      { path: 'src/leads/planted.pages.ts', text: "import Fastify from 'fastify';" },
      {
        path: 'src/leads/planted2.pages.ts',
        text: "import { openStore } from '#src/stores/sqlite/open.ts';",
      },
      {
        path: 'src/stores/planted.ts',
        text: "import { Pipeline } from '../calls/pipeline.ts';",
      },
      {
        path: 'src/stores/eventstoredb/planted.ts',
        text: "import { reading } from '../sqlite/failure.ts';",
      },
      {
        path: 'src/stores/redis/planted2.ts',
        text: "import { END } from '@eventstore/db-client';",
      },
      {
        path: 'src/stores/redis/planted.ts',
        text: "import { openStore } from '../sqlite/open.ts';",
      },
      { path: 'src/stores/sqlite/planted.ts', text: "import { Redis } from 'ioredis';" },
      {
        path: 'src/stores/sqlite/planted2.ts',
        text: "import { redisStore } from '../redis/read-model.ts';",
      },
      { path: 'src/system/planted.ts', text: "import { foldOf } from '../writing/fold.ts';" },
      { path: 'src/delivery/planted.ts', text: "import { foldOf } from '../writing/fold.ts';" },
      { path: 'src/config.ts', text: "import { openService } from './main.ts';" },
      {
        path: 'src/audits/planted.ts',
        text: "const { openStore } = await import('#src/stores/sqlite/open.ts');",
      },
      { path: 'src/demo/planted.ts', text: "import { openService } from '#src/main.ts';" },
      { path: 'src/cli/planted.ts', text: "import { DatabaseSync } from 'better-sqlite3';" },
      { path: 'src/planted.ts', text: '' },
      { path: 'src/anywhere/planted.ts', text: '' },
    ];
    expect(layerFaults(planted)).toHaveLength(planted.length);
  });

  it('No decider or projection reaches I/O', () => {
    const entries = product
      .map(({ path }) => path)
      .filter((path) => path.endsWith('.decider.ts') || /^projections\/[^/]+\.ts$/.test(path));
    expect(entries.length).toBeGreaterThan(25);
    // They compute hashes, and do no I/O.
    expect(packagesFrom(entries)).toEqual(['canonicalize', 'node:crypto', 'zod']);
  });

  it('The I/O rule finds the I/O that a module reaches through others', () => {
    expect(packagesFrom(['src/system/secrets.ts'])).toContain('node:fs');
  });

  it('AGENTS.md shows the table of import rules', () => {
    const text = readFileSync(join(ROOT, 'AGENTS.md'), 'utf8');
    expect(text).toContain(`\n${layerTable()}\n`);
  });

  it('The repository contains none of the banned constructs', () => {
    expect(
      bannedWords(
        everything.filter(
          ({ path }) => !/^test\/(support\/source\/tree|tidy\.test)\.ts$/.test(path),
        ),
      ),
    ).toEqual([]);
  });

  it('The construct rule finds each banned construct', () => {
    const words = [
      'export enum A { B }',
      'namespace A { }',
      'process.env.HOME',
      'Date.now()',
      'new Date()',
      'randomUUID()',
      'console.log(1)',
      'x as any',
      '// TODO later',
      "import { type A, type B } from './b.ts';",
      'export default 1;',
    ];
    const planted = words.map((text, i) => ({ path: `src/planted-${i}.ts`, text }));
    expect(bannedWords(planted)).toHaveLength(words.length);
  });

  it('Code and documents contain none of the banned idioms', () => {
    expect(idiomsIn([...product, ...papers()])).toEqual([]);
  });

  it('The idiom rule finds each banned idiom', () => {
    const texts = [
      '// Whoever folds it.',
      '// A key of which nobody knows.',
      '// It stands in the log.',
      '// What is over goes.',
      '// The answer is told.',
      '// Kept for ever.',
      '// The same road.',
      '// The read goes on.',
      '// Else it waits.',
      '// On record.',
      '// Folded afresh.',
      '// A space is born.',
      '// Of the house.',
    ];
    const planted = texts.map((text, i) => ({ path: `src/planted-${i}.ts`, text }));
    expect(idiomsIn(planted)).toHaveLength(texts.length);
  });

  it('Each test title is a sentence that needs no describe', () => {
    expect(continuedTitles(sourceFiles('test'))).toEqual([]);
  });

  it('The title rule finds each form of a title that continues its describe', () => {
    const texts = [
      "it('answers a read', () => {});",
      'test(`is refused at once`, () => {});',
      'test(`is refused ${HOW}`, () => {});',
      "it.each(CASES)('refuses %s', () => {});",
      "it.skipIf(IS_SLOW)(\n  'keeps its key',\n  () => {},\n);",
      "it.each([\n  ['a'],\n])('has no %s', () => {});",
      "test.each(CASES)('%s', () => {});",
      "test.for(CASES)('$name', () => {});",
      "it('closes', () => {});",
    ];
    const planted = texts.map((text, i) => ({ path: `test/planted-${i}.ts`, text }));
    expect(continuedTitles(planted)).toHaveLength(texts.length);
    const whole = ['A read is answered', '`close` ends it', 'readAll ends', '%s is refused'];
    const text = whole.map((title) => `it('${title}', () => {});`).join('\n');
    expect(continuedTitles([{ path: 'test/planted.ts', text }])).toEqual([]);
  });

  it('Each file says at its beginning what it is', () => {
    const silent = product.filter(({ text }) => !text.startsWith('/*'));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  it('Each doc comment after the beginning of a file is followed by its declaration', () => {
    expect(strayComments(product)).toEqual([]);
    const planted = [
      '/** Stray. */\n\n/** A. */',
      '/**\n * Stray.\n */\n\nconst a = 1;',
      '  /** A. */\n}',
    ];
    const files = planted.map((text, i) => ({
      path: `src/${i}.ts`,
      text: `/** Head. */\n${text}\n`,
    }));
    expect(strayComments(files)).toHaveLength(planted.length);
  });

  it('No function has more than 60 lines', () => {
    const functions = product.flatMap(functionsOf);
    expect(functions.length).toBeGreaterThan(1_000);
    const places = functions
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ path, line }) => `${path}:${line}`);
    expect(places).toEqual([]);
  });

  it('The length rule finds a function that is too long', () => {
    const text = `const f = (a) => {\n${'g();\n'.repeat(60)}};`;
    expect(functionsOf({ path: 'src/planted.ts', text })).toEqual([
      { path: 'src/planted.ts', line: 1, lines: 62 },
    ]);
  });

  it('Each name is exported from one file; an operation and its handler share the id of the operation', () => {
    const ids = new Set([...Object.keys(agentOperations), ...Object.keys(deskOperations)]);
    const filesByName = new Map<string, string[]>();
    for (const file of product)
      for (const name of exportedNames(file)) {
        const isHandler = ids.has(name) && file.path.startsWith('src/');
        const key = isHandler ? `handler of ${name}` : name;
        filesByName.set(key, [...(filesByName.get(key) ?? []), file.path]);
      }
    expect(filesByName.size).toBeGreaterThan(1_000);
    expect([...filesByName].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });

  it('No file names a path of a machine', () => {
    const paths = everything.filter(
      ({ path, text }) => path !== 'test/tidy.test.ts' && /\/work\/|\/root\//.test(text),
    );
    expect(paths.map(({ path }) => path)).toEqual([]);
  });
});

describe('the registries', () => {
  it('The registries contain one contract and one handler for each operation of agents, exported by its id', () => {
    const exporting = (folder: string, id: string): string[] =>
      product
        .filter(({ path }) => path.startsWith(folder))
        .filter((file) => exportedNames(file).includes(id))
        .map(({ path }) => path);
    for (const id of Object.keys(operations)) {
      expect(exporting('contracts/', id), id).toHaveLength(1);
      expect(exporting('src/', id), id).toHaveLength(1);
    }
  });

  it('The registries collect operations whose contract and handler are in folders of the same name', async () => {
    const folderOf = ({ path }: SourceFile): string => path.split('/')[1] ?? '';
    const homes = new Map<string, string>();
    for (const file of product.filter(({ path }) => path.endsWith('/operations.ts'))) {
      const exported: Record<string, object> = await import(join(ROOT, file.path));
      const groups: [string, { actors?: object } | null][] = Object.values(exported).flatMap(
        Object.entries,
      );
      for (const [id, value] of [...Object.entries(exported), ...groups])
        if (value !== null && Object.hasOwn(value, 'actors')) homes.set(id, folderOf(file));
    }
    const handlers = product
      .filter(({ path }) => path.startsWith('src/'))
      .flatMap((file) => exportedNames(file).map((id) => ({ id, folder: folderOf(file) })))
      .filter(({ id }) => homes.has(id));
    expect(handlers.length).toBeGreaterThan(100);
    expect(handlers.filter(({ id, folder }) => homes.get(id) !== folder)).toEqual([]);
  });

  it('The registries name each operation by its key', () => {
    for (const [key, { id }] of [...Object.entries(operations), ...Object.entries(deskOperations)])
      expect(id).toBe(key);
  });
});

describe('the changelog', () => {
  it('The changelog keeps the form of Keep a Changelog', () => {
    const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(text).toMatch(/^# Changelog\n/);
    expect(text).toMatch(/\n## \[?Unreleased\]?\n/);
    const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
    expect(headings.filter((heading) => !known.includes(heading ?? ''))).toEqual([]);
  });
});
