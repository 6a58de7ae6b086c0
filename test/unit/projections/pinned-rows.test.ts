/**
 * The rows that each version of a read model makes of one fixed log. An upgrade replaces rows of an older
 * fold only if the version differs: otherwise it would keep them, and the operator's "projections verify"
 * would fail.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { rowsAfter } from '../../support/world/fold.ts';
import { PINNED_LOG } from '../../support/world/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': '9e12abbccd85de1f',
  'handoffs@2': '69ab4e5d4c4f6420',
  'handoff-leads@2': '1c06f1e0ecc46f2e',
  'leads@3': '51c6be935a94ea97',
  'outbound@1': '1ed44e72e12286aa',
  'open-outbound@1': 'f93e257f906f2653',
  'tasks@1': '011c7046b2e41fa0',
  'codes@1': 'd3541648e2670ab6',
  'review-tokens@1': '779cab98ec909a85',
  'credentials@5': '499b0ee543c6144f',
  'access@5': '56c776d8cf8a915a',
  'owners@1': 'd2d8901ea136e6ba',
  'erasures@1': 'e5450f9bf93fae99',
  'performance@1': 'de870c1e3f7781d6',
  'history@2': 'ef16634c9e331e90',
};

const nameOf = ({ name, version }: Projection): string => `${name}@${version}`;

/** Hashes the rows after each event, because a later event can replace the rows of an earlier one. */
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
  'if test/support/world/pinned-log.ts itself was added to, pin the same version anew.';

describe('The pinned rows of a fixed log', () => {
  test.each(PROJECTIONS.map((each) => [nameOf(each), each] as const))(
    'equal the rows of %s',
    (name, each) => {
      expect(digestOf(each), whatToDo(each)).toBe(PINNED[name]);
    },
  );

  test('exist for each read model, and the log has each event type that is folded', () => {
    expect(Object.keys(PINNED)).toEqual(PROJECTIONS.map(nameOf));
    const types = new Set(PINNED_LOG.map(({ type }) => type));
    const folded = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
    expect([...folded.difference(types)]).toEqual([]);
  });
});
