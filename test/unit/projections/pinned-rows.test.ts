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
  'links@1': 'fcb53dcb06b3bfb7',
  'handoffs@3': 'f09d3546d31c4ed6',
  'handoff-leads@2': 'fb4af40e3c247ba0',
  'leads@4': '9410ae4e9a78ef39',
  'outbound@2': '0331f1d0962397a1',
  'open-outbound@2': '0bdd5bc4d2579cf0',
  'open-mail@1': '05f22a8b90f4bc7d',
  'open-leads@1': 'b6669328c4d54741',
  'rfqs@1': '8f6e5c0685b6ddcd',
  'tasks@1': 'b422a36d83bce979',
  'push-configs@1': 'eec38bd99e7c351a',
  'codes@1': '3633fa7116e3f2ed',
  'review-tokens@2': 'c6e45f91e571d887',
  'credentials@6': '30f11f7f3914b64b',
  'access@6': '3ee8ca7bd1ff4384',
  'owners@1': '22c71a6deff8ebd5',
  'erasures@1': '6c591581ff438286',
  'performance@4': '5aded7ea0fa4b93f',
  'history@6': 'c60a457e89eafc27',
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
