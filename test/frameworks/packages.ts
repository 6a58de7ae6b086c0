/** The packages of infra/frameworks; only `make test-frameworks` installs them. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/source/tree.ts';

export const FRAMEWORKS = join(ROOT, 'infra/frameworks');

const require = createRequire(join(FRAMEWORKS, 'package.json'));

/** Whether the packages are installed; the tests are skipped otherwise. */
export const hasFrameworks = existsSync(join(FRAMEWORKS, 'node_modules'));

/** Loads a package of the folder. */
export const framework = async <Package>(name: string): Promise<Package> =>
  (await import(pathToFileURL(require.resolve(name)).href)) as Package;
