/** The code of an earlier commit, taken from the history of this clone. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/source/tree.ts';
import { FIXTURE_COMMITS } from './archive.ts';

const [COMMIT] = FIXTURE_COMMITS;

const git = (...args: string[]) => spawnSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' });

/** False in a shallow clone and in an export without history. */
export const hasOldVersion = git('cat-file', '-e', `${COMMIT}^{commit}`).status === 0;
/** For the name of a suite, so that a skip says its reason. */
export const OLD_VERSION = hasOldVersion
  ? `Processes of commit ${COMMIT}`
  : `Processes of an earlier commit (skipped: ${COMMIT} is not in this clone)`;

/** Writes the code of the earlier commit into an empty directory. It runs on the packages of today. */
export const checkOutOldVersion = (directory: string): void => {
  const archive = join(directory, 'archive.tar');
  const written = git('archive', `--output=${archive}`, COMMIT);
  if (written.status !== 0) throw new Error(`git archive: ${written.stderr}`);
  const unpacked = spawnSync('tar', ['-xf', archive, '-C', directory], { encoding: 'utf8' });
  if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}`);
  linkPackages(join(directory, 'node_modules'));
};

/** Packages that the earlier commit imports, and this version does not have. Its server never calls them. */
const REMOVED = { 'cli-progress': 'exports.SingleBar = class {}; exports.Presets = {};' };

const linkPackages = (target: string): void => {
  mkdirSync(target);
  const packages = join(ROOT, 'node_modules');
  for (const name of readdirSync(packages)) symlinkSync(join(packages, name), join(target, name));
  for (const [name, code] of Object.entries(REMOVED)) {
    mkdirSync(join(target, name));
    writeFileSync(join(target, name, 'index.js'), code);
  }
};
