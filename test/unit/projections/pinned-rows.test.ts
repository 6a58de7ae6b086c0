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
  'links@1': 'b9784ce077d70f69',
  'handoffs@2': '0868ff42269a0636',
  'handoff-leads@2': 'af969a92841b595e',
  'leads@4': '19aa8238ba9ba94e',
  'outbound@2': '0ee927504bc7e97c',
  'open-outbound@2': 'e75ed2d3e65c6166',
  'open-mail@1': '3385e7015b8ece49',
  'open-leads@1': '7092181d4b02db5e',
  'rfqs@1': 'f450c212686c3b9d',
  'tasks@1': '1a2a4829985a9939',
  'push-configs@1': 'f7e353b6e4150f1b',
  'codes@1': '3a39c22e16254e5a',
  'review-tokens@1': '2822a8e7d98e9c54',
  'credentials@6': '61f8fdada3d40e98',
  'access@6': '436039cdee375389',
  'owners@1': 'b31d1de00e69af5c',
  'erasures@1': 'd830340e701ecbcb',
  'performance@3': '056270f4a7536407',
  'history@6': 'cc47b4e7ee922ba8',
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
