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
  'links@1': '584c1e856bde7140',
  'handoffs@3': '84e01fa9f81373d4',
  'handoff-leads@2': '91be85028d12cd16',
  'leads@6': '680a03f6bdd55433',
  'outbound@2': 'e4fe0d405d5a55ba',
  'open-outbound@2': 'f24a40c7ea250e74',
  'open-mail@1': '338900bfd9c041f6',
  'open-leads@3': '99c44fb0fe7f31b6',
  'rfqs@2': '69bb4f6ac52030b0',
  'tasks@1': '0f612e0ded5c24ce',
  'push-configs@1': 'a9bb5247d9588364',
  'codes@1': '380006074ccdb292',
  'review-tokens@2': 'cf77128e2307a8f2',
  'credentials@6': '5bab97029fc00fa2',
  'access@6': '3c0e07273318e8f0',
  'access-requests@1': 'a5b1d925b82ae661',
  'owners@1': '5bd1131ef02e4584',
  'erasures@1': 'e3f07a7131b6087e',
  'mailboxes@1': '1ec11b5c0785fc6a',
  'unindexed-contacts@1': '15e4ddbd70adb839',
  'performance@4': '76c1dc8df3d6caea',
  'history@7': 'b0a1a0b3aa08ea5b',
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
