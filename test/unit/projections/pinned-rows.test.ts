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
  'links@1': '85819a73cc049419',
  'handoffs@3': '00cd9c010f2aced2',
  'handoff-leads@2': '341ccff8d6ab8095',
  'leads@6': '67294088e4132dbf',
  'outbound@2': 'f918387a91de4a77',
  'open-outbound@2': '543638373dc0d900',
  'open-mail@1': '358816448e0add1a',
  'open-leads@3': 'c8f5d7a5723d3ed8',
  'rfqs@3': '8ececf06d64b0ba2',
  'tasks@1': 'bc13f4ddcc95bca0',
  'push-configs@1': 'c21ad5682faa4036',
  'codes@1': 'e673288f980e8ade',
  'review-tokens@2': '71200a3f01ee4cc6',
  'credentials@6': 'e26f6729718bd360',
  'access@6': 'f08f43ebbae58411',
  'access-requests@1': '6a2f35083f494137',
  'owners@1': 'c0004bb1bd89beff',
  'erasures@1': '877fb1f4085691eb',
  'mailboxes@1': '152bd3992c841a07',
  'unindexed-contacts@1': '2553489beca16236',
  'performance@4': '3a3b7bf104ea942a',
  'history@7': 'af11a928230b8590',
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
