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
  'links@1': '510d23358c8d5540',
  'handoffs@3': '1ac8b36a84f028d9',
  'handoff-leads@2': 'b41c3d9689439000',
  'leads@6': '4935ab3a5c633921',
  'outbound@2': '2b2423ba07b59dc2',
  'open-outbound@2': '747e33229107db56',
  'open-mail@1': 'e64089e78af981f5',
  'open-leads@3': 'fec93ec8418f3edd',
  'lead-hints@1': 'e30ba9d8111b593e',
  'rfqs@3': 'd6592b4f1cee9ef1',
  'tasks@1': 'ebc877eea604eda1',
  'push-configs@1': '8ec3c38c43126337',
  'codes@1': 'fd4d279d3d28ff50',
  'review-tokens@2': '15c9c5ef16bffb52',
  'credentials@6': '13e26c9db167995e',
  'access@6': 'ebe3dc1f64cee3f8',
  'access-requests@1': '35580d554b5b678e',
  'owners@1': '54da9306f7618d62',
  'erasures@1': 'ff83f4737b2869b3',
  'mailboxes@1': '7689741ca6320d24',
  'unindexed-contacts@1': 'e517522fbf6aac6b',
  'performance@4': 'e3b9f9aa123a81ac',
  'history@7': '5991e94908fa1c81',
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
