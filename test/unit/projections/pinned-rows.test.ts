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
import { PINNED_LOG } from '../../support/pinned/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': '6c669cba1d011b85',
  'handoffs@3': 'acffe6efc60170a1',
  'handoff-leads@2': '8352bf3a6e0be6f0',
  'leads@6': 'e462ee1830182000',
  'outbound@2': '620484ad5ba5eea0',
  'open-outbound@2': '1b8bc50b6d82a518',
  'open-mail@1': '6bc08d8ed51b2a7a',
  'open-leads@3': '9b006bafc3f83f03',
  'rfqs@2': '6dc614c53d3d0afa',
  'tasks@1': '5a3dac84c3ad3232',
  'push-configs@1': 'cf815f4c03e6214b',
  'codes@1': '135a858ec9d5d0eb',
  'review-tokens@2': '3b135afa5c3311ac',
  'credentials@6': 'a435ca897c2d333f',
  'access@6': 'b0bdd8dc944319c9',
  'owners@1': '2bfc957c32fead5d',
  'erasures@1': '7d85733262ff080a',
  'performance@4': '6b4fb93f92b5b1ea',
  'history@7': 'c62b2ff4235731c0',
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
  'if test/support/pinned/pinned-log.ts itself was added to, pin the same version anew.';

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
