/**
 * `make mutate`: changes the deciders and the projections one place at a time, and runs their unit tests against each
 * change. Prints the score of each file and every mutant that the tests do not detect; exits with 1 under 90 %.
 * `--file=<part of a path>` selects files, `--shard=1/3` a third of them. Code that only runs when a module loads is not
 * mutated.
 */
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { EQUIVALENT_MUTANTS } from './equivalent-mutants.ts';

type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

const SCORE_MIN = 90;
const { file: part, shard: selected } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    shard: { type: 'string', default: '1/1' },
  },
}).values;
const [shard = 1, shards = 1] = selected.split('/').map(Number);

/** Rules of the business outside deciders, which deciders share. */
const SHARED_RULES = 'src/shared/{confusables,equality,mailbox,person,proposal}.ts';
/** As many as there were when code last moved: fewer in the files below means that a move lost some. */
const DECIDERS_MIN = 22;
const PROJECTIONS_MIN = 18;

/** Folds histories of owners with the projections: tests of audits and of rebuilds hold it, over a whole service. */
const ENGINE = 'projections/owner-fold.ts';

const mutated = globSync(['src/*/*.decider.ts', SHARED_RULES, 'projections/*.ts'], {
  exclude: [ENGINE],
});
const countOf = (pattern: RegExp): number =>
  mutated.flatMap((file) => readFileSync(file, 'utf8').match(pattern) ?? []).length;
const [deciders, projections] = [countOf(/: Decider</g), countOf(/: Projection</g)];
if (deciders < DECIDERS_MIN || projections < PROJECTIONS_MIN)
  throw new Error(
    `Only ${deciders} deciders and ${projections} projections: where did the others go?`,
  );

const files = mutated
  .filter((file) => file.includes(part))
  .toSorted()
  .filter((_, index) => index % shards === shard - 1);

const options: ConstructorParameters<typeof Stryker>[0] = {
  mutate: files,
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // Code that only runs when a module loads needs every test for each mutant: two thirds of the time for a seventh of them.
  ignoreStatic: true,
  concurrency: availableParallelism(),
  reporters: ['progress-append-only'],
  // Stryker rewrites tsconfig.json with the API of TypeScript 5 and 6. Node ignores the file.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  ignorePatterns: ['/*', '!src', '!projections', '!contracts', '!test', '!*.json', '!*.config.ts'],
  allowEmpty: true,
};

const lines = new Map(files.map((file) => [file, readFileSync(file, 'utf8').split('\n')]));
const write = (text: string): void => void process.stdout.write(`${text}\n`);

const describeMutant = ({ fileName, location, replacement }: MutantResult): string => {
  const { line } = location.start;
  const source = lines.get(fileName)?.[line - 1]?.trim() ?? '';
  return `${fileName}:${line}:${location.start.column} ${source}  =>  ${replacement.replaceAll(/\s+/g, ' ')}`;
};

const isEquivalent = (mutant: MutantResult): boolean =>
  EQUIVALENT_MUTANTS.some(
    ({ file, source, replacement }) =>
      file === mutant.fileName &&
      replacement === mutant.replacement &&
      (lines.get(file)?.[mutant.location.start.line - 1] ?? '').includes(source),
  );

const isDetected = ({ status }: MutantResult): boolean =>
  status === 'Killed' || status === 'Timeout';
const isUndetected = ({ status }: MutantResult): boolean =>
  status === 'Survived' || status === 'NoCoverage';

const scoreOf = (mutants: readonly MutantResult[]): string => {
  const detected = mutants.filter(isDetected).length;
  const valid = detected + mutants.filter(isUndetected).length;
  const score = valid === 0 ? 100 : (100 * detected) / valid;
  return `${score.toFixed(1).padStart(5)} %  ${detected} of ${valid} mutants`;
};

const results = (await new Stryker(options).runMutationTest())
  .map((mutant) => ({ ...mutant, fileName: mutant.fileName.replace(`${process.cwd()}/`, '') }))
  .filter((mutant) => !(isUndetected(mutant) && isEquivalent(mutant)));
for (const mutant of results.filter(isUndetected)) write(`undetected  ${describeMutant(mutant)}`);
for (const file of files) {
  const mutants = results.filter(({ fileName }) => fileName === file);
  if (mutants.length > 0) write(`${scoreOf(mutants)}  ${file}`);
}
const total = scoreOf(results);
write(`${total}  in all; at least ${SCORE_MIN} % are required`);
process.exitCode = Number.parseFloat(total) < SCORE_MIN ? 1 : 0;
