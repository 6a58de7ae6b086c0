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
  'links@1': 'f999ef70ef06f11f',
  'handoffs@2': 'c42b2f2ab423e717',
  'handoff-leads@2': 'fc42d8c341865020',
  'leads@4': 'b509218e0d2962d9',
  'outbound@2': '5362cd448d399ab4',
  'open-outbound@2': 'd3f1a65855100ade',
  'open-mail@1': '23d509ce483858b6',
  'open-leads@1': '6b90b284c8a44761',
  'rfqs@1': 'f1926938c65d8f84',
  'tasks@1': 'fca91c610fd883fb',
  'push-configs@1': '0769111bf5d214c0',
  'codes@1': '064662c557b545b3',
  'review-tokens@1': '218cbf07201c96e8',
  'credentials@6': '495a63144e831446',
  'access@6': 'b146ffad32f50edc',
  'owners@1': 'ffe9ab1852afa2b7',
  'erasures@1': '08c25e47b370bd74',
  'performance@3': 'a4b9628f83c5ceb7',
  'history@6': '85b045b56232c112',
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
