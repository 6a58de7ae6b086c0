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
  'links@1': '20099ef007c39212',
  'handoffs@3': 'ac8d732141018662',
  'handoff-leads@2': '0f2a638d695089a7',
  'leads@5': 'fd5b37beeb56171d',
  'outbound@2': '5bb1e3d6a8acbd93',
  'open-outbound@2': 'def96fae8dbc89b6',
  'open-mail@1': '56cd956f9e2a991b',
  'open-leads@2': '6df6563a712cdbc8',
  'rfqs@2': '1df2e374033dbd60',
  'tasks@1': 'c5e990504bdfaf2e',
  'push-configs@1': 'bb7d84ff7d650df2',
  'codes@1': '235114ea472a3904',
  'review-tokens@2': 'd244747ddbb80c8f',
  'credentials@6': 'ca520e0328f8de00',
  'access@6': '73b78d1c41417cde',
  'owners@1': '4dc7fc7b6e0b1268',
  'erasures@1': 'dffb57a98befa995',
  'performance@4': 'bfcdd80d1699f7b0',
  'history@6': 'd7c38d00ee7fb8d1',
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
