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
  'links@1': '62fa2c09e4dd6eef',
  'handoffs@3': 'ac0d62f40b684bac',
  'handoff-leads@2': '04ba3f9101db0856',
  'leads@6': 'd4a97673427fc8e5',
  'outbound@2': '4102aea481970387',
  'open-outbound@2': 'b78ddf54d495cd43',
  'open-mail@1': '87b3a0c77a9a0ac6',
  'open-leads@3': '38dd23ca140a7720',
  'rfqs@2': '223975c82da3359c',
  'tasks@1': '37154f577ef93cca',
  'push-configs@1': 'e4c5da7ed74831bb',
  'codes@1': '007979a87c8fb62d',
  'review-tokens@2': 'e2b29fb9e839a2c6',
  'credentials@6': 'e8e7cb9cf4251059',
  'access@6': 'f3ce36c87ddb549f',
  'access-requests@1': '6af8a5a8d81c640a',
  'owners@1': '6d7a45ade7ec3576',
  'erasures@1': 'df201e04dd4a3d6c',
  'mailboxes@1': '1badb32f7fc75e3b',
  'unindexed-contacts@1': 'd27b3dfd991e1165',
  'performance@4': 'cb74ce1efb65d2f7',
  'history@7': 'eb61007fd834330e',
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
