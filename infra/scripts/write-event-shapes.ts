/**
 * Writes the shapes of all stored events, which every later version must read:
 *
 *   node infra/scripts/write-event-shapes.ts
 *
 * Run it for a release, with its version in package.json. A file that exists is never written again.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { eventShapes } from '../../test/support/source/event-shapes.ts';

const root = new URL('../../', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  version: string;
};
const lines = Object.entries(eventShapes())
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([type, shape]) => `${JSON.stringify(type)}: ${JSON.stringify(shape)}`);
const file = new URL(`test/golden/upgrade/events-${version}.json`, root);
writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`, { flag: 'wx' });
