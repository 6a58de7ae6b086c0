/**
 * What each version of a read model makes of one fixed log. Rows that a fold of before has left are
 * replaced only where the version is another: an upgrade would keep them, and "projections verify" of
 * the operator would fail.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { rowsAfter } from '../../support/fold.ts';
import { PINNED_LOG } from '../../support/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': 'ac160505847dc8dc',
  'handoffs@2': '1f5f5e126a999c48',
  'handoff-leads@2': '59962922287c2449',
  'leads@3': '7e91c5b7ce23bbc0',
  'outbound@1': 'd44d2d15ed2ceb62',
  'open-outbound@1': '6c33c4d6a3959047',
  'tasks@1': '48bd4c1c5b9b1513',
  'codes@1': '7c700c6433ccbd84',
  'review-tokens@1': '77e2841ee85058b9',
  'credentials@2': '41d2184ad391ab72',
  'access@2': 'e19a7f6217df522c',
  'owners@1': '533d47872aff2461',
  'erasures@1': '8042a16bcd84f5d5',
  'performance@1': 'afdf1d8a83083a1c',
  'history@2': 'd2e66f9afb839e1a',
};

const nameOf = ({ name, version }: Projection): string => `${name}@${version}`;

/** After each event: what a later one covers up is somebody's last. */
const digestOf = (projection: Projection): string => {
  const hash = createHash('sha256');
  for (let upTo = 1; upTo <= PINNED_LOG.length; upTo += 1)
    hash.update(JSON.stringify(rowsAfter(projection, PINNED_LOG.slice(0, upTo))));
  return hash.digest('hex').slice(0, 16);
};

const whatToDo = ({ name, version }: Projection): string =>
  `${name}@${version} made other rows of this log, or none were pinned. Was its fold to change? Then ` +
  `raise \`version\` of ${name} in projections/, unless it was raised since the last release, and put ` +
  'the new name and digest in place of the old line. If it was not to change, mend the fold. Only ' +
  'if test/support/pinned-log.ts itself was added to, pin the same version anew.';

describe('the rows of a fixed log', () => {
  test.each(PROJECTIONS.map((each) => [nameOf(each), each] as const))('of %s', (name, each) => {
    expect(digestOf(each), whatToDo(each)).toBe(PINNED[name]);
  });

  test('are pinned for what there is, and of every type that is folded', () => {
    expect(Object.keys(PINNED)).toEqual(PROJECTIONS.map(nameOf));
    const told = new Set(PINNED_LOG.map(({ type }) => type));
    const folded = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
    expect([...folded.difference(told)]).toEqual([]);
  });
});
