/**
 * The one condition on Node. It is plain JavaScript because make and ./tributary run this file with the Node that they
 * consider, which may be too old for TypeScript; `status` and the stores import it.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PACKAGE = new URL('../../package.json', import.meta.url);

/** SQLite is part of Node. Up to 3.51.2 two connections could corrupt a WAL file ("WAL-reset" race). */
const SQLITE_MIN = '3.51.3';

const numbersOf = (version) => version.split('.').map((part) => Number.parseInt(part, 10) || 0);

const isAtLeast = (version, least) => {
  const given = numbersOf(version);
  const wanted = numbersOf(least);
  const differs = wanted.findIndex((number, index) => given[index] !== number);
  return differs < 0 || (given[differs] || 0) > (wanted[differs] || 0);
};

/** Asks for SQLite by itself: a Node can be built with another one, and some later releases have an older one than the least. */
export const runtimeFault = ({ node = '0', sqlite } = process.versions) => {
  const least = JSON.parse(readFileSync(PACKAGE, 'utf8')).engines.node.replace('>=', '');
  if (isAtLeast(node, least) && isAtLeast(sqlite || '0', SQLITE_MIN)) return undefined;
  const has = sqlite ? `SQLite ${sqlite}` : 'no SQLite';
  return `Node ${node} contains ${has}; Tributary needs Node ${least} or newer with SQLite ${SQLITE_MIN} or newer.`;
};

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const fault = runtimeFault();
  if (fault) process.stderr.write(`${fault}\n`);
  process.exitCode = fault ? 1 : 0;
}
